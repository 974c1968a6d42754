/** What a run is told, keeps, states and asks for: the payloads of `run.ts`, and the reasons for which it declines. */

import { z } from "zod";
import {
  type Composition,
  composition,
  configuration,
  digest,
  failure,
  handoffIds,
  id,
  interaction,
  type Outcome,
  origin,
  outcome,
  type Seal,
  seal,
  source,
  steps,
  stopper,
  type Typed,
  text,
} from "./schema.ts";

/** Tool calls that may be open at once. */
export const OPEN_CALLS = 256;

/** Blobs that one tool call may store. */
export const TOOL_BLOBS = 64;

export const input = z.strictObject({
  sessionId: id,
  turnId: id,
  runId: id,
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
  stopBeforeDispatch: z.boolean(),
});

const call = z.strictObject({ callId: id, name: z.string().min(1).max(128) });

export const context = z.strictObject({
  ...input.omit({ text: true }).shape,
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

const json = z.json();
const toolOutcome = z.discriminatedUnion("ok", [
  z.strictObject({ ok: z.literal(true), result: json }),
  z.strictObject({ ok: z.literal(false), error: failure }),
]);
const reconcile = z.enum(["retry", "query", "ask"]).nullable();
const effectKey = z.string();

const events = {
  "prepare.done": z.strictObject({ output: composition.nullable(), effect: effectKey }),
  "prepare.failed": z.strictObject({ error: failure, effect: effectKey }),
  "step.done": z.strictObject({ output: report, effect: effectKey }),
  "step.failed": z.strictObject({ error: failure, effect: effectKey }),
  "step.aborted": z.strictObject({ effect: effectKey }),
  "tool.call": z.strictObject({ callId: id, name: z.string().min(1).max(128), args: json, reconcile }),
  /** `blobs`: digests of what the tool stored, so that a check of the root can tell that it is there. */
  "tool.settle": z.strictObject({ callId: id, outcome: toolOutcome, blobs: z.array(digest).max(TOOL_BLOBS).optional() }),
  "flush.done": z.strictObject({ output: z.null(), effect: effectKey }),
  "flush.failed": z.strictObject({ error: failure, effect: effectKey }),
  "effect.unknown": z.strictObject({ effect: effectKey, name: z.string() }),
  "interaction.answered": z.strictObject({ interactionId: id, answer: text }),
  "handoff.request": handoffIds,
  "handoff.commit": z.strictObject({ handoffId: id }),
  "handoff.cancel": z.strictObject({ handoffId: id }),
  "run.stop": z.strictObject({ by: stopper }),
  "engine.reopened": z.strictObject({ epoch: z.number() }),
};

export const facts = {
  "run.opened": z.strictObject({ sessionId: id, turnId: id, runId: id, rootRunId: id, configuration, origin, source, stepsLeft: steps }),
  /** The text is the entry's own: `event.input.text` (input), `event.output.text` (output) or `event.answer` (answer). */
  "message.added": z.strictObject({ role: z.enum(["user", "assistant"]), from: z.enum(["input", "output", "answer"]) }),
  "composition.recorded": composition,
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
      return event.successorRunId === context.runId || event.successorRunId === context.rootRunId ? "successor_not_new" : "run_not_active";
    case "handoff.commit":
      if (value === "boundary" && context.handoff?.handoffId === event.handoffId) return "composition_not_durable";
      return "not_held";
    case "handoff.cancel":
      return "handoff_not_pending";
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

export const schemas = {
  input,
  context,
  events,
  facts,
  refusal,
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
