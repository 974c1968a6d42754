/** Rows 1-16: the decisions of the specification. Their acts are paths of the model; what they expect is written here. */

import { otherHash, successorDeclares } from "../decision.ts";
import { HOLD, RESUME, SEAL } from "./act.ts";
import { pendingRow, type Row, refusedRow, resumedRow, unsealedRow } from "./row.ts";

const asksLeave = {
  report: { next: "wait", interaction: { id: "question-1", kind: "permission", question: "May I write?", subject: { tool: "write" } } },
} as const;

/** What every row that seals shows before its resume. */
const beforeResume = {
  "recover a sealed turn": "unchanged",
  "copy the conversation": "branch_runtime_fact_rewrite_unsupported",
  "plain check": ["sealed_for_successor"],
};
const resumed = { ...resumedRow, ...beforeResume };
const refused = { ...refusedRow, ...beforeResume };

const drifted = (...fields: readonly string[]) => ({
  ...refused,
  resume: "composition_drift",
  "end of the successor": { failed: "composition_drift", drift: fields },
});

const rows: readonly Row[] = [
  { row: 1, decision: "commit", path: "commit", expected: resumed },
  {
    row: 2,
    decision: "cancel",
    path: "cancel",
    expected: {
      ...unsealedRow,
      ready: true,
      cancel: true,
      sealed: false,
      source: "completed",
      handoff: "cancelled",
      tip: "original-run completed",
    },
  },
  {
    row: 3,
    decision: "stop",
    path: "stop",
    expected: {
      ...unsealedRow,
      ready: true,
      commit: true,
      stop: undefined,
      sealed: false,
      end: { kind: "cancelled", by: "user" },
      source: "cancelled",
      handoff: "failed",
      tip: "original-run cancelled",
    },
  },
  {
    row: 4,
    decision: "write_failure",
    path: "write_failure",
    repeats: true,
    expected: {
      seals: 0,
      session: "running",
      dispatches: 1,
      ready: true,
      commit: true,
      sealed: "seal_not_durable",
      source: "paused",
      handoff: "paused",
      tip: "original-run paused",
    },
  },
  {
    row: 5,
    decision: "missing_source_snapshot",
    path: "missing_source_snapshot",
    expected: {
      ...unsealedRow,
      ready: true,
      preview: "composition_not_durable",
      commit: "composition_not_durable",
      cancel: true,
      sealed: false,
      source: "completed",
      handoff: "cancelled",
      tip: "original-run completed",
    },
  },
  {
    row: 6,
    decision: "missing_persisted_source_snapshot",
    path: "missing_persisted_source_snapshot",
    expected: { ...pendingRow, ...beforeResume, check: "continue", resume: "source_composition_missing" },
  },
  {
    row: 7,
    decision: "missing_capability",
    path: "missing_capability",
    expected: { ...refused, resume: "composition_preparation_unsupported" },
  },
  {
    row: 8,
    decision: "uncommitted_preparation",
    path: "uncommitted_preparation",
    expected: { ...refused, resume: "composition_not_durable" },
  },
  { row: 9, decision: "prompt_drift", path: "prompt_drift", expected: drifted("prompt") },
  { row: 10, decision: "tool_drift", path: "tool_drift", expected: drifted("tools") },
  { row: 11, decision: "availability_drift", path: "availability_drift", expected: drifted("availability") },
  { row: 12, decision: "provider_options_drift", path: "provider_options_drift", expected: drifted("provider_options") },
  { row: 13, decision: "context_window_drift", path: "context_window_drift", expected: drifted("context_window") },
  { row: 14, decision: "revision_only", path: "revision_only", expected: resumed },
  { row: 15, decision: "inherited_denial", path: "inherited_denial", expected: resumed },
  {
    row: 16,
    decision: "denial_lookup_failure",
    path: "denial_lookup_failure",
    expected: { ...pendingRow, ...beforeResume, check: "continue", resume: "denial_lookup_failed" },
  },
  {
    row: 4,
    repeats: true,
    decision: "write_failure, then recover in the same process",
    given: { acts: [...HOLD, "fail the seal", "commit", "sealed", "mend the store", "recover", "end", ...RESUME] },
    expected: { ...resumedRow, sealed: "seal_not_durable", end: "sealed" },
  },
  {
    row: 4,
    repeats: true,
    decision: "write_failure, then the next start",
    given: { acts: [...HOLD, "fail the seal", "commit", "sealed", "mend the store", "reopen", "end", ...RESUME] },
    expected: { ...resumedRow, sealed: "seal_not_durable", end: "sealed" },
  },
  {
    row: 4,
    repeats: true,
    decision: "write_failure, then stop",
    given: { acts: [...HOLD, "fail the seal", "commit", "sealed", "mend the store", "stop", "end"] },
    expected: { ...unsealedRow, source: "cancelled", handoff: "failed", tip: "original-run cancelled" },
  },
  {
    row: 15,
    decision: "inherited_denial: of a permission that the turn asked for itself",
    given: {
      steps: { "original-run#1": asksLeave, "original-run#2": { report: { text: "second", next: "continue", remainingSteps: 2 } } },
      gates: ["original-run#2"],
      acts: [
        "start",
        "open original-run#1",
        "wait for the question",
        "deny the permission",
        "request",
        "open original-run#2",
        "ready",
        "preview",
        "commit",
        "sealed",
        ...RESUME,
      ],
    },
    expected: { ...resumedRow, "deny the permission": undefined },
  },
  {
    row: 15,
    decision: "inherited_denial: a grant is not inherited",
    given: {
      steps: { "original-run#1": asksLeave, "original-run#2": { report: { text: "second", next: "continue", remainingSteps: 2 } } },
      gates: ["original-run#2"],
      acts: [
        "start",
        "open original-run#1",
        "wait for the question",
        "allow the permission",
        "request",
        "open original-run#2",
        "ready",
        "preview",
        "commit",
        "sealed",
        ...RESUME,
      ],
    },
    expected: { ...resumedRow, "allow the permission": undefined },
  },
  {
    row: 16,
    decision: "denial_lookup_failure, then a later resume",
    given: { acts: [...SEAL, "check", "the record of denials breaks", "resume", "check", "the record of denials is mended", "resume"] },
    expected: { ...resumedRow, resume: "denial_lookup_failed", "check 2": ["denial_lookup_failed"], "resume 2": "completed" },
  },
  {
    row: 9,
    decision: "drift in two fields",
    given: { ...successorDeclares({ promptHash: otherHash, contextWindow: 1 }), acts: [...SEAL, ...RESUME, "end of the successor"] },
    expected: {
      ...refusedRow,
      resume: "composition_drift",
      "end of the successor": { failed: "composition_drift", drift: ["prompt", "context_window"] },
    },
  },
];

/** The decisions of the specification, by a backend of steps and by one that drives whole turns; and variants of them. */
export const seedRows: readonly Row[] = rows.flatMap((row): Row[] =>
  "path" in row ? [row, { ...row, decision: `${row.decision}, by a backend that drives whole turns`, wholeTurns: true }] : [row],
);
