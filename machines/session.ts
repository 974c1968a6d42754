/**
 * Session: a conversation, one turn at a time.
 *
 * It owns the question "may a turn begin?" and routes a stop to whoever decides about the turn: its run, or its handoff once the run
 * is sealed.
 */

import { assign, emit, setup } from "xstate";
import { z } from "zod";
import { engineActions } from "./action.ts";
import { configuration, head, id, interaction, origin, outcome, stopper, type Typed, text } from "./schema.ts";

const input = z.strictObject({ sessionId: id, name: z.string().max(256).nullable(), configuration });

const context = z.strictObject({
  sessionId: id,
  name: z.string().max(256).nullable(),
  configuration,
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
});

/** Steps that a turn may take; null where there is no limit. */
const maxSteps = z.number().int().positive().nullable();

const events = {
  "session.send": z.strictObject({ turnId: id, runId: id, text, origin, maxSteps }),
  "session.continue": z.strictObject({ turnId: id, runId: id, source: head, denied: z.boolean(), origin, maxSteps }),
  "session.archive": z.strictObject({}),
  "turn.stop": z.strictObject({ turnId: id, by: stopper }),
  "turn.waiting": z.strictObject({ runId: id, interaction }),
  "turn.running": z.strictObject({ runId: id }),
  "turn.sealed": z.strictObject({ runId: id, handoffId: id }),
  "turn.resumed": z.strictObject({ runId: id }),
  "turn.ended": z.strictObject({ runId: id, outcome }),
  "engine.quarantined": z.strictObject({ actor: z.string(), code: z.string() }),
  "engine.released": z.strictObject({ actor: z.string() }),
};

/** Version 1 did not remember where it was blocked: a sealed turn waited for its successor, any other had a run that was at work. */
const migrations = {
  "1": {
    to: "2",
    migrate: <Stored extends { readonly value: unknown; readonly context: any }>(stored: Stored): Stored => {
      const { turn, ...rest } = stored.context;
      const blockedFrom = stored.value !== "blocked" ? null : turn?.handoffId ? "paused" : "running";
      return { ...stored, context: { ...rest, turn: turn && { ...turn, blockedFrom } } };
    },
  },
};

const facts = {
  "turn.started": z.strictObject({ turnId: id, runId: id }),
  "turn.ended": z.strictObject({ turnId: id, runId: id, outcome }),
};

type Context = z.infer<typeof context>;
type Event = Typed<typeof events>;

/** Why a session does not take a request now. */
function refusal(snapshot: { value: unknown; context: Context }, event: { type: string; turnId?: string }): string | undefined {
  const turn = snapshot.context.turn;
  const blocked = snapshot.value === "blocked";
  switch (event.type) {
    case "session.send":
    case "session.archive":
      return blocked ? "session_blocked" : "session_busy";
    case "session.continue":
      if (blocked) return "session_blocked";
      return turn ? "session_busy" : "turn_superseded";
    case "turn.stop":
      if (blocked) return "session_blocked";
      return turn?.turnId === event.turnId && turn?.stopping ? "stop_in_progress" : "run_not_active";
    default:
      return undefined;
  }
}

type Begin = Extract<Event, { type: "session.send" | "session.continue" }>;

/** A new turn's root run. It owns its turn and, where it continues another run, that run's boundary. */
function rootRun({ context, event }: { context: Context; event: Begin }) {
  const continued = event.type === "session.continue" ? event.source : null;
  return {
    machine: "run",
    id: event.runId,
    keys: [`turn/${event.turnId}`, ...(continued ? [`boundary/${continued.runId}`] : [])],
    input: {
      sessionId: context.sessionId,
      turnId: event.turnId,
      runId: event.runId,
      rootRunId: event.runId,
      previousRunId: continued?.runId ?? context.lastRunId,
      configuration: context.configuration,
      origin: event.origin,
      source:
        event.type === "session.continue"
          ? { kind: "plain", head: event.source, denied: event.denied, runId: event.source.runId }
          : { kind: "fresh" },
      text: event.type === "session.send" ? event.text : null,
      stepsLeft: event.maxSteps,
      expected: null,
      interaction: null,
      stopBeforeDispatch: false,
    },
  };
}

const stopRun = ({ context, event }: { context: Context; event: Extract<Event, { type: "turn.stop" }> }) => ({
  to: `run/${context.turn?.runId}`,
  event: { type: "run.stop", by: event.by },
});

const begin = { target: "running", actions: ["recordTurn", "turnStarted", { type: "createActor", params: rootRun }] } as const;
const stopByRun = { guard: "turnIsCurrent", actions: ["recordStop", { type: "deliver", params: stopRun }] } as const;
const blockFrom = <From extends "running" | "waiting" | "paused">(from: From) =>
  ({ guard: "deciderConcerned", target: "blocked", actions: { type: "recordBlock", params: { from } } }) as const;
const ended = { target: "idle", actions: ["turnEnded", "recordEnd"] } as const;

/** A conversation, one turn at a time, as a machine. */
export const session = setup({
  schemas: { input, context, events, facts, refusal, migrations },
  types: { input: {} as z.infer<typeof input>, context: {} as Context, events: {} as Event, emitted: {} as Typed<typeof facts> },
  actions: {
    ...engineActions,
    recordTurn: assign(({ event }) => {
      const { turnId, runId } = event as Begin;
      return { turn: { turnId, runId, handoffId: null, stopping: false, blockedFrom: null } };
    }),
    turnStarted: emit(({ context }) => ({
      type: "turn.started" as const,
      turnId: context.turn?.turnId ?? "",
      runId: context.turn?.runId ?? "",
    })),
    recordStop: assign(({ context }) => ({ turn: context.turn && { ...context.turn, stopping: true } })),
    recordSeal: assign(({ context, event }) => ({
      turn: context.turn && { ...context.turn, handoffId: (event as Extract<Event, { type: "turn.sealed" }>).handoffId },
    })),
    recordSuccessor: assign(({ context, event }) => ({
      turn: context.turn && { ...context.turn, runId: (event as Extract<Event, { type: "turn.resumed" }>).runId, handoffId: null },
    })),
    recordBlock: assign(({ context }, { from }: { from: "running" | "waiting" | "paused" }) => ({
      turn: context.turn && { ...context.turn, blockedFrom: from },
    })),
    recordReturn: assign(({ context }) => ({ turn: context.turn && { ...context.turn, blockedFrom: null } })),
    turnEnded: emit(({ context, event }) => {
      const { runId, outcome } = event as Extract<Event, { type: "turn.ended" }>;
      return { type: "turn.ended" as const, turnId: context.turn?.turnId ?? "", runId, outcome };
    }),
    recordEnd: assign(({ context, event }) => ({
      turn: null,
      turns: context.turns + 1,
      lastRunId: (event as Extract<Event, { type: "turn.ended" }>).runId,
    })),
  },
  guards: {
    // Else the turns in between would be missing from the transcript of all that follow.
    continuesTheLastTurn: ({ context, event }) =>
      context.lastRunId === (event as Extract<Event, { type: "session.continue" }>).source.runId,
    deciderConcerned: ({ context, event }) => {
      const { actor } = event as Extract<Event, { type: "engine.quarantined" | "engine.released" }>;
      return actor === (context.turn?.handoffId ? `handoff/${context.turn.handoffId}` : `run/${context.turn?.runId}`);
    },
    wasWaiting: ({ context }) => context.turn?.blockedFrom === "waiting",
    wasPaused: ({ context }) => context.turn?.blockedFrom === "paused",
    turnIsCurrent: ({ context, event }) => context.turn?.turnId === (event as { turnId?: string }).turnId && !context.turn?.stopping,
  },
}).createMachine({
  id: "session",
  version: "2",
  description: "A conversation, one turn at a time.",
  context: ({ input }) => ({ ...pick(input), turn: null, lastRunId: null, turns: 0 }),
  initial: "idle",
  states: {
    idle: {
      description: "No turn is under way; every earlier one has its outcome. A new one may begin.",
      on: {
        "session.send": begin,
        "session.continue": { ...begin, guard: "continuesTheLastTurn" },
        "session.archive": "archived",
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
        "turn.stop": {
          guard: "turnIsCurrent",
          actions: [
            "recordStop",
            {
              type: "deliver",
              params: ({ context, event }) => ({ to: `handoff/${context.turn?.handoffId}`, event: { type: "handoff.stop", by: event.by } }),
            },
          ],
        },
        "turn.resumed": { target: "running", actions: "recordSuccessor" },
        "engine.quarantined": blockFrom("paused"),
      },
    },
    blocked: {
      description: "Whoever decides about the turn is quarantined, so nobody does. No other turn may begin; the session can be closed.",
      on: {
        "session.archive": "archived",
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

function pick({ sessionId, name, configuration }: z.infer<typeof input>) {
  return { sessionId, name, configuration };
}
