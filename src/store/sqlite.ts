/**
 * The store on SQLite: one file in WAL mode, one writer, any number of readers in other processes.
 *
 * Guarantees: the duties of `actor/store.ts`. The epoch is compared inside the transaction, under the write lock, before the
 * body runs (ACT-2): with the stored one, or with the one that was read there last where nobody else has committed since. Takes no
 * owner lock itself: that is `owner.ts`, put together in `root-store.ts`.
 *
 * Next: `database.ts`.
 */

import { engineError } from "../actor/error.ts";
import type { Store, StoreWriter } from "../actor/store.ts";
import { refusePromise } from "./check.ts";
import { Connection } from "./connection.ts";
import { openReadable, openWritable } from "./database.ts";
import type { ClosableReader, DatabaseOptions, WritableOptions } from "./option.ts";
import { beginEpoch, distrustRows, lastCommitMs } from "./sqlite-epoch.ts";
import { SqliteReader } from "./sqlite-reader.ts";
import { SqliteWriter } from "./sqlite-writer.ts";

interface Left {
  readonly version: number | undefined;
  readonly epoch: number;
  readonly lastPosition: number;
}

export class SqliteStore extends SqliteReader implements Store {
  /** What the last write, or the beginning of an epoch, left behind; it holds as long as `PRAGMA data_version` says that nobody else has committed. */
  #left: Left | undefined;

  beginEpoch(atMs: number): number {
    this.#left = this.connection.transaction(() => {
      const standing = this.standing();
      const epoch = beginEpoch(this.connection, standing, atMs);
      return { version: this.#dataVersion(), epoch, lastPosition: standing.lastPosition };
    });
    return this.#left.epoch;
  }

  write<T>(epoch: number, body: (writer: StoreWriter) => T): T {
    let left: Left | undefined;
    const result = this.connection.transaction(() => {
      const version = this.#dataVersion();
      const known = this.#left?.version === version ? this.#left : undefined;
      const { epoch: current, lastPosition } = known ?? this.standing();
      if (!known) distrustRows(this.connection);
      if (current !== epoch)
        throw engineError("not_owner", `Epoch ${epoch} is over; ${current} is current. Nothing was written.`, {
          details: { epoch, current },
        });
      const writer = new SqliteWriter(this.connection, { rootId: this.rootId, lastPosition, changedElsewhere: !known });
      try {
        const result = body(writer);
        refusePromise(result);
        left = { version, epoch, lastPosition: writer.lastPosition() };
        return result;
      } finally {
        writer.end();
      }
    });
    // Not before the commit: where the write failed, whoever asks next must hear of the change again.
    this.#left = left;
    return result;
  }

  /** Changes when another connection commits, and not when this one does. Inside a transaction it can change no more. */
  #dataVersion(): number | undefined {
    return this.connection.get<{ data_version: number }>("PRAGMA data_version")?.data_version;
  }

  close(): void {
    this.connection.close();
  }
}

class ReadOnlySqlite extends SqliteReader implements ClosableReader {
  snapshot<T>(body: () => T): T {
    return this.connection.snapshot(body);
  }

  stopped(): { readonly atMs: number; readonly inOrder: boolean } {
    const standing = this.standing();
    return { atMs: lastCommitMs(this.connection, standing), inOrder: standing.restedMs > 0 };
  }

  close(): void {
    this.connection.close();
  }
}

/**
 * Opens or creates the database of a state root for its owner. Errors: `schema_newer` (file untouched), `root_invalid`,
 * `journal_damaged`, `root_not_found` (no such directory), `storage_failed`.
 */
export function openSqliteStore(options: WritableOptions): SqliteStore {
  return new SqliteStore(new Connection(openWritable(options)));
}

/** Opens an existing database for reading only: beside a living owner, or after one that was killed. Errors as above. */
export function openSqliteReader(options: DatabaseOptions): ClosableReader {
  return new ReadOnlySqlite(new Connection(openReadable(options)));
}
