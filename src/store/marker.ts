/**
 * The marker of a state root: the file that says which root a directory is, and where that root lives.
 *
 * Guarantees: of concurrent creators one writes it and all read the same; it is durable before anything else is in the root; its name
 * never shows half a file. A directory that was copied or restored, elsewhere or in place of another, is told from one that was moved
 * within its file system.
 *
 * Next: `root.ts`.
 */

import { linkSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { engineError } from "../actor/error.ts";
import { checkOwn, own } from "../actor/own-schema.ts";
import { errorCode, lookAt, readPrivateFile, syncDirectory, writePrivateFile } from "./private-file.ts";
import { freshId } from "./root-id.ts";

export const MARKER = "holdfast.json";
const MARKER_SCHEMA = 2;
/** A path of 4096 bytes, every one of them escaped, and the rest. */
const MARKER_LIMIT_BYTES = 32 * 1024;
/** A creator's marker before it has its name; a crash leaves it behind. */
export const UNNAMED_MARKER = /^\.holdfast-[0-9a-f-]{36}\.tmp$/;
/** An owner's marker before it takes the place of the one before it. */
const NEXT_MARKER = `${MARKER}.tmp`;

const placeSchema = own.strictObject({ path: own.string(), dev: own.string(), ino: own.string() });
const markerSchema = own.union([
  own.strictObject({ schema: own.literal(1), rootId: own.uuidv7() }),
  own.strictObject({
    schema: own.literal(MARKER_SCHEMA),
    rootId: own.uuidv7(),
    place: placeSchema,
    adopting: own.exactOptional(own.uuidv7()),
    restoring: own.exactOptional(own.literal(true)),
  }),
]);

/** Where a root lives: its real path, and the identity of its directory, which survives a move within a file system. */
export type Place = own.infer<typeof placeSchema>;

export interface Marker {
  readonly rootId: string;
  /** Null where the first version of the marker, which did not record it, has not been brought up to date yet. */
  readonly place: Place | null;
  /** The id that an adoption under way gives the root: the database may have it already. */
  readonly adopting?: string;
  /** True while the database is still being restored. */
  readonly restoring?: true;
}

/** The place of a directory, given its real path. */
export function placeOf(directory: string): Place {
  // As big integers: an inode number can be beyond what a number holds exactly.
  const { dev, ino } = statSync(directory, { bigint: true });
  return { path: directory, dev: `${dev}`, ino: `${ino}` };
}

/** Throws `root_moved` where the marker names another place than that of its directory, or an adoption that was cut off. */
export function refuseElsewhere(directory: string, { place, adopting }: Marker): void {
  if (adopting)
    throw engineError("root_moved", `${directory}: an adoption was cut off; run \`holdfast adopt\` again.`, {
      details: { path: directory },
    });
  if (!place) return;
  const here = placeOf(directory);
  if (place.dev === here.dev && place.ino === here.ino) return;
  // Of a device with another number nothing can be said: a disk that is mounted anew, or a reboot, may change it.
  if (place.path === here.path && place.dev !== here.dev) return;
  const what =
    place.path === here.path
      ? `${directory} is not the directory that lived here: it was copied or restored, and put in the old one's place`
      : `${directory} lived at ${place.path}: this directory was copied or restored from elsewhere`;
  throw engineError("root_moved", `${what}; \`holdfast adopt --moved\` keeps its id, \`--copied\` gives it a new one.`, {
    details: { path: directory, from: place.path },
  });
}

/** What the marker of a directory says, or undefined where there is none. */
export function readMarker(directory: string): Marker | undefined {
  const path = join(directory, MARKER);
  const found = lookAt(path);
  if (!found) return undefined;
  if (!found.isFile()) throw engineError("root_invalid", `${path} is not a regular file.`, { details: { path } });
  const text = readPrivateFile(path, MARKER_LIMIT_BYTES);
  if (text === undefined) throw engineError("root_invalid", `${path} is larger than ${MARKER_LIMIT_BYTES} bytes.`, { details: { path } });
  const value = parseJson(text);
  const schema = (value as { schema?: unknown } | null | undefined)?.schema;
  if (typeof schema === "number" && schema > MARKER_SCHEMA)
    throw engineError("schema_newer", `${path} has schema ${schema}; this program knows ${MARKER_SCHEMA}.`, { details: { path } });
  const marker = checkOwn(markerSchema, value);
  if (!marker.ok)
    throw engineError("root_invalid", `${path} is not a marker: expected {"schema":${MARKER_SCHEMA},"rootId":"<uuid v7>","place":{…}}.`, {
      details: { path },
    });
  const { schema: _, ...known } = marker.data;
  return { place: null, ...known };
}

/** Writes the first marker of a directory, or leaves the one of another creator who was first. */
export function createMarker(directory: string, marker: Marker): void {
  const unnamed = join(directory, `.holdfast-${freshId()}.tmp`);
  try {
    writePrivateFile(unnamed, textOf(marker));
    // A link, not a rename: it fails where the name is taken, and the name never shows half a file.
    linkSync(unnamed, join(directory, MARKER));
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  } finally {
    rmSync(unnamed, { force: true });
  }
  // Also by those who were not first: they go on to write a database, which must not outlive the marker in a power failure.
  syncDirectory(directory);
}

/** Writes a marker over the one before it. The caller holds the owner lock. */
export function replaceMarker(directory: string, marker: Marker): void {
  const next = join(directory, NEXT_MARKER);
  rmSync(next, { force: true });
  writePrivateFile(next, textOf(marker));
  renameSync(next, join(directory, MARKER));
  syncDirectory(directory);
}

function textOf({ rootId, place, adopting, restoring }: Marker): string {
  return `${JSON.stringify({ schema: MARKER_SCHEMA, rootId, place, adopting, restoring })}\n`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
