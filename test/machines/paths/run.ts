/** What a run can be told on its paths, and what its effects can come to. */

import type { run } from "../../../machines/index.ts";
import { LINEAGE_LIMIT } from "../../../machines/schema.ts";
import type { PathOptions } from "../../../src/testing/index.ts";
import {
  cancelled,
  completed,
  composition,
  copyOf,
  digest,
  driftPolicy,
  failed,
  freshRun as fresh,
  hash,
  head,
  ids,
  question,
} from "../sample.ts";

const successor = {
  ...fresh,
  rootRunId: "run-0",
  previousRunId: "run-0",
  source: { kind: "handoff", handoffId: "handoff-0", claimId: "claim-0", runId: "run-0", head, boundary: digest, denied: false },
  text: null,
  expected: composition,
  depth: LINEAGE_LIMIT,
} as const;
const prepared = (declared: typeof composition | null) => ({
  type: "prepare.done",
  output: { composition: declared, driftPolicy, workspace: "/project" },
});
const report = (next: string, changes = {}) => ({
  type: "step.done",
  output: { text: null, remainingSteps: 2, next, stopReason: null, interaction: null, ...changes },
});
const answer = (interactionId: string) => ({ type: "interaction.answered", interactionId, answer: { kind: "text", text: "yes" } });

export const runPaths: PathOptions<typeof run> = {
  id: "run-1",
  input: [
    fresh,
    successor,
    { ...successor, interaction: question },
    { ...successor, stopBeforeDispatch: "user" },
    copyOf(completed),
    copyOf(failed),
    copyOf(cancelled),
  ] as never,
  events: [
    prepared(composition),
    prepared(null),
    prepared({ ...composition, promptHash: hash("1") }),
    report("continue"),
    report("continue", { remainingSteps: 0 }),
    report("end", { stopReason: "end_turn" }),
    report("wait", { interaction: question }),
    { type: "tool.call", callId: "call-1", name: "read", args: {}, reconcile: null },
    { type: "tool.settle", callId: "call-1", outcome: { ok: true, result: 1 } },
    { type: "flush.done", output: null },
    { type: "backend.failed", error: { code: "effect_failed", message: "lost the line" } },
    answer(question.id),
    answer("another"),
    { type: "handoff.request", ...ids },
    { type: "handoff.commit", handoffId: ids.handoffId },
    { type: "handoff.commit", handoffId: "another" },
    { type: "handoff.cancel", handoffId: ids.handoffId },
    { type: "run.stop", by: "user" },
  ],
  // Counters grow for ever; that a run was dispatched, and that none, or no known number, of steps is left, is all that guards ask of them.
  serialize: ({ context }) => {
    const { stepsTaken, stepsLeft, composition, openCalls, handoff, heldFrom, stale, interaction, outcome } = context;
    return JSON.stringify([
      ...[stepsTaken > 0, stepsLeft === 0, composition !== null, openCalls.length, handoff !== null],
      ...[heldFrom, stale, interaction !== null, outcome?.kind],
    ]);
  },
};
