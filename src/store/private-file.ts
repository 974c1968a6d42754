/**
 * Files and directories that belong to this user alone.
 *
 * Guarantees: what is created here is 0600 from its first moment; what exists is only looked at by name (lstat), never opened:
 * opening and closing a database file behind SQLite's back would drop its POSIX locks in this process.
 */

import { closeSync, fsyncSync, lstatSync, openSync, type Stats, writeFileSync } from "node:fs";
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

/** Writes a new file for this user only and brings it to the disk. Fails where something has that name already. */
export function writePrivateFile(path: string, text: string): void {
  const file = openSync(path, "wx", 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
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
