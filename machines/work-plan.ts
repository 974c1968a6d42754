/**
 * Work plan: a list of steps that a person approves before it is carried out.
 *
 * It owns the questions "which revision was approved?" and "is it being carried out?": an approval begins exactly one execution, and an
 * execution that lost its turn waits for a person. Beside it: `proposal.ts`, what is proposed; `work-plan-schema.ts`, its payloads.
 */

import { and, emit, setup } from "xstate";
import { engineActions } from "./action.ts";
import type { Typed } from "./schema.ts";
import { seqOf } from "./stamp.ts";
import { type Context, type Event, type facts, follow, type Input, isStepSettled, type Of, schemas } from "./work-plan-schema.ts";

const base = setup({
  schemas,
  types: { input: {} as Input, context: {} as Context, events: {} as Event, emitted: {} as Typed<typeof facts> },
  actions: {
    ...engineActions,
    ended: emit(({ context, event }: { context: Context; event: Event }, params: { as: "completed" | "cancelled" }) => ({
      type: "plan.ended" as const,
      as: params.as,
      executionId: context.execution?.executionId ?? null,
      archived: event.type === "session.archived",
    })),
  },
  guards: {
    revisionIsPending: ({ context, event }) => context.pending?.revision === (event as Of<"plan.approve">).expectedRevision,
    executionIsMeant: ({ context, event }) => context.execution?.executionId === (event as Of<"plan.update" | "plan.resume">).executionId,
    stepsFollow: ({ context, event }) => follow(context.execution?.steps ?? [], (event as Of<"plan.update">).steps),
    everyStepIsSettled: ({ event }) => (event as Of<"plan.update">).steps.every(isStepSettled),
    turnWasCutShort: ({ event }) => (event as Of<"turn.ended">).outcome.kind !== "completed",
    lastTurnHasEnded: ({ context }) => !context.turnUnderWay && context.execution?.turnEnded === true,
  },
});

/** Tells the session that the plan is over. An archived one is not told: it takes nothing more. */
const tellSession = {
  type: "deliver",
  params: ({ context }: { context: Context }) => ({
    to: `session/${context.sessionId}`,
    event: { type: "plan.ended", planId: context.planId },
  }),
} as const;

const propose = { "plan.propose": { actions: ["proposed", "recordProposal"] } } as const;
const approve = {
  "plan.approve": { guard: "revisionIsPending", target: "active", actions: ["approved", "recordApproval"] },
} as const;
const resume = { "plan.resume": { guard: "executionIsMeant", target: "active", actions: ["resumed", "recordResumption"] } } as const;
const interrupt = { target: "interrupted", actions: ["recordInterruption", "interrupted"] } as const;

/** A work plan, as a machine. */
export const workPlan = base
  .extend({
    actions: {
      recordProposal: base.assign(({ context, event }) => {
        const revision = context.revision + 1;
        return { revision, pending: pendingOf(revision, (event as Of<"plan.propose">).proposal, seqOf(event)) };
      }),
      recordApproval: base.assign(({ context: { planId, pending } }) => ({
        pending: null,
        execution: pending && {
          executionId: `${planId}.${pending.revision}`,
          revision: pending.revision,
          seq: pending.seq,
          steps: pending.stepIds.map((id) => ({ id, status: "pending" as const })),
          interruption: null,
          turnEnded: false,
        },
      })),
      recordSteps: base.assign(({ context, event }) => ({
        execution: context.execution && {
          ...context.execution,
          steps: inOrder(context.execution.steps, (event as Of<"plan.update">).steps),
        },
      })),
      recordInterruption: base.assign(({ context, event }) => ({
        execution: context.execution && { ...context.execution, interruption: reasonOf(event) },
      })),
      recordResumption: base.assign(({ context }) => ({
        pending: null,
        execution: context.execution && { ...context.execution, interruption: null, turnEnded: false },
      })),
      recordTurnStart: base.assign({ turnUnderWay: true }),
      recordTurnEnd: base.assign(({ context }) => ({
        turnUnderWay: false,
        execution: context.execution && { ...context.execution, turnEnded: true },
      })),
      opened: base.emit({ type: "plan.proposed", revision: 1, stale: null }),
      proposed: base.emit(({ context: { revision, pending } }) => ({
        type: "plan.proposed" as const,
        revision: revision + 1,
        stale: pending?.revision ?? null,
      })),
      approved: base.emit(({ context: { planId, pending, execution } }) => ({
        type: "plan.approved" as const,
        revision: pending?.revision ?? 0,
        executionId: `${planId}.${pending?.revision}`,
        replaced: execution?.executionId ?? null,
      })),
      updated: base.emit(({ context: { execution } }) => ({
        type: "plan.updated" as const,
        executionId: execution?.executionId ?? "",
        settled: execution?.steps.filter(isStepSettled).length ?? 0,
        of: execution?.steps.length ?? 0,
      })),
      interrupted: base.emit(({ context: { execution }, event }) => ({
        type: "plan.interrupted" as const,
        executionId: execution?.executionId ?? "",
        reason: execution?.interruption ?? "",
        runId: event.type === "turn.ended" ? event.runId : null,
      })),
      resumed: base.emit(({ context: { execution, pending } }) => ({
        type: "plan.resumed" as const,
        executionId: execution?.executionId ?? "",
        stale: pending?.revision ?? null,
      })),
    },
  })
  .createMachine({
    id: "work-plan",
    version: "2",
    description: "A list of steps that a person approves before it is carried out.",
    context: ({ input }) => ({
      planId: input.planId,
      sessionId: input.sessionId,
      revision: 1,
      pending: pendingOf(1, input.proposal, 1),
      execution: null,
      turnUnderWay: input.turnUnderWay,
    }),
    entry: "opened",
    on: {
      "plan.cancel": { target: ".cancelled", actions: tellSession },
      "session.archived": ".cancelled",
      // Told whatever the plan is at: an approval or a recovery asks for it later.
      "turn.started": { actions: "recordTurnStart" },
      "turn.ended": { actions: "recordTurnEnd" },
    },
    initial: "proposed",
    states: {
      proposed: {
        tags: "pending",
        description: "A revision awaits approval, and nothing was approved before. Nothing is carried out.",
        on: { ...propose, ...approve },
      },
      active: {
        tags: "active",
        description: "One revision is approved and its execution is carried out; nothing awaits approval.",
        on: {
          "plan.update": [
            {
              guard: and(["executionIsMeant", "stepsFollow", "everyStepIsSettled"]),
              target: "completed",
              actions: ["recordSteps", "updated"],
            },
            { guard: and(["executionIsMeant", "stepsFollow"]), actions: ["recordSteps", "updated"] },
          ],
          "plan.interrupt": interrupt,
          "plan.recover": { ...interrupt, guard: "lastTurnHasEnded" },
          "turn.ended": {
            guard: "turnWasCutShort",
            target: "interrupted",
            actions: ["recordTurnEnd", "recordInterruption", "interrupted"],
          },
        },
      },
      interrupted: {
        tags: "interrupted",
        description:
          "The execution is interrupted with its steps as they were, and nobody carries it out until a person says how to go on.",
        on: { "plan.propose": { ...propose["plan.propose"], target: "revised" }, ...resume },
      },
      revised: {
        tags: ["interrupted", "pending"],
        description: "The execution is interrupted, and a revision awaits approval in its place.",
        on: { ...propose, ...approve, ...resume },
      },
      completed: {
        type: "final",
        tags: "completed",
        description: "Every step of the execution was completed or skipped.",
        entry: [{ type: "ended", params: { as: "completed" } }, tellSession],
      },
      cancelled: {
        type: "final",
        tags: "cancelled",
        description: "The plan was given up, or its session was archived, before all was done.",
        entry: { type: "ended", params: { as: "cancelled" } },
      },
    },
  });

function pendingOf(revision: number, { steps }: Input["proposal"], seq: number): NonNullable<Context["pending"]> {
  return { revision, seq, stepIds: steps.map(({ id }) => id) };
}

/** Steps with what was said of each, in the order of the plan. */
function inOrder<Step extends { readonly id: string }>(now: readonly Step[], said: readonly Step[]): Step[] {
  return now.map((step) => said.find(({ id }) => id === step.id) ?? step);
}

/** Why an execution is interrupted by this event. */
function reasonOf(event: Event): string {
  if (event.type === "plan.interrupt") return event.reason;
  return event.type === "turn.ended" ? `turn_${event.outcome.kind}` : "recovery";
}
