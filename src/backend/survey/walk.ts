/**
 * The tool `list_files`: every regular file below a folder, as a manifest in a blob.
 *
 * Guarantees: symbolic links below the folder are not followed, directories named `.git` or `node_modules` are not entered, nothing
 * is opened but directories.
 * What cannot be listed is noted in the manifest, with the system's code; only a root that cannot be listed is an error.
 * Two walks of an unchanged folder give the same bytes. Memory is proportional to the number of files.
 * Next: read.ts.
 */

import { lstat, readdir, realpath } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { z } from "zod";
import type { Json } from "../../actor/json.ts";
import type { Tool, ToolContext } from "../../agent/backend.ts";
import { LIST } from "./past.ts";
import { type BytePath, directoryOf, encodePath, fromBuffer, fromText, joinPath, pathSchema, toBuffer } from "./path.ts";
import { inParallel } from "./pool.ts";

const SKIPPED_DIRECTORIES = new Set([".git", "node_modules"]);
const STATS_IN_FLIGHT = 32;

const countSchema = z.int().nonnegative();

/** What a walk found; both lists are in byte order of their paths. `bytes` is the size at the time of the walk. */
export const manifestSchema = z.strictObject({
  files: z.array(z.strictObject({ path: pathSchema, bytes: countSchema })),
  unreadable: z.array(z.strictObject({ path: pathSchema, code: z.string().max(64) })),
});
export type Manifest = z.infer<typeof manifestSchema>;

export const listResultSchema = z.strictObject({
  manifest: z.string().regex(/^[0-9a-f]{64}$/),
  files: countSchema,
  bytes: countSchema,
  unreadable: countSchema,
});

const argsSchema = z.strictObject({ exclude: z.array(z.string().min(1).max(4_096)).max(64) });

interface Found {
  readonly files: { path: BytePath; bytes: number }[];
  readonly unreadable: { path: BytePath; code: string }[];
}

/** What the process is short of says nothing about a file. */
const SHORTAGES = new Set(["EMFILE", "ENFILE", "ENOMEM", "EINTR", "EAGAIN"]);

/** The system's code for a file that cannot be read. Any other error is thrown on: a bug, an abort, or a shortage in this process. */
export function systemCode(error: unknown): string {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (typeof code !== "string" || syscall === undefined || SHORTAGES.has(code)) throw error;
  return code;
}

/** Where the excluded paths really are. A path whose directory is missing excludes nothing. */
async function excludedPaths(cwd: string, exclude: readonly string[]): Promise<Set<BytePath>> {
  const excluded = new Set<BytePath>();
  for (const path of exclude) {
    const absolute = resolve(cwd, path);
    const directory = await realpath(dirname(absolute), { encoding: "buffer" }).catch(() => undefined);
    if (directory) excluded.add(joinPath(fromBuffer(directory), fromText(basename(absolute))));
  }
  return excluded;
}

/** What is left out: paths, and the files of excluded directories under whatever other name they are linked. */
interface Exclusion {
  readonly paths: ReadonlySet<BytePath>;
  readonly files: ReadonlySet<string>;
}

/** A file by what it is, not by how it is called. */
function identity(stats: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${stats.dev}:${stats.ino}`;
}

/** Finds excluded files by lstat alone: to open one in the process that owns a state root would drop the root's lock. */
async function excludedFiles(paths: ReadonlySet<BytePath>): Promise<Set<string>> {
  const files = new Set<string>();
  for (const path of paths) {
    const stats = await lstat(toBuffer(path), { bigint: true }).catch(() => undefined);
    if (stats?.isFile()) files.add(identity(stats));
    if (!stats?.isDirectory()) continue;
    const names = await readdir(toBuffer(path), { encoding: "buffer" }).catch(() => []);
    for (const name of names) {
      const inner = await lstat(toBuffer(joinPath(path, fromBuffer(name))), { bigint: true }).catch(() => undefined);
      if (inner?.isFile()) files.add(identity(inner));
    }
  }
  return files;
}

/** True where the folder is excluded itself, or lies in what is. */
function isExcluded(root: BytePath, paths: ReadonlySet<BytePath>): boolean {
  for (let path = root; path !== ""; path = directoryOf(path)) if (paths.has(path)) return true;
  return false;
}

/** Lists one directory: adds its files to `found` and returns the directories to enter next. */
async function listDirectory(root: BytePath, directory: BytePath, excluded: Exclusion, found: Found): Promise<BytePath[]> {
  const entries = await readdir(toBuffer(joinPath(root, directory)), { withFileTypes: true, encoding: "buffer" });
  const directories: BytePath[] = [];
  const others: BytePath[] = [];
  for (const entry of entries) {
    const name = fromBuffer(entry.name);
    const path = joinPath(directory, name);
    if (entry.isSymbolicLink() || excluded.paths.has(joinPath(root, path))) continue;
    if (!entry.isDirectory()) others.push(path);
    else if (!SKIPPED_DIRECTORIES.has(name)) directories.push(path);
  }
  await inParallel(others, STATS_IN_FLIGHT, async (path) => {
    try {
      const stats = await lstat(toBuffer(joinPath(root, path)), { bigint: true });
      if (stats.isFile() && !excluded.files.has(identity(stats))) found.files.push({ path, bytes: Number(stats.size) });
    } catch (error) {
      found.unreadable.push({ path, code: systemCode(error) });
    }
  });
  return directories;
}

const byPath = (a: { path: BytePath }, b: { path: BytePath }) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0);

/** Everything below `cwd`, which may itself be reached by a symbolic link. */
async function walk(cwd: string, exclude: readonly string[], signal: AbortSignal): Promise<Found> {
  const root = fromBuffer(await realpath(resolve(cwd), { encoding: "buffer" }));
  const paths = await excludedPaths(cwd, exclude);
  const excluded: Exclusion = { paths, files: await excludedFiles(paths) };
  const found: Found = { files: [], unreadable: [] };
  if (isExcluded(root, paths)) return found;
  const waiting: BytePath[] = await listDirectory(root, "", excluded, found);
  for (let directory = waiting.pop(); directory !== undefined; directory = waiting.pop()) {
    signal.throwIfAborted();
    try {
      for (const inner of await listDirectory(root, directory, excluded, found)) waiting.push(inner);
    } catch (error) {
      found.unreadable.push({ path: directory, code: systemCode(error) });
    }
  }
  found.files.sort(byPath);
  found.unreadable.sort(byPath);
  return found;
}

/** `exclude` names files and directories (absolute, or relative to the folder) that are left out. */
export const listFiles: Tool<z.infer<typeof argsSchema>> = {
  name: LIST,
  description: "Lists the regular files below the working directory, without .git and node_modules, and keeps the list as a blob.",
  parameters: argsSchema,
  reconcile: "retry",
  async execute({ exclude }, context: ToolContext): Promise<Json> {
    const found = await walk(context.cwd, exclude, context.signal);
    const manifest: Manifest = {
      files: found.files.map(({ path, bytes }) => ({ path: encodePath(path), bytes })),
      unreadable: found.unreadable.map(({ path, code }) => ({ path: encodePath(path), code })),
    };
    return {
      manifest: await context.putBlob(Buffer.from(JSON.stringify(manifest))),
      files: found.files.length,
      bytes: found.files.reduce((sum, file) => sum + file.bytes, 0),
      unreadable: found.unreadable.length,
    };
  },
};
