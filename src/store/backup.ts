/**
 * Backup and restore: the database of a root in one file, and a root made of such a file.
 *
 * Guarantees: a backup holds exactly one commit, taken while an owner writes on, and needs no lock; its name never shows half a file
 * and never replaces anything. A restore that was cut off leaves no root that can be opened, and can be run again.
 *
 * By VACUUM INTO over a connection that only reads, not by SQLite's online backup: that one starts over whenever another process
 * commits, so beside a busy owner it may never end. VACUUM INTO reads one snapshot; the price is that the WAL cannot be cut back for
 * as long. It leaves the syncing to its caller.
 */

import { closeSync, fsyncSync, linkSync, openSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { engineError, HoldfastError } from "../actor/error.ts";
import type { Adoption } from "./adopt.ts";
import { copyDatabase, refuseUnreadable, renameDatabase } from "./database.ts";
import { createMarker, placeOf, readMarker, replaceMarker } from "./marker.ts";
import { acquireOwnership } from "./owner.ts";
import { createPrivateFile, errorCode, lookAt, syncDirectory } from "./private-file.ts";
import { fromPath, openDirectory, openRoot, presentMarker, type Root, refuseStrangers, rootAt } from "./root.ts";
import { freshId } from "./root-id.ts";

/** Which root is backed up, and into which file. */
export interface BackupOptions {
  /** Directory of the state root. */
  readonly path: string;
  /** A file that does not exist yet. */
  readonly file: string;
  /** Longest wait for a lock that another connection holds, in ms. Default 5,000. */
  readonly busyTimeoutMs?: number;
}

/** Which backup is restored, where, and what the new root is. */
export interface RestoreOptions {
  /** What `backupRoot` wrote. */
  readonly file: string;
  /** A directory that is empty or does not exist yet. */
  readonly path: string;
  readonly as: Adoption;
}

/** What was written. */
export interface Backup {
  readonly file: string;
  readonly rootId: string;
  readonly bytes: number;
}

/**
 * Writes the last commit of a root into a new file that only this user can read. Errors: those of `openRoot` and `openSqliteReader`,
 * `file_exists`, `storage_failed`, and `input_invalid` for a file inside the root.
 */
export function backupRoot(options: BackupOptions): Backup {
  const root = openRoot({ path: options.path, create: false });
  const file = resolve(options.file);
  refuseInside(root, file);
  if (lookAt(file)) throw taken(file);
  const unnamed = join(dirname(file), `.holdfast-${freshId()}.tmp`);
  try {
    const { rootId } = copyDurably({ from: root.databaseFile, to: unnamed, busyTimeoutMs: options.busyTimeoutMs });
    const bytes = statSync(unnamed).size;
    // A link, not a rename: it fails where the name has been taken meanwhile.
    linkSync(unnamed, file);
    return { file, rootId, bytes };
  } catch (error) {
    if (error instanceof HoldfastError) throw error;
    if (errorCode(error) === "EEXIST") throw taken(file);
    throw engineError("storage_failed", `Cannot write ${file}: ${errorCode(error) ?? String(error)}.`, { cause: error });
  } finally {
    rmSync(unnamed, { force: true });
    // Also the name of the backup. Where there is no such directory, the error above says so.
    if (lookAt(dirname(file))) syncDirectory(dirname(file));
  }
}

/**
 * Makes a root of a backup, where there is nothing or an empty directory. `moved` keeps the id: the root that was backed up is no
 * longer used. `copied` gives it a new one. Errors: those of `openRoot` and `openSqliteReader`, `root_owned`.
 */
export function restoreRoot(options: RestoreOptions): Root {
  // Before the directory is touched.
  refuseUnreadable(options.file);
  return fromPath(options.path, () => {
    const path = openDirectory(options.path);
    const rootId = freshId();
    const known = readMarker(path);
    if (known && !known.restoring) throw engineError("root_invalid", `${path} is a state root already.`, { details: { path } });
    if (!known) {
      refuseStrangers(path);
      // First of all: a crash after it leaves a directory that can only be restored into.
      createMarker(path, { rootId, place: placeOf(path), restoring: true });
    }
    const root = rootAt(path, rootId);
    const ownership = acquireOwnership(root, { program: "restore" });
    try {
      return fill(root, options);
    } finally {
      ownership.release();
    }
  });
}

/** Under the lock: of two restores into one directory the second finds a whole root, and is refused. */
function fill({ path, databaseFile, rootId: newId }: Root, { file, as }: { readonly file: string; readonly as: Adoption }): Root {
  if (!presentMarker(path).restoring) throw engineError("root_invalid", `${path} is a state root already.`, { details: { path } });
  const unnamed = `${databaseFile}.tmp`;
  // What a restore that was cut off left behind. A WAL of an earlier file would be taken for one of the new file.
  for (const name of [unnamed, ...["", "-wal", "-shm", "-journal"].map((suffix) => databaseFile + suffix)]) rmSync(name, { force: true });
  const { rootId: oldId } = copyDurably({ from: resolve(file), to: unnamed });
  renameSync(unnamed, databaseFile);
  const rootId = as === "moved" ? oldId : newId;
  renameDatabase({ file: databaseFile, rootId, from: [oldId] });
  // Last: from here on it is a root. It makes the name of the database durable as well.
  replaceMarker(path, { rootId, place: placeOf(path) });
  return rootAt(path, rootId);
}

function copyDurably(options: { readonly from: string; readonly to: string; readonly busyTimeoutMs?: number | undefined }): {
  readonly rootId: string;
} {
  // SQLite would create it readable by everyone.
  createPrivateFile(options.to);
  const copied = copyDatabase(options);
  const handle = openSync(options.to, "r+");
  fsyncSync(handle);
  closeSync(handle);
  return copied;
}

/** A name in the root may be one that the next owner writes to, and whoever loses the root would lose its backup with it. */
function refuseInside({ path }: Root, file: string): void {
  let directory: string;
  try {
    directory = realpathSync.native(dirname(file));
  } catch {
    // Writing it will say what is wrong with it.
    return;
  }
  const way = relative(path, directory);
  if (way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way)) return;
  throw engineError("input_invalid", `${file} is inside the state root ${path}: a backup belongs outside of what it is a backup of.`, {
    details: { path: file },
  });
}

function taken(file: string): HoldfastError {
  return engineError("file_exists", `${file} exists already; a backup replaces nothing.`, { details: { path: file } });
}
