/** Moves of the run: transitions and lists of actions that several states of `run.ts` have in common. */

import { type Context, type Of, outcomeOf } from "./run-schema.ts";

export const toSession = (context: Context) => `session/${context.sessionId}`;
/** The handoff that moves this run, where there is one. */
export const toHandoff = (context: Context) => (context.handoff ? `handoff/${context.handoff.handoffId}` : null);
/** The handoff that created this run, until it knows of the dispatch. */
export const toCreator = (context: Context) =>
  context.source.kind === "handoff" && context.stepsTaken === 0 ? `handoff/${context.source.handoffId}` : null;

/** The interaction that the run's turn has open, where there is one. */
const toInteraction = (context: Context) => (context.interaction ? `interaction/${context.interaction.id}` : null);

/** The run rests in `waiting`: now, and not before, an answer can reach it. */
export const listen = {
  type: "deliver",
  params: ({ context }: { context: Context }) => ({
    to: toInteraction(context),
    event: { type: "interaction.listen", runId: context.runId },
  }),
} as const;

/** Held while it waits: an answer that comes now is kept for whichever run goes on. */
export const holdWaiting = [
  "holdFromWaiting",
  {
    type: "deliver",
    params: ({ context }: { context: Context }) => ({ to: toInteraction(context), event: { type: "interaction.hold" } }),
  },
] as const;

/** Nobody will wait for the answer any more. */
const closeInteraction = {
  type: "deliver",
  params: ({ context }: { context: Context }) => ({ to: toInteraction(context), event: { type: "interaction.close" } }),
} as const;

/** A step asked a person. The question is durable before anybody sees it. */
export const ask = {
  type: "createActor",
  params: ({ context }: { context: Context }) => {
    const { sessionId, turnId, runId } = context;
    return { machine: "interaction", id: context.interaction?.id ?? "", input: { ...context.interaction, sessionId, turnId, runId } };
  },
} as const;

export const request = {
  guard: "handoffIsPossible",
  actions: [
    "recordHandoff",
    "handoffRequested",
    {
      type: "createActor",
      params: ({ context, event }: { context: Context; event: Of<"handoff.request"> }) => ({
        machine: "handoff",
        id: event.handoffId,
        // Nobody else can ever take the successor's address or the claim.
        keys: [`run/${event.successorRunId}`, `claim/${event.claimId}`],
        input: {
          handoffId: event.handoffId,
          successorRunId: event.successorRunId,
          claimId: event.claimId,
          sessionId: context.sessionId,
          turnId: context.turnId,
          rootRunId: context.rootRunId,
          sourceRunId: context.runId,
          configuration: context.configuration,
          origin: context.origin,
          depth: context.depth,
        },
      }),
    },
  ],
} as const;

export const withdraw = {
  guard: "handoffIsThisOne",
  actions: [
    "handoffCancelled",
    { type: "deliver", params: ({ context }: { context: Context }) => ({ to: toHandoff(context), event: { type: "handoff.cancelled" } }) },
    "forgetHandoff",
  ],
} as const;

export const stop = { target: "#run.cancelled", actions: "recordStop" } as const;

/** Requested by transitions and not by the state, so that a step outlives `stepping` for as long as `stopping` waits for it. */
export const takeStep = [
  "countStep",
  { type: "step", params: ({ context }: { context: Context }) => ({ step: context.stepsTaken, maxSteps: context.stepsLeft }) },
] as const;

export const announceWaiting = [
  "runWaiting",
  {
    type: "deliver",
    params: ({ context }: { context: Context }) => ({
      to: toSession(context),
      event: { type: "turn.waiting", runId: context.runId, interaction: context.interaction },
    }),
  },
] as const;

export const takeAnswer = [
  "userAnswer",
  "recordAnswer",
  {
    type: "deliver",
    params: ({ context }: { context: Context }) => ({ to: toSession(context), event: { type: "turn.running", runId: context.runId } }),
  },
] as const;

const tellHandoff = {
  type: "deliver",
  params: ({ context }: { context: Context }) => ({ to: toHandoff(context), event: { type: "run.ended", outcome: outcomeOf(context) } }),
} as const;
const tellCreator = {
  type: "deliver",
  params: ({ context }: { context: Context }) => ({
    to: toCreator(context),
    event: { type: "successor.ended", outcome: outcomeOf(context) },
  }),
} as const;
const tellSession = {
  type: "deliver",
  params: ({ context }: { context: Context }) => ({
    to: toSession(context),
    event: { type: "turn.ended", runId: context.runId, outcome: outcomeOf(context) },
  }),
} as const;

/** What the end after a whole step does: it states the outcome and tells all who wait for it. Nothing is open then. */
export const complete = ["runEnded", tellHandoff, tellSession] as const;

/** What every other end but the seal does: it also says what stays open, and that nobody will take it. */
export const finish = ["toolsUnknown", "runEnded", closeInteraction, tellHandoff, tellCreator, tellSession] as const;
