/** What a work plan is told, keeps and states: the payloads of `work-plan.ts`, its rules for steps, and why it declines. */

import { z } from "zod";
import { planId, proposal, STEP_LIMIT, stepId } from "./proposal.ts";
import { id, outcome, seq, type Typed, unchanged } from "./schema.ts";

export const input = z.strictObject({
  planId,
  sessionId: id,
  proposal,
  /** Whether a turn of the session is under way. */
  turnUnderWay: z.boolean(),
});

const revision = z.number().int().positive();

/** One step as it stands. What is `completed` or `skipped` stays so. */
const step = z.strictObject({ id: stepId, status: z.enum(["pending", "in_progress", "completed", "skipped"]) });
const steps = z.array(step).min(1).max(STEP_LIMIT);

/** Why an execution is interrupted: a word of the machine's own, or what was given with the request. */
const reason = z.string().min(1).max(200);

/** Texts stay in the journal: `seq` is the entry that holds the proposal. */
const proposed = { revision, seq };

export const context = z.strictObject({
  planId,
  sessionId: id,
  /** The highest revision. */
  revision,
  /** What awaits approval. */
  pending: z.strictObject({ ...proposed, stepIds: z.array(stepId).min(1).max(STEP_LIMIT) }).nullable(),
  /** The execution that was begun last; its id is `<plan>.<revision>`. */
  execution: z
    .strictObject({
      executionId: id,
      ...proposed,
      steps,
      /** Why it is interrupted; null while it is not. */
      interruption: reason.nullable(),
      /** Whether a turn has ended since the execution was begun or resumed. */
      turnEnded: z.boolean(),
    })
    .nullable(),
  turnUnderWay: z.boolean(),
});

export const events = {
  "plan.propose": z.strictObject({ proposal }),
  "plan.approve": z.strictObject({ expectedRevision: revision }),
  /** Each step of the execution, once. */
  "plan.update": z.strictObject({ executionId: id, steps }),
  "plan.interrupt": z.strictObject({ reason }),
  "plan.resume": z.strictObject({ executionId: id }),
  "plan.cancel": z.strictObject({}),
  /** Asked of each plan by a recovery. */
  "plan.recover": z.strictObject({}),
  "turn.started": z.strictObject({ runId: id }),
  "turn.ended": z.strictObject({ runId: id, outcome }),
  "session.archived": z.strictObject({}),
};

export const facts = {
  /** The proposal is the entry's own: `event.proposal`, in the first entry `event.input.proposal`. `stale`: the revision that it stands in for. */
  "plan.proposed": z.strictObject({ revision, stale: revision.nullable() }),
  /** `replaced`: the interrupted execution that is cancelled by it. */
  "plan.approved": z.strictObject({ revision, executionId: id, replaced: id.nullable() }),
  /** The steps are the entry's own: `event.steps`. */
  "plan.updated": z.strictObject({ executionId: id, settled: z.number().int().nonnegative(), of: z.number().int().positive() }),
  /** `runId`: the run that ended, where that was the reason. */
  "plan.interrupted": z.strictObject({ executionId: id, reason, runId: id.nullable() }),
  /** `stale`: the revision that awaited approval in its place. */
  "plan.resumed": z.strictObject({ executionId: id, stale: revision.nullable() }),
  "plan.ended": z.strictObject({ as: z.enum(["completed", "cancelled"]), executionId: id.nullable(), archived: z.boolean() }),
};

export type Input = z.infer<typeof input>;
export type Context = z.infer<typeof context>;
export type Event = Typed<typeof events>;
export type Of<Type extends Event["type"]> = Extract<Event, { type: Type }>;
/** A step's id and how it stands. */
export type PlanStepStatus = z.infer<typeof step>;

/** True of a step that cannot be reopened. */
export function isStepSettled({ status }: PlanStepStatus): boolean {
  return status === "completed" || status === "skipped";
}

/** Every step once, none of the settled ones otherwise, and one at most at work. */
export function follow(now: readonly PlanStepStatus[], next: readonly PlanStepStatus[]): boolean {
  const given = new Map(next.map(({ id, status }) => [id, status]));
  if (next.length !== now.length) return false;
  if (next.filter(({ status }) => status === "in_progress").length > 1) return false;
  return now.every((step) => given.has(step.id) && (!isStepSettled(step) || given.get(step.id) === step.status));
}

/** Why a work plan does not take a request now. */
export function refusal({ context }: { value: unknown; context: Context }, event: Event): string | undefined {
  const { pending, execution, revision } = context;
  const isActive = execution !== null && execution.interruption === null;
  switch (event.type) {
    case "plan.propose":
      return "plan_active";
    case "plan.approve":
      return event.expectedRevision === revision && pending === null ? "plan_not_pending" : "plan_revision_changed";
    case "plan.update":
      return isActive && event.executionId === execution.executionId ? "plan_steps_invalid" : "plan_execution_stale";
    case "plan.resume":
      return isActive && event.executionId === execution.executionId ? "plan_active" : "plan_execution_stale";
    case "plan.interrupt":
      return "plan_execution_stale";
    default:
      return undefined;
  }
}

/** Version 1 said twice what it does when a turn ends, and where it goes with a proposal. */
const migrations = { "1": { to: "2", migrate: unchanged } };

export const schemas = { input, context, events, facts, refusal, migrations };
