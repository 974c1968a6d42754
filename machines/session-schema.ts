/** What a session is told, keeps and states: the payloads of `session.ts`, and the reasons for which it declines. */

import { z } from "zod";
import { doubts, evidence } from "./evidence.ts";
import { planId, proposal } from "./proposal.ts";
import { copiedFact, input as runInput } from "./run-schema.ts";
import { configuration, head, id, interaction, LINEAGE_LIMIT, origin, outcome, runId, stopper, type Typed, text } from "./schema.ts";

/** A finished turn of another session, as this one takes it over: with ids of its own. */
const copiedTurn = z.strictObject({
  turnId: id,
  runId,
  /** Where it comes from: its turn, and the runs that worked on it, in order. */
  from: z.strictObject({ turnId: id, runIds: z.array(id).min(1).max(LINEAGE_LIMIT) }),
  origin,
  facts: z.array(copiedFact),
  outcome,
});

/** Turns that a copy may take over. */
export const COPIED_TURNS = 1000;

export const input = z.strictObject({
  sessionId: id,
  name: z.string().max(256).nullable(),
  configuration,
  /** In a copy: the session that it was made from, and its turns in their order. */
  copied: z.strictObject({ sessionId: id, turns: z.array(copiedTurn).min(1).max(COPIED_TURNS) }).nullable(),
});

export const context = z.strictObject({
  sessionId: id,
  name: z.string().max(256).nullable(),
  configuration,
  /** The session that this one was copied from. */
  copiedFrom: id.nullable(),
  /** The turn under way: its run, and its handoff while it is sealed. */
  turn: z
    .strictObject({
      turnId: id,
      runId: id,
      handoffId: id.nullable(),
      stopping: z.boolean(),
      /** Where a blocked session goes back to when its decider is released. */
      blockedFrom: z.enum(["running", "waiting", "paused"]).nullable(),
    })
    .nullable(),
  /** The tip of the last turn: the next one's transcript goes on from there. */
  lastRunId: id.nullable(),
  turns: z.number().int().nonnegative(),
  /** The work plan that is not over. */
  planId: id.nullable(),
});

/** Steps that a turn may take; null where there is no limit. */
const maxSteps = z.number().int().positive().nullable();
const { depth, reconciled } = runInput.shape;

export const events = {
  "session.send": z.strictObject({ turnId: id, runId, text, origin, maxSteps }),
  "session.continue": z.strictObject({ turnId: id, runId, source: head, evidence, origin, maxSteps, depth, reconciled }),
  /** For the turns to come. */
  "session.configure": z.strictObject({ configuration }),
  "session.plan": z.strictObject({ planId, proposal }),
  "session.archive": z.strictObject({}),
  "plan.ended": z.strictObject({ planId: id }),
  "turn.stop": z.strictObject({ turnId: id, by: stopper }),
  "turn.waiting": z.strictObject({ runId: id, interaction }),
  "turn.running": z.strictObject({ runId: id }),
  "turn.sealed": z.strictObject({ runId: id, handoffId: id }),
  "turn.resumed": z.strictObject({ runId: id }),
  "turn.ended": z.strictObject({ runId: id, outcome }),
  "engine.quarantined": z.strictObject({ actor: z.string(), code: z.string() }),
  "engine.released": z.strictObject({ actor: z.string() }),
};

export const facts = {
  "session.copied": z.strictObject({ sessionId: id, turns: z.number().int().positive() }),
  "session.configured": configuration,
  "turn.started": z.strictObject({ turnId: id, runId: id }),
  "turn.ended": z.strictObject({ turnId: id, runId: id, outcome }),
};

export type Input = z.infer<typeof input>;
export type Context = z.infer<typeof context>;
export type Event = Typed<typeof events>;
export type Of<Type extends Event["type"]> = Extract<Event, { type: Type }>;

/** Why a session does not take a request now. */
export function refusal({ value, context }: { value: unknown; context: Context }, event: Event): string | undefined {
  const { turn } = context;
  const blocked = value === "blocked";
  switch (event.type) {
    case "session.send":
    case "session.archive":
    case "session.configure":
      return blocked ? "session_blocked" : "session_busy";
    case "session.plan":
      return "plan_exists";
    case "session.continue":
      if (blocked) return "session_blocked";
      if (turn) return "session_busy";
      return event.source.runId === context.lastRunId ? doubts(event.evidence, "plain")[0] : "turn_superseded";
    case "turn.stop":
      if (blocked) return "session_blocked";
      return turn?.turnId === event.turnId && turn?.stopping ? "stop_in_progress" : "run_not_active";
    default:
      return undefined;
  }
}

/**
 * Version 1 did not remember where it was blocked: a sealed turn waited for its successor, any other had a run that was at work.
 * Version 2 had neither copies nor work plans.
 */
export const migrations = {
  "1": {
    to: "2",
    migrate: <Stored extends { readonly value: unknown; readonly context: any }>(stored: Stored): Stored => {
      const { turn, ...rest } = stored.context;
      const blockedFrom = stored.value !== "blocked" ? null : turn?.handoffId ? "paused" : "running";
      return { ...stored, context: { ...rest, turn: turn && { ...turn, blockedFrom } } };
    },
  },
  "2": {
    to: "3",
    migrate: <Stored extends { readonly context: any }>(stored: Stored): Stored => ({
      ...stored,
      context: { ...stored.context, copiedFrom: null, planId: null },
    }),
  },
};

export const schemas = { input, context, events, facts, refusal, migrations };
