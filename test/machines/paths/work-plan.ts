/** What a work plan can be told on its paths. */

import type { workPlan } from "../../../machines/index.ts";
import type { PathOptions } from "../../../src/testing/index.ts";
import { cancelled, completed } from "../sample.ts";

const step = (id: string) => ({ id, title: `Do ${id}`, description: "", files: [] });
const proposal = { title: "Move the job", steps: [step("one"), step("two")], risks: [] };
const input = { planId: "plan-1", sessionId: "session-1", proposal, turnUnderWay: false };
const stepsOf = (...statuses: string[]) => statuses.map((status, index) => ({ id: ["one", "two"][index], status }));
const update = (executionId: string, ...statuses: string[]) => ({ type: "plan.update", executionId, steps: stepsOf(...statuses) });

export const workPlanPaths: PathOptions<typeof workPlan> = {
  id: "plan-1",
  input: [input, { ...input, turnUnderWay: true }],
  events: [
    { type: "plan.propose", proposal },
    { type: "plan.approve", expectedRevision: 1 },
    { type: "plan.approve", expectedRevision: 2 },
    update("plan-1.1", "completed", "in_progress"),
    update("plan-1.1", "completed", "skipped"),
    update("plan-1.1", "pending", "pending"),
    { type: "plan.interrupt", reason: "asked" },
    { type: "plan.resume", executionId: "plan-1.1" },
    { type: "plan.resume", executionId: "another" },
    { type: "plan.cancel" },
    { type: "plan.recover" },
    { type: "turn.started", runId: "run-1" },
    { type: "turn.ended", runId: "run-1", outcome: completed },
    { type: "turn.ended", runId: "run-1", outcome: cancelled },
    { type: "session.archived" },
  ],
  // Revisions are counted for ever: no more than three of them are told apart.
  serialize: ({ context: { revision, pending, execution, turnUnderWay } }) =>
    JSON.stringify([Math.min(revision, 3), pending && Math.min(pending.revision, 3), execution?.steps, execution?.turnEnded, turnUnderWay]),
};
