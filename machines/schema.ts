/** The payloads that the machines share: identities, origins, sources, seals and outcomes. */

import { z } from "zod";

export type { Typed } from "./infer.ts";

/** Opaque: 1 to 256 characters, no control characters, no outer blanks. */
export const id = z
  .string()
  .min(1)
  .max(256)
  .refine((value) => !/\p{Cc}/u.test(value) && value === value.trim() && value.isWellFormed(), "has control characters or outer blanks");

export const hash = z.string().regex(/^sha256:[0-9a-f]{64}$/, "is not sha256: and 64 hex digits");
export const digest = z.string().regex(/^[0-9a-f]{64}$/, "is not a SHA-256 in hex");
export const seq = z.number().int().positive();
/** Steps left; null where there is no limit. */
export const steps = z.number().int().nonnegative().nullable();
/** At most a mebibyte of characters. */
export const text = z.string().max(1_048_576);
export const failure = z.strictObject({ code: z.string().min(1).max(128), message: z.string().max(4000) });

/** Who asked for a turn. */
export const origin = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("user") }),
  z.strictObject({ kind: z.literal("goal"), goalId: id }),
]);

/** What a session may do: `explore` reads only; `ask` needs a person for more; `bypass` does not. */
export const permissionMode = z.enum(["explore", "ask", "bypass"]);

/** Where and by what a turn is done. A successor has the same. */
export const configuration = z.strictObject({ backend: z.string().min(1).max(128), cwd: z.string().min(1).max(4096), permissionMode });

/** A question that a person must answer. */
export const interaction = z.strictObject({ id, question: z.string().max(65_536) });

/** The head of a run's journal, as observed. */
export const head = z.strictObject({ runId: id, seq, hash: digest });

/** What a run starts from: nothing, the boundary under a seal (same turn), or the last entry of an ended run (new turn). */
export const source = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("fresh") }),
  z.strictObject({ kind: z.literal("handoff"), handoffId: id, claimId: id, head: head.nullable(), denied: z.boolean(), runId: id }),
  z.strictObject({ kind: z.literal("plain"), head, denied: z.boolean(), runId: id }),
]);

/** A composition by its hashes; `body` is the digest of the blob that holds it whole. */
export const composition = z.strictObject({
  composerId: z.string().min(1).max(128),
  composerRevision: z.string().min(1).max(128),
  promptHash: hash,
  toolsHash: hash,
  availabilityHash: hash,
  providerOptionsHash: hash,
  contextWindow: z.number().int().positive().nullable(),
  body: digest,
});

/** What a handoff fixes from its request on. */
export const handoffIds = z.strictObject({ handoffId: id, successorRunId: id, claimId: id });

/** The payload of a seal, equal to the preview that was shown. */
export const seal = z.strictObject({
  protocol: z.literal("holdfast.seal.v1"),
  handoffId: id,
  rootRunId: id,
  successorRunId: id,
  claimId: id,
  remainingSteps: steps,
  interaction: interaction.nullable(),
});

/** Who stopped a turn: a person, or a host that shuts down. */
export const stopper = z.enum(["user", "shutdown"]);

export const drift = z.strictObject({ field: z.string(), source: z.string().nullable(), own: z.string().nullable() });

/** How a run ended. A sealed run has none. */
export const outcome = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("completed"), stopReason: z.string().min(1).max(64) }),
  z.strictObject({ kind: z.literal("failed"), error: failure, drift: z.array(drift) }),
  z.strictObject({ kind: z.literal("cancelled"), by: stopper }),
]);

/** What the model was given, by hash. */
export type Composition = z.infer<typeof composition>;
/** One field in which two compositions differ, with both values. */
export type Drift = z.infer<typeof drift>;
/** How a run ended: `completed`, `failed` or `cancelled`. */
export type Outcome = z.infer<typeof outcome>;
/** The payload of a seal. */
export type Seal = z.infer<typeof seal>;
/** What a run started from. */
export type Source = z.infer<typeof source>;
