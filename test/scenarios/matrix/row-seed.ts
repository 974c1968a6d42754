/** Rows 1-16: the decisions of the specification. Their acts are paths of the model; what they expect is written here. */

import { HOLD, RESUME, SEAL } from "./act.ts";
import { other, pendingRow, type Row, refusedRow, resumedRow, successorDeclares, unsealedRow } from "./row.ts";

const drifted = (...fields: readonly string[]) => ({
  ...refusedRow,
  resume: "composition_drift",
  "end of the successor": { failed: "composition_drift", drift: fields },
});

export const seedRows: readonly Row[] = [
  { row: 1, decision: "commit", path: "commit", expected: resumedRow },
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
    expected: { ...pendingRow, check: "continue", resume: "source_composition_missing" },
  },
  {
    row: 7,
    decision: "missing_capability",
    path: "missing_capability",
    expected: { ...refusedRow, resume: "composition_preparation_unsupported" },
  },
  {
    row: 8,
    decision: "uncommitted_preparation",
    path: "uncommitted_preparation",
    expected: { ...refusedRow, resume: "composition_not_durable" },
  },
  { row: 9, decision: "prompt_drift", path: "prompt_drift", expected: drifted("prompt") },
  { row: 10, decision: "tool_drift", path: "tool_drift", expected: drifted("tools") },
  { row: 11, decision: "availability_drift", path: "availability_drift", expected: drifted("availability") },
  { row: 12, decision: "provider_options_drift", path: "provider_options_drift", expected: drifted("provider_options") },
  { row: 13, decision: "context_window_drift", path: "context_window_drift", expected: drifted("context_window") },
  { row: 14, decision: "revision_only", path: "revision_only", expected: resumedRow },
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
    row: 9,
    decision: "drift in two fields",
    given: { ...successorDeclares({ promptHash: other, contextWindow: 1 }), acts: [...SEAL, ...RESUME, "end of the successor"] },
    expected: {
      ...refusedRow,
      resume: "composition_drift",
      "end of the successor": { failed: "composition_drift", drift: ["prompt", "context_window"] },
    },
  },
];
