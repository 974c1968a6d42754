/** Actions of the run: the facts that it states, and what its context records. Nothing here decides anything. */

import { setup } from "xstate";
import { refusedDrift } from "./composition.ts";
import { rules } from "./run-rule.ts";
import { driftOf, failed, type Input, type Of, outcomeOf, sealOf, stepsLeft } from "./run-schema.ts";
import type { Interaction, Seal } from "./schema.ts";

const base = setup({ ...rules });

export const actions = {
  runOpened: base.emit(({ context }) => {
    const { sessionId, turnId, runId, rootRunId, configuration, origin, source, stepsLeft, depth } = context;
    return { type: "run.opened" as const, sessionId, turnId, runId, rootRunId, configuration, origin, source, stepsLeft, depth };
  }),
  turnCopied: base.enqueueActions(({ context: { source }, event, enqueue }) => {
    const { copied } = (event as unknown as { input: Input }).input;
    if (source.kind !== "copy" || !copied) return;
    const { sessionId, turnId, runIds } = source;
    enqueue.emit({ type: "turn.copied", sessionId, turnId, runIds, facts: copied.facts.length });
  }),
  toolsReconciled: base.enqueueActions(({ event, enqueue }) => {
    for (const { outcome: _, ...call } of (event as unknown as { input: Input }).input.reconciled)
      enqueue.emit({ type: "tool.reconciled", ...call });
  }),
  userMessage: base.enqueueActions(({ event, enqueue }) => {
    const given = (event as unknown as { input: Input }).input;
    if (given.text !== null) enqueue.emit({ type: "message.added", role: "user", from: "input" });
  }),
  compositionRecorded: base.enqueueActions(({ context, event, enqueue }) => {
    const { composition } = (event as Of<"prepare.done">).output;
    if (composition) enqueue.emit({ type: "composition.recorded", ...composition });
    const drift = driftOf(context, event as Of<"prepare.done">);
    if (drift.length > 0) enqueue.emit({ type: "composition.drifted", drift });
  }),
  runDispatched: base.emit({ type: "run.dispatched" }),
  toolCalled: base.emit(({ event }) => ({ type: "tool.called" as const, callId: (event as Of<"tool.call">).callId })),
  toolSettled: base.emit(({ context, event }) => {
    const { callId } = event as Of<"tool.settle">;
    return { type: "tool.settled" as const, callId, name: context.openCalls.find((open) => open.callId === callId)?.name ?? "" };
  }),
  toolsUnknown: base.enqueueActions(({ context, enqueue }) => {
    for (const open of context.openCalls) enqueue.emit({ type: "tool.unknown", ...open });
  }),
  assistantMessage: base.enqueueActions(({ event, enqueue }) => {
    if ((event as Of<"step.done">).output.text) enqueue.emit({ type: "message.added", role: "assistant", from: "output" });
  }),
  userAnswer: base.enqueueActions(({ context, event, enqueue }) => {
    const { interactionId, answer } = event as Of<"interaction.answered">;
    if (answer.kind === "text") enqueue.emit({ type: "message.added", role: "user", from: "answer" });
    else enqueue.emit({ type: "permission.decided", interactionId, question: context.interaction?.question ?? "", allow: answer.allow });
  }),
  runWaiting: base.emit(({ context }) => ({ type: "run.waiting" as const, ...(context.interaction as Interaction) })),
  handoffRequested: base.emit(({ event }) => {
    const { handoffId, successorRunId, claimId } = event as Of<"handoff.request">;
    return { type: "handoff.requested" as const, handoffId, successorRunId, claimId };
  }),
  handoffHeld: base.emit(({ context }) => ({
    type: "handoff.held" as const,
    handoffId: context.handoff?.handoffId ?? "",
    remainingSteps: context.stepsLeft,
  })),
  handoffCommitted: base.emit(({ context }) => ({ type: "handoff.committed" as const, handoffId: context.handoff?.handoffId ?? "" })),
  handoffCancelled: base.emit(({ context }) => ({ type: "handoff.cancelled" as const, handoffId: context.handoff?.handoffId ?? "" })),
  runSealed: base.emit(({ context }) => ({ type: "run.sealed" as const, ...(context.preview as Seal) })),
  runEnded: base.emit(({ context }) => ({ type: "run.ended" as const, ...outcomeOf(context) })),

  recordComposition: base.assign(({ context, event }) => {
    const { composition, workspace } = (event as Of<"prepare.done">).output;
    return { composition, workspace: context.workspace ?? workspace, stale: false };
  }),
  recordDrift: base.assign(({ context, event }) => {
    const drift = driftOf(context, event as Of<"prepare.done">);
    const fields = refusedDrift(drift).map(({ field }) => field);
    const message = `the composition differs from the source's in ${fields.join(", ")}`;
    return { outcome: { kind: "failed" as const, error: { code: "composition_drift", message }, drift } };
  }),
  recordMissingComposition: base.assign({
    outcome: () => failed("composition_not_durable", "preparation returned without recording a composition"),
  }),
  recordFailure: base.assign(({ event }) => ({
    outcome: failed((event as Of<"step.failed">).error.code, (event as Of<"step.failed">).error.message),
  })),
  recordUnknown: base.assign({ outcome: () => failed("step_unknown", "whether the last step was done could not be recorded") }),
  interruptedBeforeDispatch: base.assign({
    outcome: () => failed("interrupted_before_dispatch", "the process ended before the run was dispatched"),
  }),
  interruptedInStep: base.assign({ outcome: () => failed("interrupted", "the process ended during a step") }),
  interruptedAtBoundary: base.assign({ outcome: () => failed("interrupted_at_boundary", "the process ended while the run was held") }),
  recordUnsettled: base.assign({ outcome: () => failed("tool_unsettled", "the step ended while a tool had no outcome") }),
  recordCompletion: base.assign(({ context }) => ({
    outcome: { kind: "completed" as const, stopReason: context.next === "end" ? (context.stopReason ?? "end_turn") : "step_limit" },
  })),
  recordStop: base.assign(({ event }) => ({ outcome: { kind: "cancelled" as const, by: (event as Of<"run.stop">).by } })),
  recordStopBeforeDispatch: base.assign(({ context }) => ({
    outcome: { kind: "cancelled" as const, by: context.stopBeforeDispatch ?? ("user" as const) },
  })),
  countStep: base.assign(({ context }) => ({ stepsTaken: context.stepsTaken + 1, next: null, stopReason: null })),
  openCall: base.assign(({ context, event }) => ({
    openCalls: [...context.openCalls, { callId: (event as Of<"tool.call">).callId, name: (event as Of<"tool.call">).name }],
  })),
  closeCall: base.assign(({ context, event }) => ({
    openCalls: context.openCalls.filter((open) => open.callId !== (event as Of<"tool.settle">).callId),
  })),
  recordReport: base.assign(({ context, event }) => {
    const { next, remainingSteps, stopReason } = (event as Of<"step.done">).output;
    return { next, stopReason, stepsLeft: stepsLeft(context.stepsLeft, remainingSteps) };
  }),
  recordQuestion: base.assign(({ event }) => ({ interaction: (event as Of<"step.done">).output.interaction })),
  recordAnswer: base.assign({ interaction: null }),
  markStale: base.assign({ stale: true }),
  recordHandoff: base.assign(({ event }) => {
    const { handoffId, successorRunId, claimId } = event as Of<"handoff.request">;
    return { handoff: { handoffId, successorRunId, claimId } };
  }),
  forgetHandoff: base.assign({ handoff: null, preview: null, heldFrom: null }),
  holdFromRunning: base.assign(({ context }) => ({ preview: sealOf(context), heldFrom: "running" as const })),
  holdFromWaiting: base.assign(({ context }) => ({ preview: sealOf(context), heldFrom: "waiting" as const })),
};
