/** What an interaction can be told on its paths. */

import type { interaction } from "../../../machines/index.ts";
import type { PathOptions } from "../../../src/testing/index.ts";
import { digest, question } from "../sample.ts";

const input = { ...question, sessionId: "session-1", turnId: "turn-1", runId: "run-1" };

export const interactionPaths: PathOptions<typeof interaction> = {
  id: question.id,
  input: [input, { ...input, kind: "permission", subject: { tool: "write" } }],
  events: [
    { type: "interaction.listen", runId: "run-1" },
    { type: "interaction.hold" },
    { type: "interaction.close" },
    { type: "interaction.answer", hash: digest, answer: { kind: "text", text: "yes" } },
    { type: "interaction.answer", hash: digest, answer: { kind: "decision", allow: false, note: null } },
  ],
};
