/**
 * A state root: the directory that holds everything, and the marker that says which root it is.
 *
 * Guarantees: of concurrent creators one writes the marker and all get its id; a marker is durable before anything else is in the
 * root; a stranger's directory is never adopted; nothing that other users can reach is used. A root whose database has vanished is
 * refused, never started anew.
 *
 * Next: `owner.ts`.
 */

import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { v7 } from "uuid";
import { z } from "zod";
import { engineError, HoldfastError } from "../actor/error.ts";
import { createPrivateFile, errorCode, lookAt, refuseShared, syncDirectory, writePrivateFile } from "./private-file.ts";

const MARKER = "holdfast.json";
const DATABASE = "holdfast.db";
const MARKER_SCHEMA = 1;
const MARKER_LIMIT_BYTES = 1024;
/** A creator's marker before it has its name; a crash leaves it behind. */
const UNNAMED_MARKER = /^\.holdfast-[0-9a-f-]{36}\.tmp$/;
/** What a root is made of. Each is looked at before the root is used. */
const FILES = [MARKER, DATABASE, `${DATABASE}-wal`, `${DATABASE}-shm`, `${DATABASE}-journal`, "owner.db", "owner.json"];

const markerSchema = z.strictObject({ schema: z.literal(MARKER_SCHEMA), rootId: z.uuidv7() });

export interface Root {
  /** The real path of the directory: aliases of one root have one path. */
  readonly path: string;
  readonly rootId: string;
  readonly databaseFile: string;
}

/**
 * Opens the state root at `path`; with `create`, makes it where there is nothing or an empty directory.
 * Errors: `root_not_found`, `root_invalid`, `root_insecure`, `schema_newer`, `storage_failed`.
 */
export function openRoot(options: { readonly path: string; readonly create: boolean }): Root {
  try {
    if (options.create) makeDirectory(resolve(options.path));
    const path = realpathSync.native(options.path);
    const stats = statSync(path);
    if (!stats.isDirectory()) throw engineError("root_invalid", `${path} is not a directory.`, { details: { path } });
    refuseShared(path, stats);
    const rootId = readMarker(path) ?? (options.create ? createMarker(path) : undefined);
    if (rootId === undefined)
      throw engineError("root_not_found", `${path} is not a state root: it has no ${MARKER}.`, { details: { path } });
    checkFiles(path);
    return { path, rootId, databaseFile: join(path, DATABASE) };
  } catch (error) {
    throw rootError(error, options.path);
  }
}

/** Not by the recursive option: where a file system refuses new entries with ENOENT, as /proc does, that tries for ever. */
function makeDirectory(path: string, mode = 0o700): void {
  const make = () => {
    mkdirSync(path, { mode });
    syncDirectory(dirname(path));
  };
  try {
    make();
  } catch (error) {
    if (errorCode(error) === "EEXIST") return;
    if (errorCode(error) !== "ENOENT" || dirname(path) === path) throw error;
    makeDirectory(dirname(path), 0o777);
    try {
      make();
    } catch (again) {
      if (errorCode(again) !== "EEXIST") throw again;
    }
  }
}

/** The id in the marker, or undefined where there is no marker. */
function readMarker(directory: string): string | undefined {
  const path = join(directory, MARKER);
  const found = lookAt(path);
  if (!found) return undefined;
  if (!found.isFile()) throw engineError("root_invalid", `${path} is not a regular file.`, { details: { path } });
  const text = readBounded(path);
  if (text === undefined) throw engineError("root_invalid", `${path} is larger than ${MARKER_LIMIT_BYTES} bytes.`, { details: { path } });
  const value = parseJson(text);
  const schema = (value as { schema?: unknown } | null | undefined)?.schema;
  if (typeof schema === "number" && schema > MARKER_SCHEMA)
    throw engineError("schema_newer", `${path} has schema ${schema}; this program knows ${MARKER_SCHEMA}.`, { details: { path } });
  const marker = markerSchema.safeParse(value);
  if (!marker.success)
    throw engineError("root_invalid", `${path} is not a marker: expected {"schema":${MARKER_SCHEMA},"rootId":"<uuid v7>"}.`, {
      details: { path },
    });
  return marker.data.rootId;
}

function readBounded(path: string): string | undefined {
  // Not through a link and not waiting on a pipe, should the file be exchanged after it was looked at.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    refuseShared(path, fstatSync(file));
    const bytes = Buffer.alloc(MARKER_LIMIT_BYTES + 1);
    const length = readSync(file, bytes, 0, bytes.length, 0);
    return length > MARKER_LIMIT_BYTES ? undefined : bytes.toString("utf8", 0, length);
  } finally {
    closeSync(file);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Writes the marker, or finds that another creator was first; returns the id that stands. */
function createMarker(directory: string): string {
  const marker = join(directory, MARKER);
  const stranger = readdirSync(directory).find((name) => !isLeftover(directory, name));
  // A root that another creator has just finished is full of files, but then its marker was there before them.
  if (stranger !== undefined && !lookAt(marker))
    throw engineError("root_invalid", `${directory} is not empty (${stranger}) and not a state root.`, { details: { path: directory } });
  // The database file comes first: a marker without one then always means that the database was lost.
  createPrivateFile(join(directory, DATABASE));
  const unnamed = join(directory, `.holdfast-${v7()}.tmp`);
  try {
    writePrivateFile(unnamed, `${JSON.stringify({ schema: MARKER_SCHEMA, rootId: v7() })}\n`);
    // A link, not a rename: it fails where the name is taken, and the name never shows half a file.
    linkSync(unnamed, marker);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  } finally {
    rmSync(unnamed, { force: true });
  }
  // Also by those who were not first: they go on to write a database, which must not outlive the marker in a power failure.
  syncDirectory(directory);
  const rootId = readMarker(directory);
  if (rootId === undefined)
    throw engineError("root_invalid", `${marker} vanished while the root was created.`, { details: { path: directory } });
  return rootId;
}

/** True for what a creator that crashed, or one at work, may have in a directory without a marker. */
function isLeftover(directory: string, name: string): boolean {
  return UNNAMED_MARKER.test(name) || (name === DATABASE && lookAt(join(directory, name))?.size === 0);
}

function checkFiles(directory: string): void {
  for (const name of FILES) {
    const path = join(directory, name);
    const found = lookAt(path);
    if (!found) continue;
    if (!found.isFile()) throw engineError("root_invalid", `${path} is not a regular file.`, { details: { path } });
    refuseShared(path, found);
  }
  const path = join(directory, DATABASE);
  if (!lookAt(path)) throw engineError("root_invalid", `${directory} has a marker but its database is missing.`, { details: { path } });
}

function rootError(error: unknown, path: string): unknown {
  if (error instanceof HoldfastError) return error;
  const options = { cause: error, details: { path } };
  switch (errorCode(error)) {
    case "ENOENT":
      return engineError("root_not_found", `There is no directory at ${path}.`, options);
    case "ENOTDIR":
    case "EEXIST": // A part of the path that should be a directory is a file.
    case "ELOOP":
    case "ENAMETOOLONG":
    case "ERR_INVALID_ARG_VALUE":
      return engineError("root_invalid", `${JSON.stringify(path)} cannot be a state root: ${errorCode(error)}.`, options);
    default:
      return engineError("storage_failed", `Cannot open the state root at ${path}: ${errorCode(error) ?? String(error)}.`, options);
  }
}
