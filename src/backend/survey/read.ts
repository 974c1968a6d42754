/**
 * The tool `read_file`: what the survey wants to know of one file.
 *
 * Guarantees: opens only a regular file below the folder with no symbolic link on the way; reads it as a stream, in bounded memory,
 * and never beyond the size it had when it was opened; the result is below 64 KiB whatever the file holds. A file that cannot be
 * read is a result too, not an error.
 * A link set in a directory's place between check and open is the one race left; `O_NOFOLLOW` covers the file itself.
 * Next: past.ts.
 */

import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, lstat, open, realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { z } from "zod";
import type { Json } from "../../actor/json.ts";
import type { Tool, ToolContext } from "../../agent/backend.ts";
import { BoundedListing, countNewlines, LineSplitter, MarkFinder } from "./lines.ts";
import { LinkChecker } from "./links.ts";
import { READ } from "./past.ts";
import { type BytePath, decodePath, directoryOf, fromBuffer, joinPath, pathSchema, toBuffer } from "./path.ts";
import { systemCode } from "./walk.ts";

const CHUNK_BYTES = 262_144;
/** A NUL in the first bytes makes a file binary, as in git. */
const BINARY_PROBE_BYTES = 8_192;
/** Absent on Windows. `O_NONBLOCK`: a FIFO that came in the file's place must not hold the process. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

const countSchema = z.int().nonnegative();
const listingSchema = z.strictObject({
  count: countSchema,
  shown: z.array(z.strictObject({ line: countSchema, text: z.string() })),
});

/** Why a file could not be read: the system's code, or one of the survey's own. */
const unreadableSchema = z.strictObject({ unreadable: z.string().min(1).max(64) });
const contentSchema = z.strictObject({
  /** Of the bytes that were read. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: countSchema,
  /** What `grep -a -c ''` says. */
  lines: countSchema,
  binary: z.boolean(),
  /** The size is not the expected one, or something wrote to the file meanwhile. */
  changed: z.boolean(),
  /** Lines with TODO or FIXME. None in a binary file. */
  marks: listingSchema,
  /** Relative links of a Markdown file that lead nowhere. */
  brokenLinks: listingSchema,
});
export const readResultSchema = z.union([unreadableSchema, contentSchema]);
export type ReadResult = z.infer<typeof readResultSchema>;
export type FileContent = z.infer<typeof contentSchema>;

const argsSchema = z.strictObject({ path: pathSchema, bytes: countSchema });

/** Opens the file, or says why not. */
async function openRegular(root: BytePath, path: BytePath): Promise<FileHandle | string> {
  const absolute = joinPath(root, path);
  try {
    const stats = await lstat(toBuffer(absolute));
    if (stats.isSymbolicLink()) return "symbolic_link";
    if (!stats.isFile()) return "not_regular";
    const directory = directoryOf(path);
    const real = fromBuffer(await realpath(toBuffer(joinPath(root, directory)), { encoding: "buffer" }));
    if (real !== (directory === "" ? root : joinPath(root, directory))) return "symbolic_link";
    return await open(toBuffer(absolute), OPEN_FLAGS);
  } catch (error) {
    return systemCode(error);
  }
}

/** Fills the buffer from the file's position as far as the file goes, so that chunks are cut the same however short the reads are. */
async function fill(handle: FileHandle, buffer: Buffer, position: number): Promise<Buffer> {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** Reads what is in an open file. */
async function readOpened(
  handle: FileHandle,
  root: BytePath,
  path: BytePath,
  expectedBytes: number,
  signal: AbortSignal,
): Promise<ReadResult> {
  const before = await handle.stat();
  if (!before.isFile()) return { unreadable: "not_regular" };
  const hash = createHash("sha256");
  const marks = new MarkFinder();
  const links = /\.(?:md|markdown)$/i.test(path) ? new LinkChecker(root, path) : undefined;
  const splitter = new LineSplitter((piece) => {
    marks.receive(piece);
    links?.receive(piece);
  });
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(CHUNK_BYTES, before.size)));
  let bytes = 0;
  let newlines = 0;
  let lastByte = 10;
  let binary = false;
  while (bytes < before.size) {
    signal.throwIfAborted();
    const chunk = await fill(handle, buffer.subarray(0, Math.min(buffer.length, before.size - bytes)), bytes);
    if (chunk.length === 0) break;
    if (bytes === 0) binary = chunk.subarray(0, BINARY_PROBE_BYTES).includes(0);
    bytes += chunk.length;
    lastByte = chunk[chunk.length - 1] as number;
    hash.update(chunk);
    if (binary) newlines += countNewlines(chunk);
    else splitter.push(chunk);
    await links?.check(signal);
  }
  const lines = binary ? newlines + (lastByte === 10 ? 0 : 1) : splitter.end();
  await links?.check(signal);
  const after = await handle.stat();
  const changed = before.size !== expectedBytes || bytes !== before.size || after.size !== before.size || after.mtimeMs !== before.mtimeMs;
  const brokenLinks = (links?.broken ?? new BoundedListing()).toJson();
  return { sha256: hash.digest("hex"), bytes, lines, binary, changed, marks: marks.found.toJson(), brokenLinks };
}

async function readFile(root: BytePath, path: BytePath, expectedBytes: number, signal: AbortSignal): Promise<ReadResult> {
  const opened = await openRegular(root, path);
  if (typeof opened === "string") return { unreadable: opened };
  try {
    return await readOpened(opened, root, path, expectedBytes, signal);
  } catch (error) {
    return { unreadable: systemCode(error) };
  } finally {
    await opened.close();
  }
}

/** `path` is relative to the working directory, `bytes` its size when it was listed. */
export const readFileTool: Tool<z.infer<typeof argsSchema>> = {
  name: READ,
  description: "Reads a file below the working directory: digest, bytes, lines, TODO and FIXME lines, broken relative links of Markdown.",
  parameters: argsSchema,
  reconcile: "retry",
  async execute({ path, bytes }, context: ToolContext): Promise<Json> {
    const root = fromBuffer(await realpath(resolve(context.cwd), { encoding: "buffer" }));
    return readFile(root, decodePath(path), bytes, context.signal);
  },
};
