/**
 * Files and directories that belong to this user alone.
 *
 * Guarantees: what is created here is 0600 from its first moment; what exists is only looked at by name (lstat). Only small files that
 * are no database are read: opening and closing a database file behind SQLite's back would drop its POSIX locks in this process.
 */

import { closeSync, constants, fstatSync, fsyncSync, lstatSync, openSync, readSync, type Stats, writeFileSync } from "node:fs";
import { engineError } from "../actor/error.ts";

const WINDOWS = process.platform === "win32";

/** Creates an empty file for this user only; false where something has that name already. */
export function createPrivateFile(path: string): boolean {
  try {
    const file = openSync(path, "wx", 0o600);
    fsyncSync(file);
    closeSync(file);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** Writes a new file for this user only and, where it is to be `durable`, brings it to the disk. Fails where something has that name already. */
export function writePrivateFile(path: string, text: string, durable = true): void {
  const file = openSync(path, "wx", 0o600);
  try {
    writeFileSync(file, text);
    if (durable) fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** The text of a file that is no database; undefined where it is larger. Throws `root_insecure` where other users can reach it. */
export function readPrivateFile(path: string, limitBytes: number): string | undefined {
  // Not through a link and not waiting on a pipe, should the file be exchanged after it was looked at.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    refuseShared(path, fstatSync(file));
    const bytes = Buffer.alloc(limitBytes + 1);
    const length = readSync(file, bytes, 0, bytes.length, 0);
    return length > limitBytes ? undefined : bytes.toString("utf8", 0, length);
  } finally {
    closeSync(file);
  }
}

/** Makes the names in a directory durable. */
export function syncDirectory(path: string): void {
  if (WINDOWS) return; // Windows cannot open a directory; NTFS journals its names itself.
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** What has this name, without following a symbolic link; undefined where nothing has it. */
export function lookAt(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

/** Throws `root_insecure` where another user can reach what `stats` describes, or owns it. Windows has no such modes. */
export function refuseShared(path: string, stats: Stats): void {
  if (WINDOWS) return;
  if (stats.uid !== process.geteuid?.())
    throw engineError("root_insecure", `${path} belongs to another user (uid ${stats.uid}).`, { details: { path } });
  if ((stats.mode & 0o077) !== 0)
    throw engineError("root_insecure", `${path} can be reached by other users (mode ${(stats.mode & 0o777).toString(8)}).`, {
      details: { path },
    });
}

/** The `code` of a Node error, where it has one. */
export function errorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : undefined;
}
