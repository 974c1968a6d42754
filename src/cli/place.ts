/** Place: paths that a person gave, checked before anything is opened or written. */

import { lstatSync, readdirSync, realpathSync, renameSync, rmSync, type Stats, statSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { messageOf } from "../actor/error.ts";
import { agentError } from "../agent/error.ts";
import { cliError } from "./error.ts";

/** The absolute path of a directory that can be listed. Throws `argument_invalid`. */
export function existingDirectory(given: string, field: string): string {
  const path = resolve(given);
  try {
    readdirSync(path);
    return path;
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    const problem = code === "ENOENT" ? "does not exist" : code === "ENOTDIR" ? "is not a directory" : `cannot be listed (${code})`;
    throw agentError("argument_invalid", `${field}: ${path} ${problem}; expected a directory`, { cause, details: { path: field } });
  }
}

/**
 * The absolute path of a file that may be written: a new one below an existing directory, or a regular one that is written over.
 * A device, a pipe, a socket or a link would be replaced by a file, so it is refused. Throws `argument_invalid`.
 */
export function writableFile(given: string, field: string): string {
  const path = resolve(given);
  const refuse = (problem: string) =>
    agentError("argument_invalid", `${field}: ${path} ${problem}; expected a file`, { details: { path: field } });
  const found = lstat(path);
  if (given === "" || given.endsWith("/") || found?.isDirectory()) throw refuse("is a directory");
  if (found && !found.isFile()) throw refuse("is not a regular file");
  let above = dirname(path);
  while (above !== dirname(above) && !lstat(above)) above = dirname(above);
  if (!statSync(above, { throwIfNoEntry: false })?.isDirectory()) throw refuse(`cannot be made, for ${above} is not a directory`);
  return path;
}

/** What stands at a path, or undefined where nothing does, also because something above it is no directory. */
function lstat(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** True where `path` is `directory` or below it. Both are resolved as far as they exist. */
export function isInside(path: string, directory: string): boolean {
  const way = relative(realPath(directory), realPath(path));
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** The real path; of what does not exist yet, the real path of the nearest directory that does, and the rest. */
export function realPath(path: string): string {
  const absolute = resolve(path);
  try {
    return realpathSync.native(absolute);
  } catch {
    const parent = dirname(absolute);
    return parent === absolute ? absolute : resolve(realPath(parent), relative(parent, absolute));
  }
}

/** Writes a file whole or not at all. Throws `file_unwritable`. */
export function writeWhole(path: string, text: string): void {
  const unnamed = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(unnamed, text, { flag: "wx" });
    renameSync(unnamed, path);
  } catch (cause) {
    rmSync(unnamed, { force: true });
    throw cliError("file_unwritable", `${path} cannot be written: ${messageOf(cause)}`, {
      cause,
      details: { path },
    });
  }
}
