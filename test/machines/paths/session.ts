/** What a session can be told on its paths. */

import type { session } from "../../../machines/index.ts";
import type { PathOptions } from "../../../src/testing/index.ts";
import { completed, configuration, digest, evidence, head, origin, question } from "../sample.ts";

const turns = [
  {
    turnId: "turn-0",
    runId: "run-1",
    from: { turnId: "turn-x", runIds: ["run-x"] },
    origin,
    facts: [{ type: "message.added", role: "user", text: "Do it" }],
    outcome: completed,
  },
];
const input = { sessionId: "session-1", name: null, configuration, copied: null };
const begun = { turnId: "turn-1", runId: "run-1", origin };
const goOn = (runId: string, changes = {}) => ({
  type: "session.continue",
  turnId: "turn-2",
  runId: "run-2",
  source: { ...head, runId },
  evidence: { ...evidence, boundary: digest, ...changes },
  origin,
  maxSteps: null,
  depth: 2,
  reconciled: [],
});
const proposal = { title: "work", steps: [{ id: "step-1", title: "finish", description: "", files: [] }], risks: [] };

export const sessionPaths: PathOptions<typeof session> = {
  id: "session-1",
  input: [input, { ...input, copied: { sessionId: "session-0", turns } }] as never,
  events: [
    { type: "session.send", ...begun, text: "Do it", maxSteps: 3 },
    goOn("run-1"),
    goOn("run-0"),
    goOn("run-1", { backgroundSettled: false }),
    { type: "session.configure", configuration: { ...configuration, permissionMode: "bypass" } },
    { type: "session.plan", planId: "plan-1", proposal },
    { type: "session.archive" },
    { type: "plan.ended", planId: "plan-1" },
    { type: "turn.stop", turnId: "turn-1", by: "user" },
    { type: "turn.waiting", runId: "run-1", interaction: question },
    { type: "turn.running", runId: "run-1" },
    { type: "turn.sealed", runId: "run-1", handoffId: "handoff-1" },
    { type: "turn.resumed", runId: "run-9" },
    { type: "turn.ended", runId: "run-1", outcome: completed },
    { type: "engine.quarantined", actor: "run/run-1" },
    { type: "engine.quarantined", actor: "handoff/handoff-1" },
  ],
  // The number of the turns grows for ever, and no guard asks how the session is configured.
  serialize: ({ context: { turn, planId, lastRunId } }) => JSON.stringify([turn, planId !== null, lastRunId]),
};
