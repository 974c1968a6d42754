/**
 * A state root opened for its owner or for a reader: root, ownership and database, put together in the only safe order.
 *
 * Guarantees: what was taken is given back, in reverse, when a later step fails and on release. The epoch is begun by whoever uses the
 * store, under the lock, once it has seen that it may go on: until then nothing is written.
 */

import type { Clock } from "../actor/clock.ts";
import type { Store } from "../actor/store.ts";
import { demandNode } from "./node.ts";
import type { ClosableReader, WritableOptions } from "./option.ts";
import { acquireOwnership } from "./owner.ts";
import { openRoot, presentMarker, type Root, refuseMoved, settleRoot } from "./root.ts";
import { openSqliteReader, openSqliteStore } from "./sqlite.ts";

export interface OwnedStoreOptions extends Pick<WritableOptions, "busyTimeoutMs" | "synchronous"> {
  readonly path: string;
  /** Make the root where there is none. */
  readonly create: boolean;
  /** What a refused contender is told about this owner; default: the name of the running script. */
  readonly program?: string;
  readonly clock?: Pick<Clock, "now">;
}

export interface OwnedStore {
  readonly store: Store;
  readonly root: Root;
  /** Closes the store, then gives the root up. Harmless when called again. */
  release(): void;
}

/** Opens a root as its owner. Errors: those of `openRoot`, `root_moved`, `root_owned`, those of `openSqliteStore`. */
export function openOwnedStore(options: OwnedStoreOptions): OwnedStore {
  demandNode();
  const found = openRoot(options);
  // Before the lock as well, whose file would be a trace in a directory that was copied.
  refuseMoved(found);
  const ownership = acquireOwnership(found, options);
  let store: Store | undefined;
  const release = () => {
    // A store that will not close (inside a write) keeps its lock: nobody else may write before it has ended.
    store?.close();
    ownership.release();
  };
  try {
    const root = settleRoot(found);
    store = openSqliteStore({ ...options, file: root.databaseFile, rootId: root.rootId });
    return { store, root, release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Opens a root for reading, without a lock: beside its owner, or with none. Errors: those of `openRoot` and `openSqliteReader`. */
export function openRootReader(path: string, options: { readonly busyTimeoutMs?: number } = {}): ClosableReader & { readonly root: Root } {
  demandNode();
  const root = openRoot({ path, create: false });
  // While an adoption is unfinished the database has the id of before or of after it; a reader may look all the same.
  const rootId = presentMarker(root.path).adopting === undefined ? { rootId: root.rootId } : {};
  const reader = openSqliteReader({ ...options, file: root.databaseFile, ...rootId });
  return Object.assign(reader, { root });
}
