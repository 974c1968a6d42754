/** How a database is opened. Apart from what opens it, so that the published types need no types of an SQLite library. */

import type { StoreReader } from "../actor/store.ts";

export interface DatabaseOptions {
  readonly file: string;
  /** The id that the root's marker states; another one in the database is refused with `root_invalid`. */
  readonly rootId?: string;
  /** Longest wait for a lock held by another connection; default 5000. */
  readonly busyTimeoutMs?: number;
}

export interface WritableOptions extends DatabaseOptions {
  /** `full` (default): a commit survives a power failure. `normal`: it survives a crash of the process only. */
  readonly synchronous?: "full" | "normal";
}

/** A reader that holds a connection of its own. */
export interface ClosableReader extends StoreReader {
  /** Runs `body` on one commit: whatever its owner writes meanwhile, the reads of `body` agree with each other. */
  snapshot<T>(body: () => T): T;
  /**
   * Where the time of the last ownership stopped: at its orderly end; or, where it had none or has not ended, at its last entry or its
   * beginning. What a `remaining` timer has left is counted from here.
   */
  stopped(): { readonly atMs: number; readonly inOrder: boolean };
  close(): void;
}
