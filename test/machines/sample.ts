/** Identities and payloads that the tables of the machines share. */

import type { InputFrom } from "xstate";
import { DRIFT_POLICY, type run } from "../../machines/index.ts";
import type { Json } from "../../src/actor/json.ts";

export const digest = "a".repeat(64);
export const hash = (digit: string) => `sha256:${digit.repeat(64)}`;

export const configuration = { backend: "assistant", cwd: "/project", permissionMode: "ask" } as const;
export const origin = { kind: "goal", goalId: "goal-1" } as const;
export const head = { runId: "run-1", seq: 7, hash: digest };
export const ids = { handoffId: "handoff-1", successorRunId: "run-2", claimId: "claim-1" };
export const question = { id: "run-1.question-1", kind: "question", question: "May I?", subject: null, hash: digest } as const;
export const driftPolicy = DRIFT_POLICY;
/** What was seen around a source, with nothing that speaks against going on. */
export const evidence = {
  boundary: digest,
  denied: true,
  workspace: { source: "/project", now: "/project" },
  backgroundSettled: true,
  tools: { missing: [] as string[], checked: ["read", "write"], now: ["read", "write"] },
  unknown: [] as string[],
  configuration: { source: configuration, now: configuration },
};

export const composition = {
  composerId: "composer",
  composerRevision: "1",
  promptHash: hash("0"),
  toolsHash: hash("0"),
  availabilityHash: hash("0"),
  providerOptionsHash: hash("0"),
  contextWindow: null,
  body: digest,
};

export const seal = {
  protocol: "holdfast.seal.v1",
  handoffId: "handoff-1",
  rootRunId: "run-1",
  successorRunId: "run-2",
  claimId: "claim-1",
  remainingSteps: 2,
  interaction: null,
} as const;

export const completed = { kind: "completed", stopReason: "end_turn" } as const;
export const cancelled = { kind: "cancelled", by: "user" } as const;
export const failed = { kind: "failed", error: { code: "interrupted", message: "gone" }, drift: [] } as const;

/** The input of a run that begins a turn. Typed by the machine: what it does not take any more does not compile. */
export const freshRun = {
  sessionId: "session-1",
  turnId: "turn-1",
  runId: "run-1",
  rootRunId: "run-1",
  previousRunId: null,
  configuration,
  origin,
  source: { kind: "fresh" },
  text: "Do the long job",
  stepsLeft: 5,
  expected: null,
  interaction: null,
  stopBeforeDispatch: null,
  depth: 1,
  reconciled: [],
  copied: null,
} as const satisfies InputFrom<typeof run>;

/** The input of a run that holds a turn of another session, which ended so. */
export const copyOf = (outcome: Json) => ({
  ...freshRun,
  text: null,
  source: { kind: "copy", sessionId: "session-0", turnId: "turn-0", runIds: ["run-0"] },
  copied: { facts: [{ type: "message.added", role: "user", text: "Do it" }], outcome },
});
