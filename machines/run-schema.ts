/** What a run is told, keeps, states and asks for: the payloads of `run.ts`, and the reasons for which it declines. */

import { z } from "zod";
import { driftBetween, driftPolicy } from "./composition.ts";
import { migrations } from "./run-migration.ts";
import {
  answer,
  type Composition,
  composition,
  configuration,
  type Drift,
  digest,
  drift,
  failure,
  handoffIds,
  id,
  interaction,
  json,
  LINEAGE_LIMIT,
  OPEN_CALLS,
  type Outcome,
  origin,
  outcome,
  runId,
  type Seal,
  seal,
  source,
  steps,
  stopper,
  type Typed,
  text,
} from "./schema.ts";

/** Blobs that one tool call may store. */
export const TOOL_BLOBS = 64;

const toolOutcome = z.discriminatedUnion("ok", [
  z.strictObject({ ok: z.literal(true), result: json }),
  z.strictObject({ ok: z.literal(false), error: failure }),
]);
const reconcile = z.enum(["retry", "query", "ask"]).nullable();
const callName = z.string().min(1).max(128);

/** A call whose outcome an earlier run could not record, and what was found out since: by asking its tool, or from a person. */
export const reconciled = z.strictObject({
  runId: id,
  callId: id,
  name: callName,
  by: z.enum(["query", "person"]),
  outcome: toolOutcome,
});

/** One fact of a turn that was copied from another session, in full. */
export const copiedFact = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("message.added"), role: z.enum(["user", "assistant"]), text }),
  z.strictObject({
    type: z.literal("permission.decided"),
    interactionId: id,
    question: z.string(),
    allow: z.boolean(),
    note: z.string().max(65_536).nullable(),
  }),
  z.strictObject({ type: z.literal("tool.called"), callId: id, name: callName, args: json, reconcile }),
  z.strictObject({ type: z.literal("tool.settled"), callId: id, name: callName, outcome: toolOutcome, blobs: z.array(digest).optional() }),
  z.strictObject({ type: z.literal("tool.unknown"), callId: id, name: callName }),
  z.strictObject({ type: z.literal("tool.reconciled"), of: id, ...reconciled.omit({ runId: true }).shape }),
]);

/** What a turn stated, as a copy of it holds it. */
export type CopiedFact = z.infer<typeof copiedFact>;

export const input = z.strictObject({
  sessionId: id,
  turnId: id,
  runId,
  rootRunId: id,
  /** The run whose transcript this one goes on from. */
  previousRunId: id.nullable(),
  configuration,
  origin,
  source,
  /** The user's text; null in a run that continues another and adds none. */
  text: text.nullable(),
  stepsLeft: steps,
  /** The composition that this run's own must agree with. */
  expected: composition.nullable(),
  /** A question that was open when the source was sealed. */
  interaction: interaction.nullable(),
  /** Who stopped the turn before this run was dispatched; null where nobody has. */
  stopBeforeDispatch: stopper.nullable(),
  /** 1 in a run that continues none, else one more than its source's. */
  depth: z.number().int().positive().max(LINEAGE_LIMIT),
  /** What became known, before this run, of calls without an outcome. */
  reconciled: z.array(reconciled).max(OPEN_CALLS),
  /** In a copy: all that the turn stated, and how it ended. */
  copied: z.strictObject({ facts: z.array(copiedFact), outcome }).nullable(),
});

const call = z.strictObject({ callId: id, name: callName });

export const context = z.strictObject({
  ...input.omit({ text: true, reconciled: true, copied: true }).shape,
  /** Identity of the place where the run's tools work, as it was seen before its first step; null where it could not be told. */
  workspace: z.string().max(4096).nullable(),
  /** Steps asked for so far. */
  stepsTaken: z.number().int().nonnegative(),
  composition: composition.nullable(),
  /** Tool calls between their two commits. */
  openCalls: z.array(call).max(OPEN_CALLS),
  /** What the last step left. */
  next: z.enum(["continue", "end", "wait"]).nullable(),
  stopReason: z.string().nullable(),
  handoff: handoffIds.nullable(),
  /** The exact seal that a commit would lead to, while the run is held. */
  preview: seal.nullable(),
  heldFrom: z.enum(["running", "waiting"]).nullable(),
  /** True in a run that outlived its process: it prepares again before its next step. */
  stale: z.boolean(),
  outcome: outcome.nullable(),
});

/** What a step reports; see `StepReport` of the backend contract. */
const report = z.strictObject({
  text: text.nullable(),
  remainingSteps: steps,
  next: z.enum(["continue", "end", "wait"]),
  stopReason: z.string().min(1).max(64).nullable(),
  interaction: interaction.nullable(),
});

/** The backend's declaration, what this process allows where it differs from the one that it must agree with, and where tools work. */
const preparation = z.strictObject({ composition: composition.nullable(), driftPolicy, workspace: context.shape.workspace });
const effectKey = z.string();

const events = {
  "prepare.done": z.strictObject({ output: preparation, effect: effectKey }),
  "prepare.failed": z.strictObject({ error: failure, effect: effectKey }),
  "step.done": z.strictObject({ output: report, effect: effectKey }),
  "step.failed": z.strictObject({ error: failure, effect: effectKey }),
  "step.aborted": z.strictObject({ effect: effectKey }),
  "tool.call": z.strictObject({ callId: id, name: callName, args: json, reconcile }),
  /** `blobs`: digests of what the tool stored, so that a check of the root can tell that it is there. */
  "tool.settle": z.strictObject({ callId: id, outcome: toolOutcome, blobs: z.array(digest).max(TOOL_BLOBS).optional() }),
  "flush.done": z.strictObject({ output: z.null(), effect: effectKey }),
  "flush.failed": z.strictObject({ error: failure, effect: effectKey }),
  /** A backend that is asked to drain says that what it committed to hand over is broken. */
  "backend.failed": z.strictObject({ error: failure }),
  "effect.unknown": z.strictObject({ effect: effectKey, name: z.string() }),
  "interaction.answered": z.strictObject({ interactionId: id, answer }),
  "handoff.request": handoffIds,
  "handoff.commit": z.strictObject({ handoffId: id }),
  "handoff.cancel": z.strictObject({ handoffId: id }),
  "run.stop": z.strictObject({ by: stopper }),
  "engine.reopened": z.strictObject({ epoch: z.number() }),
};

export const facts = {
  "run.opened": z.strictObject({
    sessionId: id,
    turnId: id,
    runId: id,
    rootRunId: id,
    configuration,
    origin,
    source,
    stepsLeft: steps,
    depth: input.shape.depth,
  }),
  /** The text is the entry's own: `event.input.text` (input), `event.output.text` (output) or `event.answer.text` (answer). */
  "message.added": z.strictObject({ role: z.enum(["user", "assistant"]), from: z.enum(["input", "output", "answer"]) }),
  /** A permission was asked for and a person decided; the note is the entry's own: `event.answer.note`. */
  "permission.decided": z.strictObject({ interactionId: id, question: z.string(), allow: z.boolean() }),
  /** The outcome is the entry's own: `event.input.reconciled`, in the order of these facts. */
  "tool.reconciled": reconciled.omit({ outcome: true }),
  /** All that the copied turn stated is the entry's own: `event.input.copied.facts`. */
  "turn.copied": z.strictObject({ sessionId: id, turnId: id, runIds: z.array(id), facts: z.number().int().nonnegative() }),
  "composition.recorded": composition,
  /** The composition differs from the one that it had to agree with, in nothing that is refused. */
  "composition.drifted": z.strictObject({ drift: z.array(drift) }),
  "run.dispatched": z.strictObject({}),
  /** Name, arguments and outcome are the entry's own: `event.name`, `event.args`, `event.outcome`. */
  "tool.called": z.strictObject({ callId: id }),
  "tool.settled": z.strictObject({ callId: id, name: z.string() }),
  "tool.unknown": call,
  "run.waiting": interaction,
  "handoff.requested": handoffIds,
  "handoff.held": z.strictObject({ handoffId: id, remainingSteps: steps }),
  "handoff.committed": z.strictObject({ handoffId: id }),
  "handoff.cancelled": z.strictObject({ handoffId: id }),
  "run.sealed": seal,
  "run.ended": outcome,
};

export type Input = z.infer<typeof input>;
export type Context = z.infer<typeof context>;
export type Event = Typed<typeof events>;
export type Of<Type extends Event["type"]> = Extract<Event, { type: Type }>;

/** Why a run does not take a request now. */
function refusal({ value, context }: { value: unknown; context: Context }, event: Event): string | undefined {
  switch (event.type) {
    case "handoff.request":
      if (context.handoff) return "handoff_in_progress";
      if (context.depth >= LINEAGE_LIMIT) return "lineage_limit";
      return event.successorRunId === context.runId || event.successorRunId === context.rootRunId ? "successor_not_new" : "run_not_active";
    case "handoff.commit":
      if (value === "boundary" && context.handoff?.handoffId === event.handoffId) return "composition_not_durable";
      return "not_held";
    case "handoff.cancel":
      return "handoff_not_pending";
    case "backend.failed":
      return "run_not_active";
    case "tool.call":
      if (context.openCalls.length >= OPEN_CALLS) return "too_many_calls";
      return context.openCalls.some((open) => open.callId === event.callId) ? "call_repeated" : "run_stopping";
    case "tool.settle":
      return "call_unknown";
    case "interaction.answered":
      return "interaction_not_open";
    default:
      return undefined;
  }
}

/** The smaller of what the run has left after this step and what the backend reports; null is no limit. */
export function stepsLeft(before: number | null, reported: number | null): number | null {
  const own = before === null ? null : before - 1;
  if (own === null || reported === null) return own ?? reported;
  return Math.min(own, reported);
}

export function sealOf(context: Context): Seal | null {
  if (!context.handoff) return null;
  return {
    protocol: "holdfast.seal.v1",
    handoffId: context.handoff.handoffId,
    rootRunId: context.rootRunId,
    successorRunId: context.handoff.successorRunId,
    claimId: context.handoff.claimId,
    remainingSteps: context.stepsLeft,
    interaction: context.interaction,
  };
}

export function failed(code: string, message: string): Outcome {
  return { kind: "failed", error: { code, message }, drift: [] };
}

export function outcomeOf(context: Context): Outcome {
  return context.outcome ?? failed("run_not_active", "no outcome was recorded");
}

/** The composition that must not have drifted: the source's, or this run's own from before it outlived its process. */
export function binding(context: Context): Composition | null {
  return context.composition ?? context.expected;
}

/** Where what a backend declares differs from what it must agree with. */
export function driftOf(context: Context, { output }: Of<"prepare.done">): Drift[] {
  const expected = binding(context);
  return expected && output.composition ? driftBetween(expected, output.composition, output.driftPolicy) : [];
}

export const schemas = {
  input,
  context,
  events,
  facts,
  refusal,
  migrations,
  supervisor: ({ sessionId }: Input) => `session/${sessionId}`,
  effects: {
    prepare: { params: z.strictObject({}), done: "prepare.done", failed: "prepare.failed", delivery: "at_least_once", attempts: 1 },
    step: {
      params: z.strictObject({ step: z.number().int().positive(), maxSteps: steps }),
      done: "step.done",
      failed: "step.failed",
      aborted: "step.aborted",
      delivery: "at_most_once",
      timeoutMs: null,
      concurrency: 1024,
    },
    flush: {
      params: z.strictObject({}),
      done: "flush.done",
      failed: "flush.failed",
      delivery: "at_least_once",
      attempts: 1,
      timeoutMs: 10_000,
    },
  },
};
