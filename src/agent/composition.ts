/** Compositions: checked as backends declare them, stored whole as blobs, and recorded by their hashes. */

import { z } from "zod";
import type { CompositionRecord } from "../../machines/index.ts";
import { firstIssue } from "../actor/input.ts";
import { canonical, sha256 } from "../actor/json.ts";
import type { StoreReader } from "../actor/store.ts";
import type { Composition } from "./backend.ts";
import { agentError } from "./error.ts";

const hash = z.string().regex(/^sha256:[0-9a-f]{64}$/, "is not sha256: and 64 hex digits");
const sorted = (values: readonly string[]) => values.every((value, index) => index === 0 || (values[index - 1] as string) < value);

const schema: z.ZodType<Composition> = z.strictObject({
  composerId: z
    .string()
    .regex(/^[a-z0-9]+([.-][a-z0-9]+)*$/, "is not a dotted or dashed lower-case id")
    .max(128),
  composerRevision: z.string().min(1).max(128),
  sourceRevisions: z
    .array(z.strictObject({ id: z.string().min(1).max(128), revision: z.string().min(1).max(128) }))
    .max(64)
    .refine((revisions) => sorted(revisions.map(({ id }) => id)), "are not sorted and unique by id"),
  promptHash: hash,
  toolsHash: hash,
  availabilityHash: hash,
  providerOptionsHash: hash,
  toolNames: z.array(z.string().min(1).max(128)).max(256).refine(sorted, "are not sorted and unique"),
  contextWindow: z.number().int().positive().max(Number.MAX_SAFE_INTEGER).nullable(),
});

/** Checks a declared composition, stores its body and gives what a run records. Throws `composition_invalid`. */
export async function recordOf(declared: unknown, putBlob: (bytes: Uint8Array) => Promise<string>): Promise<CompositionRecord> {
  const parsed = schema.safeParse(declared);
  if (!parsed.success) {
    const { path, message } = firstIssue(parsed.error);
    throw agentError("composition_invalid", `the composition does not fit: ${path} ${message}`, { details: { path } });
  }
  const { sourceRevisions: _, toolNames: __, ...hashes } = parsed.data;
  return { ...hashes, body: await putBlob(Buffer.from(canonical(parsed.data), "utf8")) };
}

/** The record, where its body is stored and fits it; null where it is gone. */
export function storedComposition(reader: StoreReader, record: CompositionRecord | null): CompositionRecord | null {
  const bytes = record && reader.blob(record.body);
  if (!record || !bytes || sha256(bytes) !== record.body) return null;
  try {
    const body = schema.parse(JSON.parse(Buffer.from(bytes).toString("utf8")));
    return (["promptHash", "toolsHash", "availabilityHash", "providerOptionsHash", "contextWindow"] as const).every(
      (field) => body[field] === record[field],
    )
      ? record
      : null;
  } catch {
    return null;
  }
}
