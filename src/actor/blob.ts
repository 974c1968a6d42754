/** Blobs: bytes that are stored by their content. */

import { types } from "node:util";
import type { Answer } from "./answer.ts";
import { engineError, HoldfastError } from "./error.ts";
import { sha256 } from "./json.ts";
import type { Work } from "./work.ts";

/** Bytes that one blob may have: it is held in memory whole, and written in one transaction. */
export const BLOB_LIMIT = 268_435_456;

/** Stores bytes by content, in the next group. Throws `input_invalid`. */
export async function putBlob(submit: (work: Work) => Promise<Answer>, bytes: Uint8Array): Promise<string> {
  // Of a text or a number the constructor below would make other bytes.
  if (!types.isUint8Array(bytes)) throw engineError("input_invalid", "a blob is a Uint8Array", { details: { path: "bytes" } });
  if (bytes.byteLength > BLOB_LIMIT)
    throw engineError("input_invalid", `a blob has at most ${BLOB_LIMIT} bytes; this one has ${bytes.byteLength}`, {
      details: { path: "bytes" },
    });
  // A copy: the caller may go on writing into its buffer.
  const kept = new Uint8Array(bytes);
  const digest = sha256(kept);
  const answer = await submit({
    kind: "row",
    apply: (draft) => {
      draft.blobs.set(digest, kept);
      return { kind: "ignored" };
    },
  });
  if (answer.kind === "refused") throw new HoldfastError(answer.code, answer.message);
  return digest;
}
