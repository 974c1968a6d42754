/**
 * Ownership of a state root: one process at a time, by a lock that the operating system releases when the process ends.
 *
 * Guarantees: of any number of contenders exactly one wins; a killed owner's lock is free at once; a stopped owner keeps it.
 * The lock is an open write transaction on `owner.db` that never writes: SQLite's RESERVED lock goes to one connection, at once or
 * not at all, and a file that is never written cannot be damaged by a kill. (`locking_mode=EXCLUSIVE` with one write, the usual
 * recipe, lets racing contenders refuse each other: all hold SHARED, none gets EXCLUSIVE. Of 200 races of 20 processes, 35 had no winner.)
 *
 * On POSIX, any other open and close of `owner.db` in the owner's process (fs.readFile, a copy of the directory, another SQLite
 * library) silently drops the lock. Nothing here does that, and nothing else may; if it happens, the epoch fences the loser (ACT-2).
 *
 * Next: `root-store.ts`.
 */

import { readFileSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import Database from "better-sqlite3";
import { type Clock, systemClock } from "../actor/clock.ts";
import { engineError, type HoldfastError } from "../actor/error.ts";
import { checkOwn, later, own } from "../actor/own-schema.ts";
import { storageError } from "./connection.ts";
import { createPrivateFile, errorCode, lookAt, writePrivateFile } from "./private-file.ts";
import type { Root } from "./root.ts";

const LOCK = "owner.db";
const HINTS = "owner.json";
const HINTS_LIMIT_BYTES = 4096;

const hintsSchema = later(() => own.object({ pid: own.int().check(own.positive()), startedMs: own.int(), program: own.string() }));

/** Who the owner says it is. A hint for people: it may be stale, and nothing is decided by it. */
export interface OwnerHints {
  readonly pid: number;
  readonly startedMs: number;
  readonly program: string;
}

export interface Ownership {
  /** Gives the root up. The lock file stays, for its absence would let two processes lock two files of one name. */
  release(): void;
}

/**
 * Locks by the real path of their root. On globalThis, because a second copy of this package in the process must see them too: its
 * own SQLite library would drop our lock by a mere attempt. Holds the connections, because a collected one would let go.
 */
const held = ownedRoots();

/** Takes the root for this process, or throws `root_owned` at once, with what is known of its owner in `details`. */
export function acquireOwnership(root: Root, options: { readonly program?: string; readonly clock?: Pick<Clock, "now"> } = {}): Ownership {
  // Before the file is opened: see above.
  if (held.has(root.path)) throw owned(root, "This process owns the state root already.", { pid: process.pid });
  const lock = takeLock(root);
  held.set(root.path, lock);
  const { program = basename(process.argv[1] ?? process.title), clock = systemClock } = options;
  writeHints(root, { pid: process.pid, startedMs: Math.floor(clock.now()), program });
  return {
    release() {
      if (held.get(root.path) !== lock) return;
      try {
        // While the lock is still ours: afterwards the file may be the next owner's.
        rmSync(join(root.path, HINTS), { force: true });
      } finally {
        held.delete(root.path);
        lock.close();
      }
    },
  };
}

/** What the last owner wrote about itself; undefined where that cannot be read. A killed owner's hints stay until the next one's. */
export function readOwnerHints(root: Pick<Root, "path">): OwnerHints | undefined {
  const path = join(root.path, HINTS);
  try {
    const found = lookAt(path);
    if (!found?.isFile() || found.size > HINTS_LIMIT_BYTES) return undefined;
    const hints = checkOwn(hintsSchema(), JSON.parse(readFileSync(path, "utf8")));
    return hints.ok ? hints.data : undefined;
  } catch {
    return undefined;
  }
}

function ownedRoots(): Map<string, Database.Database> {
  const shared = globalThis as { [key: symbol]: Map<string, Database.Database> | undefined };
  const name = Symbol.for("holdfast.owned-roots");
  const roots = shared[name] ?? new Map<string, Database.Database>();
  shared[name] = roots;
  return roots;
}

function takeLock(root: Root): Database.Database {
  const file = join(root.path, LOCK);
  let db: Database.Database | undefined;
  try {
    createPrivateFile(file);
    db = new Database(file, { timeout: 0, fileMustExist: true });
    // Even an empty transaction on an empty file opens a rollback journal; a kill would leave it for the next contenders to clear.
    db.pragma("journal_mode = MEMORY");
    db.exec("BEGIN IMMEDIATE");
    return db;
  } catch (error) {
    db?.close();
    if (errorCode(error)?.startsWith("SQLITE_BUSY")) throw owned(root, "Another process owns the state root.");
    if (errorCode(error)?.startsWith("SQLITE_")) throw storageError(error);
    throw engineError("storage_failed", `Cannot create ${file}: ${errorCode(error)}.`, { cause: error });
  }
}

function owned(root: Root, message: string, known: Partial<OwnerHints> = {}): HoldfastError {
  return engineError("root_owned", message, { details: { path: root.path, ...readOwnerHints(root), ...known } });
}

function writeHints(root: Root, hints: OwnerHints): void {
  const path = join(root.path, HINTS);
  const unnamed = `${path}.tmp`;
  try {
    rmSync(unnamed, { force: true });
    // Not synced: what a power failure leaves of a hint is no hint, and each start would wait for the disk.
    writePrivateFile(unnamed, `${JSON.stringify(hints)}\n`, false);
    renameSync(unnamed, path);
  } catch {
    // Hints are a courtesy: a full disk must not cost the ownership. Better none than those of an earlier owner.
    rmSync(path, { force: true });
  }
}
