/**
 * The key of a state root: an Ed25519 key that signs its receipts.
 *
 * It is one file in the root, made when it is first asked for, and never leaves it: a backup holds the database and no key, and a
 * directory that was adopted as a copy gets a key of its own.
 * Guarantees: of concurrent creators, the owner or not, one makes it and all get the same; its name never shows half a file; it is
 * readable by this user alone; a directory that was copied and not adopted signs nothing.
 */

import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { linkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { engineError } from "../actor/error.ts";
import { refuseElsewhere } from "./marker.ts";
import { errorCode, lookAt, readPrivateFile, syncDirectory, writePrivateFile } from "./private-file.ts";
import { fromPath, presentMarker, RECEIPT_KEY, type Root } from "./root.ts";
import { freshId } from "./root-id.ts";

/** An Ed25519 key in PEM has 119 bytes; a person may have put text before it. */
const LIMIT_BYTES = 16 * 1024;

/**
 * The private key of a root; made where there is none. Needs no lock. Errors: `root_moved` where the directory was copied and not
 * adopted, `root_invalid` where the file holds no such key, `root_insecure`, `storage_failed`.
 */
export function openReceiptKey({ path, rootId }: Root): KeyObject {
  return fromPath(path, () => {
    const marker = presentMarker(path);
    refuseElsewhere(path, marker);
    if (marker.rootId !== rootId)
      throw engineError("root_moved", `${path} was adopted while it was read: it has another id.`, { details: { path } });
    return readKey(path) ?? makeKey(path);
  });
}

/** The public half of a key, as a PEM file holds it. */
export function publicKeyText(key: KeyObject): string {
  return createPublicKey(key).export({ type: "spki", format: "pem" }).toString();
}

function readKey(directory: string): KeyObject | undefined {
  const path = join(directory, RECEIPT_KEY);
  const found = lookAt(path);
  if (!found) return undefined;
  const refuse = (cause?: unknown) =>
    engineError("root_invalid", `${path} is not an Ed25519 private key in PEM (PKCS 8).`, { cause, details: { path } });
  if (!found.isFile()) throw refuse();
  const text = readPrivateFile(path, LIMIT_BYTES);
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: text ?? "", format: "pem" });
  } catch (cause) {
    throw refuse(cause);
  }
  if (key.asymmetricKeyType !== "ed25519") throw refuse();
  return key;
}

function makeKey(directory: string): KeyObject {
  const { privateKey } = generateKeyPairSync("ed25519");
  const unnamed = join(directory, `.holdfast-${freshId()}.tmp`);
  try {
    writePrivateFile(unnamed, privateKey.export({ type: "pkcs8", format: "pem" }).toString());
    // A link, not a rename: it fails where another creator was first, and the name never shows half a file.
    linkSync(unnamed, join(directory, RECEIPT_KEY));
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  } finally {
    rmSync(unnamed, { force: true });
  }
  // Before anything is signed: a receipt must not outlive its key in a power failure.
  syncDirectory(directory);
  const key = readKey(directory);
  if (!key) throw engineError("root_invalid", `${join(directory, RECEIPT_KEY)} has vanished.`, { details: { path: directory } });
  return key;
}
