/**
 * Opens a database file for a store or for a reader.
 *
 * Guarantees: a file that is newer, foreign or damaged is refused before anything is written to it; a database that is opened for
 * writing is in WAL mode, at the present schema, and syncs as asked.
 *
 * Next: `connection.ts`.
 */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { performance } from "node:perf_hooks";
import Database from "better-sqlite3";
import { engineError } from "../actor/error.ts";
import { storageError } from "./connection.ts";
import type { DatabaseOptions, WritableOptions } from "./option.ts";
import { createPrivateFile, errorCode } from "./private-file.ts";
import { freshId } from "./root-id.ts";
import { APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION } from "./schema.ts";

/** Longest wait for a lock that another connection holds, unless the caller says otherwise. */
const BUSY_TIMEOUT_MS = 5000;
/** A WAL that grew during a long read is cut back to this at the next checkpoint. */
const WAL_KEPT_BYTES = 64 * 1024 * 1024;
/** Pages in the WAL at which a commit also checkpoints: a group of a thousand actors writes some hundred. */
const CHECKPOINT_PAGES = 4000;
/** Pages kept in memory: what one large group changes must fit, or SQLite writes it out in the middle and reads it again. */
const CACHE_BYTES = 32 * 1024 * 1024;
/** Pause between two attempts to switch to WAL. */
const WAL_RETRY_MS = 5;

const IDENTITY = `
SELECT (SELECT user_version FROM pragma_user_version) AS version,
  (SELECT application_id FROM pragma_application_id) AS application,
  (SELECT count(*) FROM sqlite_schema) AS objects`;

/** Opens or creates a database for writing. Where `from` is given, the database may have one of those ids instead. */
export function openWritable(options: WritableOptions & { readonly from?: readonly string[] }): Database.Database {
  const { busyTimeoutMs = BUSY_TIMEOUT_MS, synchronous = "full", rootId, from = [] } = options;
  // Absolute, because SQLite takes names such as `file:x` and `:memory:` for something else than a file.
  const file = resolve(options.file);
  createFile(file);
  refuseUnknown(file, busyTimeoutMs);
  return opened(
    () => new Database(file, { timeout: busyTimeoutMs, fileMustExist: true }),
    (db) => {
      enterWal(db, busyTimeoutMs);
      // Always said: this build of SQLite falls back to NORMAL in WAL mode.
      db.pragma(`synchronous = ${synchronous === "full" ? "FULL" : "NORMAL"}`);
      // On macOS a plain fsync leaves the data in the drive's cache; elsewhere this changes nothing.
      db.pragma(`fullfsync = ${synchronous === "full" ? "ON" : "OFF"}`);
      db.pragma(`journal_size_limit = ${WAL_KEPT_BYTES}`);
      db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      db.pragma(`cache_size = ${-CACHE_BYTES / 1024}`);
      db.pragma("trusted_schema = OFF");
      db.transaction(() => migrate(db, rootId)).immediate();
      // What a statement needs to be undone by itself stays here, and not in a file outside of the root, which can be full. A migration
      // sorts whole tables, and may use one.
      db.pragma("temp_store = MEMORY");
      refuseOtherRoot(db, rootId, from);
    },
  );
}

/** Gives the database of a root another id, where it has one of those that are named. The caller holds the owner lock. */
export function renameDatabase(options: { readonly file: string; readonly rootId: string; readonly from: readonly string[] }): void {
  const db = openWritable(options);
  try {
    db.prepare("UPDATE root SET root_id = ? WHERE root_id <> ?").run(options.rootId, options.rootId);
  } catch (error) {
    throw storageError(error);
  } finally {
    db.close();
  }
}

/** Copies the last commit of a database of any schema that is known into an empty file, which is not synced. */
export function copyDatabase(options: { readonly from: string; readonly to: string; readonly busyTimeoutMs?: number | undefined }): {
  readonly rootId: string;
} {
  const { from, to, busyTimeoutMs = BUSY_TIMEOUT_MS } = options;
  const db = openUnchanged(from, busyTimeoutMs);
  try {
    db.prepare("VACUUM INTO ?").run(to);
    return { rootId: storedRootId(db) };
  } catch (error) {
    throw storageError(error);
  } finally {
    db.close();
  }
}

/** Opens an existing database for reading, also beside a living owner or after one that was killed. Takes no lock that stops a writer. */
export function openReadable(options: DatabaseOptions): Database.Database {
  const { busyTimeoutMs = BUSY_TIMEOUT_MS, rootId } = options;
  const file = resolve(options.file);
  return opened(
    () => openUnchanged(file, busyTimeoutMs),
    (db) => {
      const version = identify(db);
      if (version < SCHEMA_VERSION)
        throw engineError(
          "schema_older",
          `The database has schema ${version}; its owner brings it to ${SCHEMA_VERSION} when it opens it.`,
          {
            details: { path: file, version },
          },
        );
      refuseOtherRoot(db, rootId);
    },
  );
}

/** Throws where a file is no database of ours: `root_not_found`, `root_invalid`, `schema_newer`. */
export function refuseUnreadable(file: string): void {
  openUnchanged(resolve(file), BUSY_TIMEOUT_MS).close();
}

/** A connection that only reads, to a database of any schema that is known. */
function openUnchanged(file: string, busyTimeoutMs: number): Database.Database {
  if (!existsSync(file)) throw engineError("root_not_found", `There is no database at ${file}.`, { details: { path: file } });
  return opened(
    () => new Database(file, { readonly: true, fileMustExist: true, timeout: busyTimeoutMs }),
    (db) => {
      db.pragma("trusted_schema = OFF");
      if (identify(db) === 0) throw engineError("root_not_found", `The database at ${file} is still empty.`, { details: { path: file } });
    },
  );
}

function opened(open: () => Database.Database, prepare: (db: Database.Database) => void): Database.Database {
  let db: Database.Database | undefined;
  try {
    db = open();
    prepare(db);
    return db;
  } catch (error) {
    db?.close();
    throw storageError(error);
  }
}

function createFile(file: string): void {
  try {
    // SQLite would create it readable by everyone; -wal and -shm take over the mode of this file.
    createPrivateFile(file);
  } catch (error) {
    if (errorCode(error) === "ENOENT") throw engineError("root_not_found", `There is no directory for ${file}.`, { cause: error });
    throw engineError("storage_failed", `Cannot create ${file}: ${errorCode(error)}.`, { cause: error });
  }
}

/** The check before the first write, over a connection that cannot write. */
function refuseUnknown(file: string, busyTimeoutMs: number): void {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true, timeout: busyTimeoutMs });
    identify(db);
  } catch (error) {
    // A crash while the empty file was being switched to WAL left a rollback journal, which only a writer can undo.
    // A database that has ever held our schema is in WAL mode and has none, so nothing newer hides behind it.
    if (errorCode(error) !== "SQLITE_READONLY_ROLLBACK") throw storageError(error);
  } finally {
    db?.close();
  }
}

/** The schema version of a database: 0 where it is still empty. Throws `schema_newer` or, for a stranger's, `root_invalid`. */
function identify(db: Database.Database): number {
  // In one statement, so from one snapshot: another process may be creating the schema at this moment.
  const found = db.prepare<[], { version: number; application: number; objects: number }>(IDENTITY).get();
  const { version, application, objects } = found ?? { version: 0, application: 0, objects: 0 };
  if (application === APPLICATION_ID && version > SCHEMA_VERSION)
    throw engineError("schema_newer", `The database has schema ${version}; this program knows ${SCHEMA_VERSION}.`, {
      details: { version },
    });
  if (application === APPLICATION_ID && version > 0) return version;
  if (application === 0 && version === 0 && objects === 0) return 0;
  throw engineError("root_invalid", "The database was not written by Holdfast.");
}

/**
 * Switches to WAL. The switch needs the file for itself and does not wait for a busy one, so the wait is here: other processes that
 * open the same new file at the same time do the same thing.
 */
function enterWal(db: Database.Database, busyTimeoutMs: number): void {
  const deadlineMs = performance.now() + busyTimeoutMs;
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (;;) {
    try {
      const mode = db.pragma("journal_mode = WAL", { simple: true });
      if (mode === "wal") return;
      throw engineError("storage_failed", `The file system does not support SQLite's WAL mode (it gave "${mode}").`);
    } catch (error) {
      if (!errorCode(error)?.startsWith("SQLITE_BUSY") || performance.now() >= deadlineMs) throw error;
      Atomics.wait(pause, 0, 0, WAL_RETRY_MS);
    }
  }
}

/** Brings the schema up to date. Runs in one immediate transaction: a crash leaves the old schema or the new one. */
function migrate(db: Database.Database, rootId: string | undefined): void {
  const version = identify(db);
  for (const step of MIGRATIONS.slice(version)) db.exec(step);
  if (version === 0) {
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.prepare("INSERT INTO root (one, root_id, epoch) VALUES (1, ?, 0)").run(rootId ?? freshId());
  }
  if (version !== SCHEMA_VERSION) db.pragma(`user_version = ${SCHEMA_VERSION}`);
}

function refuseOtherRoot(db: Database.Database, rootId: string | undefined, from: readonly string[] = []): void {
  const stored = storedRootId(db);
  if (rootId === undefined || rootId === stored || from.includes(stored)) return;
  throw engineError("root_invalid", `The database belongs to root ${stored}, not to ${rootId}.`, {
    details: { expected: rootId, found: stored },
  });
}

function storedRootId(db: Database.Database): string {
  const stored = db.prepare<[], string>("SELECT root_id FROM root").pluck().get();
  if (stored === undefined) throw engineError("journal_damaged", "The database does not say which root it belongs to.");
  return stored;
}
