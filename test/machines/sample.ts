/** Identities and payloads that the tables of the machines share. */

export const digest = "a".repeat(64);
export const hash = (digit: string) => `sha256:${digit.repeat(64)}`;

export const configuration = { backend: "assistant", cwd: "/project", permissionMode: "ask" } as const;
export const origin = { kind: "goal", goalId: "goal-1" } as const;
export const head = { runId: "run-1", seq: 7, hash: digest };
export const ids = { handoffId: "handoff-1", successorRunId: "run-2", claimId: "claim-1" };
export const question = { id: "question-1", question: "May I?" };

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
