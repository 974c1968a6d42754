/**
 * Signatures of receipts: Ed25519 over a receipt's digest, under a tag of its own, so that no signature of anything else is one.
 *
 * A signature that holds says that whoever has the key signed this digest. Whose key it is, only somebody who knows the public key from
 * elsewhere can say.
 */

import { createPublicKey, KeyObject, sign, verify } from "node:crypto";
import { z } from "zod";
import { agentError } from "./error.ts";

const TAG = "holdfast.receipt.signature.v1";

/** `publicKey`: SPKI in DER, `value`: the 64 bytes of the signature; both in base64, in its one form with padding. */
export const signatureSchema = z.strictObject({
  algorithm: z.literal("ed25519"),
  publicKey: z.string(),
  value: z.string(),
});

export type Signature = z.infer<typeof signatureSchema>;

/** Signs the digest of a receipt. `key`: an Ed25519 private key. */
export function signatureOf(digest: string, key: KeyObject): Signature {
  return { algorithm: "ed25519", publicKey: derOf(createPublicKey(key)), value: sign(null, signed(digest), key).toString("base64") };
}

/** What does not hold of a signature, or undefined. `publicKey`: the key that it must be by; null: any. */
export function signatureFault(digest: string, signature: Signature | undefined, publicKey: KeyObject | null): string | undefined {
  if (!signature) return publicKey ? "it is not signed" : undefined;
  const der = bytesOf(signature.publicKey);
  const value = bytesOf(signature.value);
  if (!der || !value) return "its signature is not in base64";
  let key: KeyObject;
  try {
    key = createPublicKey({ key: der, format: "der", type: "spki" });
  } catch {
    return "its signature names no public key";
  }
  if (key.asymmetricKeyType !== "ed25519" || derOf(key) !== signature.publicKey) return "its signature names no Ed25519 key";
  if (!verify(null, signed(digest), key, value)) return "its signature does not fit";
  return publicKey && derOf(publicKey) !== signature.publicKey ? "it is signed by another key" : undefined;
}

/** A public key as a person gives it: a PEM text, or a key. Throws `argument_invalid`. */
export function publicKeyOf(given: string | KeyObject): KeyObject {
  const refuse = (cause?: unknown) =>
    agentError("argument_invalid", "publicKey: expected an Ed25519 public key, in PEM", { cause, details: { path: "publicKey" } });
  let key: KeyObject;
  try {
    if (typeof given === "string" ? given.includes("PRIVATE KEY") : given.type !== "public") throw refuse();
    key = given instanceof KeyObject ? given : createPublicKey(given);
  } catch (cause) {
    throw refuse(cause);
  }
  if (key.asymmetricKeyType !== "ed25519") throw refuse();
  return key;
}

function signed(digest: string): Buffer {
  return Buffer.from(`${TAG}\n${digest}`, "utf8");
}

function derOf(key: KeyObject): string {
  return key.export({ type: "spki", format: "der" }).toString("base64");
}

/** The bytes of a text in base64; undefined where it is another form of the same bytes, which a changed byte could be. */
function bytesOf(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}
