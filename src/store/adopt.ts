/**
 * Adoption: what somebody says of a directory that was copied or restored, so that an owner may take it.
 *
 * Guarantees: marker and database end with one id, whatever is cut off where; the adoption that is run again after a crash, either
 * way, finishes. While it is unfinished no owner takes the root.
 *
 * The order of a copy, and the crash that each step is for:
 * 1. The marker records the new id beside the old one. A crash after it leaves a database with the old id, and before step 4 the
 *    database has one of two ids that the marker names. Without it, a crash between 2 and 4 would leave two ids that know nothing of
 *    each other, which is what a root of mixed-up files looks like, and nobody could tell them apart.
 * 2. The database takes the new id, in one durable transaction.
 * 3. The key that signs receipts goes: it is the original's, and a copy must not sign as the original. A crash after it costs a key only
 *    where the adoption is then run again as a move.
 * 4. The marker states the new id and the new place. Until then it names the old place, so that `root_moved` keeps owners away.
 *
 * Next: `backup.ts`.
 */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { renameDatabase } from "./database.ts";
import { placeOf, replaceMarker } from "./marker.ts";
import { acquireOwnership } from "./owner.ts";
import { fromPath, openRoot, presentMarker, RECEIPT_KEY, type Root, rootAt } from "./root.ts";
import { freshId } from "./root-id.ts";

/** Which directory, and what became of it. */
export interface AdoptOptions {
  readonly path: string;
  readonly as: Adoption;
}

/** What became of a directory: it was moved and is the root, or it is a copy and another root from now on. */
export type Adoption = "moved" | "copied";

/**
 * Says of the root in a directory that it was moved there, which keeps its id, or copied there, which gives it a new one.
 * Errors: those of `openRoot`, `root_owned`, `root_invalid` where the database has an id that the marker does not name.
 */
export function adoptRoot(options: AdoptOptions): Root {
  const root = openRoot({ path: options.path, create: false });
  const ownership = acquireOwnership(root, { program: "adopt" });
  try {
    return fromPath(root.path, () => adopt(root, options.as));
  } finally {
    ownership.release();
  }
}

function adopt({ path, databaseFile }: Root, as: Adoption): Root {
  // Under the lock: another adoption may have come first.
  const marker = presentMarker(path);
  const rootId = as === "moved" ? marker.rootId : (marker.adopting ?? freshId());
  if (as === "copied" && marker.adopting === undefined)
    replaceMarker(path, { ...marker, place: marker.place ?? placeOf(path), adopting: rootId });
  renameDatabase({ file: databaseFile, rootId, from: [marker.rootId, ...(marker.adopting ? [marker.adopting] : [])] });
  if (as === "copied") rmSync(join(path, RECEIPT_KEY), { force: true });
  replaceMarker(path, { rootId, place: placeOf(path) });
  return rootAt(path, rootId);
}
