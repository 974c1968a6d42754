/**
 * Run: one physical attempt at a turn.
 *
 * It owns every question about itself until it is sealed: when it is dispatched, what a step led to, where it may be held, what a
 * stop, a failure or a restart makes of it. Between two steps nothing is in flight; holding it means not asking for the next step.
 * Beside it: `run-schema.ts`, its payloads; `run-rule.ts`, its guards; `run-action.ts`, its actions; `run-move.ts`, what its states share.
 */

import { and, setup } from "xstate";
import { actions } from "./run-action.ts";
import {
  announceWaiting,
  ask,
  complete,
  finish,
  holdWaiting,
  listen,
  request,
  stop,
  takeAnswer,
  takeStep,
  toCreator,
  toHandoff,
  toSession,
  withdraw,
} from "./run-move.ts";
import { rules } from "./run-rule.ts";
import type { Input } from "./run-schema.ts";
import { seqOf } from "./stamp.ts";

/** One physical attempt at a turn, as a machine. */
export const run = setup({ ...rules })
  .extend({ actions })
  .createMachine({
    id: "run",
    version: "3",
    description: "One physical attempt at a turn.",
    context: ({ input }) => ({
      ...opening(input),
      workspace: null,
      stepsTaken: 0,
      composition: null,
      openCalls: [],
      next: null,
      stopReason: null,
      handoff: null,
      preview: null,
      heldFrom: null,
      stale: false,
      outcome: input.copied?.outcome ?? null,
    }),
    entry: ["runOpened", "turnCopied", "toolsReconciled", "userMessage"],
    initial: "opening",
    states: {
      opening: {
        description: "The run exists; what becomes of it is decided at once.",
        always: [
          { guard: "isCopy", target: "copied" },
          { guard: "stopsBeforeDispatch", target: "cancelled", actions: "recordStopBeforeDispatch" },
          { target: "preparing" },
        ],
      },
      preparing: {
        description: "The backend declares what the model will be given. Nothing was dispatched in this process.",
        entry: "prepare",
        on: {
          "prepare.done": [
            { guard: "compositionIsMissing", target: "failed", actions: "recordMissingComposition" },
            { guard: "compositionDrifted", target: "failed", actions: "recordDrift" },
            { guard: "questionIsOpen", target: "asking", actions: ["compositionRecorded", "recordComposition", ...announceWaiting] },
            { target: "running", actions: ["compositionRecorded", "recordComposition"] },
          ],
          "prepare.failed": { target: "failed", actions: "recordFailure" },
          "handoff.request": request,
          "handoff.cancel": withdraw,
          "run.stop": stop,
          "engine.reopened": [
            { guard: "isUndispatched", target: "failed", actions: "interruptedBeforeDispatch" },
            // Whoever asked for it is gone, and nobody else would commit or cancel it.
            { guard: "handoffIsRequested", actions: withdraw.actions },
          ],
        },
      },
      running: {
        description: "The run was dispatched; its next step is asked for, under way, or being decided about.",
        initial: "dispatching",
        on: { "handoff.request": request, "handoff.cancel": withdraw },
        states: {
          dispatching: {
            description: "The composition is durable. The first step makes the dispatch; later ones only go on.",
            always: [
              {
                guard: "isUndispatched",
                target: "stepping",
                actions: [
                  "runDispatched",
                  { type: "deliver", params: ({ context }) => ({ to: toCreator(context), event: { type: "successor.dispatched" } }) },
                  ...takeStep,
                ],
              },
              { target: "stepping", actions: takeStep },
            ],
          },
          stepping: {
            description: "One step is in flight. Each tool call is durable before its tool runs, each result before the model sees it.",
            on: {
              "step.done": { target: "deciding", actions: ["assistantMessage", "recordReport"] },
              "step.failed": { target: "#run.failed", actions: "recordFailure" },
              "effect.unknown": { target: "#run.failed", actions: "recordUnknown" },
              "tool.call": { guard: "callIsNew", actions: ["toolCalled", "openCall"] },
              "tool.settle": { guard: "callIsOpen", actions: ["toolSettled", "closeCall"] },
              "run.stop": { target: "stopping", actions: "recordStop" },
              "engine.reopened": {
                target: "#run.failed",
                actions: "interruptedInStep",
              },
            },
          },
          deciding: {
            description: "A step is durable and nothing is in flight; what it left decides where the run goes.",
            always: [
              { guard: "aCallIsOpen", target: "#run.failed", actions: "recordUnsettled" },
              { guard: "stepEndsTurn", target: "#run.completed", actions: "recordCompletion" },
              { guard: "noStepIsLeft", target: "#run.completed", actions: "recordCompletion" },
              { guard: "stepWaits", target: "#run.asking", actions: ["recordQuestion", ask, ...announceWaiting] },
              { guard: "handoffIsRequested", target: "#run.boundary", actions: "holdFromRunning" },
              { target: "stepping", actions: takeStep },
            ],
          },
          stopping: {
            description: "A stop was accepted; the step is asked to end, and what it still reports within its grace is kept.",
            entry: { type: "abortEffect", params: { effect: "step" } },
            on: {
              "step.done": { target: "#run.cancelled", actions: "assistantMessage" },
              "step.failed": "#run.cancelled",
              "step.aborted": "#run.cancelled",
              "effect.unknown": "#run.cancelled",
              "tool.settle": { guard: "callIsOpen", actions: ["toolSettled", "closeCall"] },
              "engine.reopened": "#run.cancelled",
            },
          },
        },
      },
      asking: {
        description: "A person must answer, and whether the run waits for it or is held is decided at once.",
        // Nobody listens for the answer yet, so there is nobody to tell that it is not wanted now.
        always: [{ guard: "handoffIsRequested", target: "boundary", actions: "holdFromWaiting" }, { target: "waiting" }],
      },
      waiting: {
        description: "A person must answer. Nothing is in flight, and a restart changes nothing but that the run prepares again.",
        entry: listen,
        on: {
          "interaction.answered": [
            { guard: and(["answersTheQuestion", "isStale"]), target: "preparing", actions: takeAnswer },
            { guard: "answersTheQuestion", target: "running", actions: takeAnswer },
          ],
          "handoff.request": { ...request, target: "boundary", actions: [...request.actions, ...holdWaiting] },
          "run.stop": stop,
          // Where an answer was kept while no program ran, it is given now.
          "engine.reopened": { actions: ["markStale", listen] },
        },
      },
      boundary: {
        tags: ["held", "handoffPending"],
        description: "Held between two steps: everything before is durable, no tool is unsettled, and the preview is the exact seal.",
        entry: [
          "handoffHeld",
          {
            type: "deliver",
            params: ({ context }) => ({ to: toHandoff(context), event: { type: "handoff.held", preview: context.preview } }),
          },
        ],
        on: {
          "handoff.commit": { guard: and(["handoffIsThisOne", "compositionIsDurable"]), target: "paused" },
          "handoff.cancel": [
            { ...withdraw, guard: and(["handoffIsThisOne", "wasWaiting"]), target: "waiting" },
            { ...withdraw, target: "running" },
          ],
          "run.stop": stop,
          "engine.reopened": [
            { guard: "wasWaiting", target: "waiting", actions: ["markStale", ...withdraw.actions] },
            {
              target: "failed",
              actions: "interruptedAtBoundary",
            },
          ],
        },
      },
      paused: {
        tags: "handoffPending",
        description:
          "The handoff is decided, durably. What watches the run is drained; then the seal is written, also after a crash. Only a stop, or the backend's word that it is broken, prevents it.",
        entry: [
          "handoffCommitted",
          { type: "deliver", params: ({ context }) => ({ to: toHandoff(context), event: { type: "handoff.committed" } }) },
          "flush",
        ],
        on: {
          "flush.done": "sealed",
          "flush.failed": "sealed",
          "backend.failed": { target: "failed", actions: "recordFailure" },
          "run.stop": stop,
        },
      },
      sealed: {
        type: "final",
        tags: ["sealed", "handoffPending"],
        description: "The seal is this run's last fact. It states no outcome and names the only successor.",
        entry: [
          "runSealed",
          {
            type: "deliver",
            params: ({ context, event }) => ({
              to: toHandoff(context),
              event: { type: "handoff.sealed", seal: context.preview, seq: seqOf(event) },
            }),
          },
          { type: "deliver", params: ({ context }) => ({ to: toCreator(context), event: { type: "successor.sealed" } }) },
          {
            type: "deliver",
            params: ({ context }) => ({
              to: toSession(context),
              event: { type: "turn.sealed", runId: context.runId, handoffId: context.handoff?.handoffId },
            }),
          },
        ],
      },
      completed: { type: "final", description: "The turn is done: the model ended it, or no step was left.", entry: complete },
      failed: {
        type: "final",
        tags: "resumable",
        description: "The run could not go on; the outcome says why, and which tool calls have no known result.",
        entry: finish,
      },
      copied: {
        type: "final",
        description: "Another session's turn, as history: all that it stated is here, and how it ended. Nobody goes on with it.",
        entry: "runEnded",
      },
      cancelled: { type: "final", tags: "resumable", description: "The turn was stopped before it was done.", entry: finish },
    },
  });

/** What the context keeps of the input: all but what is in the journal once, and the engine's stamp. */
function opening(given: Input): Omit<Input, "text" | "reconciled" | "copied"> {
  const { text: _, reconciled: __, copied: ___, stamp: ____, ...kept } = given as Input & { stamp?: unknown };
  return kept;
}
