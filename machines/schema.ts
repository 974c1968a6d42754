/** The payloads that the machines share: identities, origins, questions, sources, seals and outcomes. */

import { z } from "zod";

export type { Typed } from "./infer.ts";

/** Runs that may follow one another by handoffs and continuations. The next one is refused. */
export const LINEAGE_LIMIT = 64;

/** Tool calls that a run may have open at once. */
export const OPEN_CALLS = 256;

/** Characters of a run's id. */
export const RUN_ID_LIMIT = 160;

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

/**
 * Plain JSON, at most 100 levels deep, as the engine stores it. Not `z.json()`, which refers to itself: zod then looks for cycles, in every
 * value, in all that has a part of this kind.
 */
export const json = z.custom<z.core.util.JSONType>((value) => isJson(value, 100), "is not plain JSON").meta({ title: "Json" });

function isJson(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null)
    return value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
  const prototype = Object.getPrototypeOf(value);
  const keys = Object.keys(value);
  // An array with a hole, or with more than its items, has another number of keys.
  const isPlain = Array.isArray(value) ? keys.length === value.length : prototype === Object.prototype || prototype === null;
  return levels > 0 && isPlain && keys.every((key) => isJson((value as Record<string, unknown>)[key], levels - 1));
}

/** A migration between versions that store the same. */
export const unchanged = <Stored>(stored: Stored): Stored => stored;

/** Who asked for a turn. */
export const origin = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("user") }),
  z.strictObject({ kind: z.literal("goal"), goalId: id }),
]);

/** What a session may do: `explore` reads only; `ask` needs a person for more; `bypass` does not. */
export const permissionMode = z.enum(["explore", "ask", "bypass"]);

/** Where and by what a turn is done. A successor has the same. */
export const configuration = z.strictObject({ backend: z.string().min(1).max(128), cwd: z.string().min(1).max(4096), permissionMode });

/** An id of a run: shorter than others, so that `<run>.<question>` is one too. */
export const runId = id.refine((value) => value.length <= RUN_ID_LIMIT, `has more than ${RUN_ID_LIMIT} characters`);

/**
 * What a person is asked: a question, or leave to do what `subject` says. The id is `<run>.<its name in the run>`; the hash is the
 * SHA-256 of the canonical JSON of kind, question and subject, so an answer is bound to what was shown.
 */
export const interaction = z.strictObject({
  id,
  kind: z.enum(["question", "permission"]),
  question: z.string().max(65_536),
  subject: json,
  hash: digest,
});

/** What a person said: to a question a text, to a permission yes or no. */
export const answer = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("text"), text }),
  z.strictObject({ kind: z.literal("decision"), allow: z.boolean(), note: z.string().max(65_536).nullable() }),
]);

/** The head of a run's journal, as observed. */
export const head = z.strictObject({ runId: id, seq, hash: digest });

/** What a continuation is bound to besides its source: the digest of all segments before it, and whether a person denied something there. */
const bound = { boundary: digest.nullable(), denied: z.boolean(), runId: id };

/**
 * What a run starts from: nothing, the boundary under a seal (same turn), the last entry of an ended run (new turn), or a finished turn of
 * another session, whose facts it holds.
 */
export const source = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("fresh") }),
  z.strictObject({ kind: z.literal("handoff"), handoffId: id, claimId: id, head: head.nullable(), ...bound }),
  z.strictObject({ kind: z.literal("plain"), head, ...bound }),
  z.strictObject({ kind: z.literal("copy"), sessionId: id, turnId: id, runIds: z.array(id).min(1).max(LINEAGE_LIMIT) }),
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
export const handoffIds = z.strictObject({ handoffId: id, successorRunId: runId, claimId: id });

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

/** What is done where two compositions differ in a field. */
export const driftRule = z.enum(["refuse", "allow"]);
export const drift = z.strictObject({ field: z.string(), source: z.string().nullable(), own: z.string().nullable(), policy: driftRule });

/** How a run ended. A sealed run has none. */
export const outcome = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("completed"), stopReason: z.string().min(1).max(64) }),
  z.strictObject({ kind: z.literal("failed"), error: failure, drift: z.array(drift) }),
  z.strictObject({ kind: z.literal("cancelled"), by: stopper }),
]);

/** What the model was given, by hash. */
export type Composition = z.infer<typeof composition>;
/** What a person is asked. */
export type Interaction = z.infer<typeof interaction>;
/** What a person said. */
export type InteractionAnswer = z.infer<typeof answer>;
/** One field in which two compositions differ, with both values and what is done about it. */
export type Drift = z.infer<typeof drift>;
/** How a run ended: `completed`, `failed` or `cancelled`. */
export type Outcome = z.infer<typeof outcome>;
/** The payload of a seal. */
export type Seal = z.infer<typeof seal>;
/** What a run started from. */
export type Source = z.infer<typeof source>;
