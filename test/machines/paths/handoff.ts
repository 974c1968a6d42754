/** What a handoff can be told on its paths. */

import type { handoff } from "../../../machines/index.ts";
import type { PathOptions } from "../../../src/testing/index.ts";
import { cancelled, completed, composition, configuration, evidence, head, ids, origin, seal } from "../sample.ts";

const resume = (changes = {}) => ({ type: "handoff.resume", source: head, sourceComposition: composition, evidence, ...changes });

export const handoffPaths: PathOptions<typeof handoff> = {
  id: ids.handoffId,
  input: {
    ...ids,
    sessionId: "session-1",
    turnId: "turn-1",
    rootRunId: "run-1",
    sourceRunId: "run-1",
    configuration,
    origin,
    depth: 1,
  },
  events: [
    { type: "handoff.held", preview: seal },
    { type: "handoff.committed" },
    { type: "handoff.cancelled" },
    { type: "handoff.sealed", seal, seq: head.seq },
    resume(),
    resume({ source: { ...head, seq: head.seq + 1 } }),
    resume({ sourceComposition: null }),
    resume({ evidence: { ...evidence, backgroundSettled: false } }),
    { type: "handoff.stop", by: "user" },
    { type: "run.ended", outcome: cancelled },
    { type: "successor.dispatched" },
    { type: "successor.ended", outcome: completed },
    { type: "successor.sealed" },
  ],
};
