/** Place: paths that a person gave, checked before anything is opened or written. */

import { readdirSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
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

/** The absolute path of a file that may be written: anything but a directory. Throws `argument_invalid`. */
export function writableFile(given: string, field: string): string {
  const path = resolve(given);
  if (given === "" || given.endsWith("/") || statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw agentError("argument_invalid", `${field}: ${path} is a directory; expected a file`, { details: { path: field } });
  return path;
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
    throw cliError("file_unwritable", `${path} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
      details: { path },
    });
  }
}
