/** Blobs: bytes that are stored by their content. */

import type { Answer } from "./answer.ts";
import { HoldfastError } from "./error.ts";
import { sha256 } from "./json.ts";
import type { Work } from "./work.ts";

/** Stores bytes by content, in the next group. */
export async function putBlob(submit: (work: Work) => Promise<Answer>, bytes: Uint8Array): Promise<string> {
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
