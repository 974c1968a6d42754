/** The turn that is to be handed off: its names, its text, and the steps that its backend takes unless a row says otherwise. */

import type { Json, StepReport } from "../../src/index.ts";

export const TEXT = "Do the long job";
export const SESSION = { backend: "assistant", id: "session-1" } as const;
export const TURN = { runId: "original-run", turnId: "logical-turn", origin: { kind: "goal", goalId: "goal-1" } } as const;
export const HANDOFF = { id: "handoff-1", successorRunId: "successor-run", claimId: "claim-1" } as const;

/** The session's work plan: approved before the turn begins, so its execution is active. */
export const PLAN = {
  planId: "plan-1",
  proposal: { title: "work", steps: [{ id: "step-1", title: "finish", description: "finish the logical task" }] },
} as const;

export interface Step {
  readonly partial?: readonly Json[];
  readonly calls?: readonly { readonly name: string; readonly args: Json }[];
  readonly report: StepReport | (() => StepReport);
}

/** By `<run>#<step>`. The backend reports 2 remaining steps at the boundary. */
export const STEPS: Readonly<Record<string, { readonly report: StepReport }>> = {
  "original-run#1": { report: { text: "first", next: "continue", remainingSteps: 2 } },
  "original-run#2": { report: { text: "second", next: "end", stopReason: "end_turn" } },
  "successor-run#1": { report: { text: "third", next: "continue", remainingSteps: 1 } },
  "successor-run#2": { report: { text: "fourth", next: "end", stopReason: "end_turn" } },
};
