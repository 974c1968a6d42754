/** Rules of the run: the guards by which `run.ts` decides, and what it asks the engine and its handlers for. */

import { effect, engineActions } from "./action.ts";
import { refusedDrift } from "./composition.ts";
import { binding, type Context, driftOf, type Event, type facts, type Input, type Of, schemas } from "./run-schema.ts";
import { LINEAGE_LIMIT, OPEN_CALLS, type Typed } from "./schema.ts";

interface Given {
  readonly context: Context;
  readonly event: Event;
}

const guards = {
  isCopy: ({ context }: Given) => context.source.kind === "copy",
  stopsBeforeDispatch: ({ context }: Given) => context.stopBeforeDispatch !== null,
  compositionIsMissing: ({ context, event }: Given) =>
    binding(context) !== null && (event as Of<"prepare.done">).output.composition === null,
  compositionDrifted: ({ context, event }: Given) => refusedDrift(driftOf(context, event as Of<"prepare.done">)).length > 0,
  questionIsOpen: ({ context }: Given) => context.interaction !== null,
  isUndispatched: ({ context }: Given) => context.stepsTaken === 0,
  callIsNew: ({ context, event }: Given) =>
    !context.openCalls.some((open) => open.callId === (event as Of<"tool.call">).callId) && context.openCalls.length < OPEN_CALLS,
  callIsOpen: ({ context, event }: Given) => context.openCalls.some((open) => open.callId === (event as Of<"tool.settle">).callId),
  aCallIsOpen: ({ context }: Given) => context.openCalls.length > 0,
  stepEndsTurn: ({ context }: Given) => context.next === "end",
  noStepIsLeft: ({ context }: Given) => context.stepsLeft === 0,
  stepWaits: ({ context }: Given) => context.next === "wait",
  handoffIsRequested: ({ context }: Given) => context.handoff !== null,
  handoffIsPossible: ({ context, event }: Given) => {
    const { successorRunId } = event as Of<"handoff.request">;
    if (context.depth >= LINEAGE_LIMIT) return false;
    return context.handoff === null && successorRunId !== context.runId && successorRunId !== context.rootRunId;
  },
  handoffIsThisOne: ({ context, event }: Given) => context.handoff?.handoffId === (event as Of<"handoff.cancel">).handoffId,
  compositionIsDurable: ({ context }: Given) => context.composition !== null,
  isStale: ({ context }: Given) => context.stale,
  wasWaiting: ({ context }: Given) => context.heldFrom === "waiting",
  answersTheQuestion: ({ context, event }: Given) => context.interaction?.id === (event as Of<"interaction.answered">).interactionId,
};

/** What `setup()` is given, here and where the actions are typed by it. */
export const rules = {
  schemas,
  types: { input: {} as Input, context: {} as Context, events: {} as Event, emitted: {} as Typed<typeof facts> },
  actions: { ...engineActions, prepare: effect(), step: effect<{ step: number; maxSteps: number | null }>(), flush: effect() },
  guards,
};
