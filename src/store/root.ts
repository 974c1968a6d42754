/**
 * A state root: the directory that holds everything.
 *
 * Guarantees: of concurrent creators one makes the root and all get its id; a stranger's directory is never adopted; nothing that
 * other users can reach is used. A root whose database has vanished is refused, never started anew; one that was copied is refused to
 * an owner until somebody says what it is.
 *
 * Next: `owner.ts`.
 */

import { mkdirSync, readdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { engineError, HoldfastError } from "../actor/error.ts";
import { createMarker, MARKER, type Marker, placeOf, readMarker, refuseElsewhere, replaceMarker, UNNAMED_MARKER } from "./marker.ts";
import { createPrivateFile, errorCode, lookAt, refuseShared, syncDirectory } from "./private-file.ts";
import { freshId } from "./root-id.ts";

const DATABASE = "holdfast.db";
/** The key that signs the receipts of a root; made by the first that is signed. */
export const RECEIPT_KEY = "receipt-key.pem";
/** What a root is made of. Each is looked at before the root is used. */
const FILES = [MARKER, DATABASE, `${DATABASE}-wal`, `${DATABASE}-shm`, `${DATABASE}-journal`, "owner.db", "owner.json", RECEIPT_KEY];

/** Where a state root is, and which it is. */
export interface Root {
  /** The real path of the directory: aliases of one root have one path. */
  readonly path: string;
  readonly rootId: string;
  readonly databaseFile: string;
}

/**
 * Opens the state root at `path`; with `create`, makes it where there is nothing or an empty directory. Says nothing about whether
 * the directory was copied: that matters to an owner only, see `settleRoot`.
 * Errors: `root_not_found`, `root_invalid`, `root_insecure`, `schema_newer`, `storage_failed`.
 */
export function openRoot(options: { readonly path: string; readonly create: boolean }): Root {
  return fromPath(options.path, () => {
    const path = options.create ? openDirectory(options.path) : privateDirectory(options.path);
    const marker = readMarker(path) ?? (options.create ? makeRoot(path) : undefined);
    if (!marker) throw engineError("root_not_found", `${path} is not a state root: it has no ${MARKER}.`, { details: { path } });
    if (marker.restoring)
      throw engineError("root_invalid", `${path} is half restored: a restore was cut off. Run it again.`, { details: { path } });
    checkFiles(path);
    return rootAt(path, marker.rootId);
  });
}

/** Throws `root_moved` where an owner may not take the root. Without a trace: it takes no lock. */
export function refuseMoved({ path }: Root): void {
  fromPath(path, () => refuseElsewhere(path, presentMarker(path)));
}

/**
 * What an owner does with the marker first, under its lock: it refuses a root that was copied, and records where the root lives now.
 * The marker is read again, because an adoption may have come between the first look and the lock. Errors: `root_moved` and those of
 * `openRoot`.
 */
export function settleRoot({ path }: Root): Root {
  return fromPath(path, () => {
    const marker = presentMarker(path);
    refuseElsewhere(path, marker);
    const place = placeOf(path);
    const { place: known } = marker;
    // Written only where it says something else, for every later move is judged by it.
    if (!known || known.path !== place.path || known.dev !== place.dev || known.ino !== place.ino)
      replaceMarker(path, { ...marker, place });
    return rootAt(path, marker.rootId);
  });
}

/** The root in a directory. */
export function rootAt(path: string, rootId: string): Root {
  return { path, rootId, databaseFile: join(path, DATABASE) };
}

/** The marker of a directory that must have one. */
export function presentMarker(path: string): Marker {
  const marker = readMarker(path);
  if (!marker) throw engineError("root_invalid", `${join(path, MARKER)} has vanished.`, { details: { path } });
  return marker;
}

/** Makes a directory for a root where there is none; returns its real path. */
export function openDirectory(path: string): string {
  makeDirectory(resolve(path));
  return privateDirectory(path);
}

/** Throws `root_invalid` where a directory without a marker holds anything that a creator did not leave there. */
export function refuseStrangers(directory: string): void {
  const stranger = readdirSync(directory).find((name) => !isLeftover(directory, name));
  // A root that another creator has just finished is full of files, but then its marker was there before them.
  if (stranger !== undefined && !lookAt(join(directory, MARKER)))
    throw engineError("root_invalid", `${directory} is not empty (${stranger}) and not a state root.`, { details: { path: directory } });
}

/** Runs `work`, and says of a path that the file system refused what that means for a state root. */
export function fromPath<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw rootError(error, path);
  }
}

function privateDirectory(given: string): string {
  const path = realpathSync.native(given);
  const stats = statSync(path);
  if (!stats.isDirectory()) throw engineError("root_invalid", `${path} is not a directory.`, { details: { path } });
  refuseShared(path, stats);
  return path;
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

/** Makes a root in a directory, or finds that another creator was first; returns the marker that stands. */
function makeRoot(directory: string): Marker {
  refuseStrangers(directory);
  // The database file comes first: a marker without one then always means that the database was lost.
  createPrivateFile(join(directory, DATABASE));
  createMarker(directory, { rootId: freshId(), place: placeOf(directory) });
  return presentMarker(directory);
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
