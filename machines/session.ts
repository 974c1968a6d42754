/**
 * Session: a conversation, one turn at a time.
 *
 * It owns the question "may a turn begin?" and routes a stop to whoever decides about the turn: its run, or its handoff once the run
 * is sealed. Beside it: `session-schema.ts`, its payloads; `session-turn.ts`, the runs that it creates.
 */

import { and, assign, setup } from "xstate";
import { engineActions } from "./action.ts";
import { doubts } from "./evidence.ts";
import type { Typed } from "./schema.ts";
import { type Context, type Event, type facts, type Input, type Of, schemas } from "./session-schema.ts";
import { copiedRuns, rootRun } from "./session-turn.ts";

const base = setup({
  schemas,
  types: { input: {} as Input, context: {} as Context, events: {} as Event, emitted: {} as Typed<typeof facts> },
  actions: {
    ...engineActions,
    recordBlock: assign(({ context }: { context: Context }, { from }: { from: "running" | "waiting" | "paused" }) => ({
      turn: context.turn && { ...context.turn, blockedFrom: from },
    })),
  },
  guards: {
    // Else the turns in between would be missing from the transcript of all that follow.
    continuesTheLastTurn: ({ context, event }) => context.lastRunId === (event as Of<"session.continue">).source.runId,
    nothingHasChangedAround: ({ event }) => doubts((event as Of<"session.continue">).evidence, "plain").length === 0,
    hasNoPlan: ({ context }) => context.planId === null,
    planIsOurs: ({ context, event }) => context.planId === (event as Of<"plan.ended">).planId,
    deciderConcerned: ({ context, event }) => {
      const { actor } = event as Of<"engine.quarantined">;
      return actor === (context.turn?.handoffId ? `handoff/${context.turn.handoffId}` : `run/${context.turn?.runId}`);
    },
    wasWaiting: ({ context }) => context.turn?.blockedFrom === "waiting",
    wasPaused: ({ context }) => context.turn?.blockedFrom === "paused",
    turnIsCurrent: ({ context, event }) => context.turn?.turnId === (event as { turnId?: string }).turnId && !context.turn?.stopping,
  },
});

/** Tells the work plan that is not over; nobody where there is none. */
const tellPlan = <Told>(event: (given: { context: Context; event: any }) => Told) =>
  ({
    type: "deliver",
    params: (given: { context: Context; event: any }) => ({
      to: given.context.planId === null ? null : `work-plan/${given.context.planId}`,
      event: event(given),
    }),
  }) as const;

const stopRun = ({ context, event }: { context: Context; event: Of<"turn.stop"> }) => ({
  to: `run/${context.turn?.runId}`,
  event: { type: "run.stop", by: event.by },
});
const stopHandoff = ({ context, event }: { context: Context; event: Of<"turn.stop"> }) => ({
  to: `handoff/${context.turn?.handoffId}`,
  event: { type: "handoff.stop", by: event.by },
});
const planOf = ({ context, event }: { context: Context; event: Of<"session.plan"> }) => ({
  machine: "work-plan",
  id: event.planId,
  input: { planId: event.planId, sessionId: context.sessionId, proposal: event.proposal, turnUnderWay: context.turn !== null },
});

const begin = {
  target: "running",
  actions: [
    "recordTurn",
    "turnStarted",
    tellPlan(({ event }) => ({ type: "turn.started", runId: event.runId })),
    { type: "createActor", params: rootRun },
  ],
} as const;
const stopByRun = { guard: "turnIsCurrent", actions: ["recordStop", { type: "deliver", params: stopRun }] } as const;
const blockFrom = <From extends "running" | "waiting" | "paused">(from: From) =>
  ({ guard: "deciderConcerned", target: "blocked", actions: { type: "recordBlock", params: { from } } }) as const;
const ended = {
  target: "idle",
  actions: ["turnEnded", "recordEnd", tellPlan(({ event: { runId, outcome } }) => ({ type: "turn.ended", runId, outcome }))],
} as const;
const archive = { target: "archived", actions: tellPlan(() => ({ type: "session.archived" })) } as const;
const configure = { actions: ["recordConfiguration", "configured"] } as const;

/** A conversation, one turn at a time, as a machine. */
export const session = base
  .extend({
    actions: {
      copyTurns: base.enqueueActions(({ context, event, enqueue }) => {
        const { copied } = (event as unknown as { input: Input }).input;
        if (!copied) return;
        enqueue.emit({ type: "session.copied", sessionId: copied.sessionId, turns: copied.turns.length });
        for (const params of copiedRuns(context, copied)) enqueue({ type: "createActor", params });
      }),
      recordTurn: base.assign(({ event }) => {
        const { turnId, runId } = event as Of<"session.send">;
        return { turn: { turnId, runId, handoffId: null, stopping: false, blockedFrom: null } };
      }),
      turnStarted: base.emit(({ context }) => ({
        type: "turn.started" as const,
        turnId: context.turn?.turnId ?? "",
        runId: context.turn?.runId ?? "",
      })),
      recordConfiguration: base.assign({ configuration: ({ event }) => (event as Of<"session.configure">).configuration }),
      configured: base.emit(({ context }) => ({ type: "session.configured" as const, ...context.configuration })),
      recordPlan: base.assign({ planId: ({ event }) => (event as Of<"session.plan">).planId }),
      forgetPlan: base.assign({ planId: null }),
      recordStop: base.assign(({ context }) => ({ turn: context.turn && { ...context.turn, stopping: true } })),
      recordSeal: base.assign(({ context, event }) => ({
        turn: context.turn && { ...context.turn, handoffId: (event as Of<"turn.sealed">).handoffId },
      })),
      recordSuccessor: base.assign(({ context, event }) => ({
        turn: context.turn && { ...context.turn, runId: (event as Of<"turn.resumed">).runId, handoffId: null },
      })),
      recordReturn: base.assign(({ context }) => ({ turn: context.turn && { ...context.turn, blockedFrom: null } })),
      turnEnded: base.emit(({ context, event }) => {
        const { runId, outcome } = event as Of<"turn.ended">;
        return { type: "turn.ended" as const, turnId: context.turn?.turnId ?? "", runId, outcome };
      }),
      recordEnd: base.assign(({ context, event }) => ({
        turn: null,
        turns: context.turns + 1,
        lastRunId: (event as Of<"turn.ended">).runId,
      })),
    },
  })
  .createMachine({
    id: "session",
    version: "3",
    description: "A conversation, one turn at a time.",
    context: ({ input: { sessionId, name, configuration, copied } }) => ({
      ...{ sessionId, name, configuration, turn: null, planId: null },
      copiedFrom: copied?.sessionId ?? null,
      lastRunId: copied?.turns.at(-1)?.runId ?? null,
      turns: copied?.turns.length ?? 0,
    }),
    entry: "copyTurns",
    on: {
      "session.plan": { guard: "hasNoPlan", actions: ["recordPlan", { type: "createActor", params: planOf }] },
      "plan.ended": { guard: "planIsOurs", actions: "forgetPlan" },
    },
    initial: "idle",
    states: {
      idle: {
        description: "No turn is under way; every earlier one has its outcome. A new one may begin.",
        on: {
          "session.send": begin,
          "session.continue": { ...begin, guard: and(["continuesTheLastTurn", "nothingHasChangedAround"]) },
          "session.configure": configure,
          "session.archive": archive,
        },
      },
      running: {
        description: "The turn's current run is alive and decides about itself.",
        on: {
          "turn.stop": stopByRun,
          "turn.waiting": "waiting",
          "turn.sealed": { target: "paused", actions: "recordSeal" },
          "turn.ended": ended,
          "engine.quarantined": blockFrom("running"),
        },
      },
      waiting: {
        description: "The turn's current run waits for a person. Nothing is in flight.",
        on: {
          "turn.stop": stopByRun,
          "turn.running": "running",
          "turn.sealed": { target: "paused", actions: "recordSeal" },
          "turn.ended": ended,
          "engine.quarantined": blockFrom("waiting"),
        },
      },
      paused: {
        description: "The turn is sealed and waits for its only successor; its handoff decides.",
        on: {
          "turn.stop": { guard: "turnIsCurrent", actions: ["recordStop", { type: "deliver", params: stopHandoff }] },
          "turn.resumed": { target: "running", actions: "recordSuccessor" },
          // Whoever resumes is told that the session is not what its turn was begun with.
          "session.configure": configure,
          "engine.quarantined": blockFrom("paused"),
        },
      },
      blocked: {
        description: "Whoever decides about the turn is quarantined, so nobody does. No other turn may begin; the session can be closed.",
        on: {
          "session.archive": archive,
          "engine.released": { guard: "deciderConcerned", target: "returning" },
        },
      },
      returning: {
        description: "The decider is back: the session is where it was when it was blocked.",
        always: [
          { guard: "wasWaiting", target: "waiting", actions: "recordReturn" },
          { guard: "wasPaused", target: "paused", actions: "recordReturn" },
          { target: "running", actions: "recordReturn" },
        ],
      },
      archived: { type: "final", description: "The conversation is closed; it can be read and never continued." },
    },
  });
