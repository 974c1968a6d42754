/** Rows 17-23: requests, and runs that end or fail before they are sealed. */

import { HOLD, RESUME, SEAL } from "./act.ts";
import { pendingRow, type Row, resumedRow, unsealedRow } from "./row.ts";

const broken = () => {
  throw new Error("no model");
};

export const requestRows: readonly Row[] = [
  {
    row: 17,
    decision: "ended_before_boundary",
    given: {
      steps: { "original-run#1": { report: { text: "done", next: "end", stopReason: "end_turn" } } },
      acts: ["start", "request", "open original-run#1", "ready", "end", "commit", "cancel", "sealed"],
    },
    expected: {
      ...unsealedRow,
      ready: false,
      commit: false,
      cancel: false,
      sealed: false,
      source: "completed",
      handoff: "declined",
      tip: "original-run completed",
    },
  },
  {
    row: 17,
    decision: "stopped before any boundary",
    given: { acts: ["start", "request", "reach original-run#1", "stop", "open original-run#1", "ready", "end", "sealed"] },
    expected: { ...unsealedRow, ready: false, sealed: false, source: "cancelled", handoff: "declined", tip: "original-run cancelled" },
  },
  {
    row: 17,
    decision: "stopped while held",
    given: { acts: [...HOLD, "stop", "end", "commit", "sealed"] },
    expected: {
      ...unsealedRow,
      ready: true,
      commit: false,
      sealed: false,
      source: "cancelled",
      handoff: "declined",
      tip: "original-run cancelled",
    },
  },
  {
    row: 17,
    decision: "failed before any boundary",
    given: {
      steps: {
        "original-run#1": {
          report: () => {
            throw new Error("no model");
          },
        },
      },
      acts: ["start", "request", "open original-run#1", "ready", "end", "sealed"],
    },
    expected: { ...unsealedRow, ready: false, sealed: false, source: "failed", handoff: "declined", tip: "original-run failed" },
  },
  {
    row: 19,
    decision: "abort_request_before_commit",
    given: { acts: [...HOLD, "abort the request", "end", "commit", "sealed"] },
    expected: { ...unsealedRow, commit: false, sealed: false, source: "completed", handoff: "cancelled", tip: "original-run completed" },
  },
  {
    row: 19,
    decision: "abort_request_before_boundary",
    given: { acts: ["start", "request", "abort the request", "open original-run#1", "end", "ready", "sealed"] },
    expected: { ...unsealedRow, ready: false, sealed: false, source: "completed", handoff: "cancelled", tip: "original-run completed" },
  },
  {
    row: 19,
    decision: "abort_request_after_commit",
    given: { gates: ["flush"], acts: [...HOLD, "commit", "abort the request", "open flush", "sealed", ...RESUME] },
    expected: resumedRow,
  },
  {
    row: 20,
    decision: "second_request_while_held",
    given: { acts: [...HOLD, "request another", "preview", "commit", "sealed", ...RESUME] },
    expected: { ...resumedRow, "request another": "handoff_in_progress" },
  },
  {
    row: 21,
    decision: "request_after_cancel",
    given: {
      gates: ["original-run#2"],
      acts: [...HOLD, "cancel", "request another", "open original-run#2", "ready", "commit", "cancel"],
      steps: { "original-run#2": { report: { next: "continue", remainingSteps: 2 } } },
    },
    expected: { cancel: true, "request another": "accepted", "ready 2": true, commit: true, "cancel 2": false, handoff: "cancelled" },
  },
  {
    row: 22,
    decision: "request_on_ended_run, request_on_unknown_run",
    given: { acts: ["start", "open original-run#1", "end", "request", "request on an unknown run"] },
    expected: {
      ...unsealedRow,
      request: "run_not_active",
      "request on an unknown run": "run_not_found",
      source: "completed",
      handoff: undefined,
      tip: "original-run completed",
    },
  },
  {
    row: 22,
    decision: "request_on_sealed_run",
    given: { acts: [...SEAL, "request another"] },
    expected: { ...pendingRow, "request another": "run_not_active" },
  },
  {
    row: 18,
    decision: "backend_error_after_commit, before the boundary was reached",
    given: {
      steps: { "original-run#1": { calls: [{ name: "note", args: { thing: "a" } }], report: broken } },
      acts: ["start", "request", "open original-run#1", "ready", "end", "commit", "sealed"],
    },
    expected: {
      ...unsealedRow,
      ready: false,
      commit: false,
      sealed: false,
      end: { failed: "effect_failed", drift: [] },
      source: "failed",
      handoff: "declined",
      tip: "original-run failed",
    },
  },
  {
    row: 18,
    decision: "backend_error_after_commit",
    given: { flush: "breaks", acts: [...HOLD, "commit", "end", "sealed"] },
    expected: {
      ...unsealedRow,
      ready: true,
      commit: true,
      sealed: false,
      end: { failed: "effect_failed", drift: [] },
      source: "failed",
      handoff: "failed",
      tip: "original-run failed",
    },
  },
  {
    row: 18,
    // What watches the run is not what does its work: where it cannot be drained, the seal is written all the same.
    decision: "backend_error_after_commit: only its flush fails",
    given: { flush: "fails", acts: [...SEAL, ...RESUME] },
    expected: resumedRow,
  },
  {
    row: 23,
    decision: "tool_unsettled_at_boundary",
    given: {
      steps: { "original-run#1": { calls: [{ name: "note", args: { thing: "a" } }], report: { next: "continue", remainingSteps: 2 } } },
      acts: [
        "swallow failures of tools",
        "fail each tool's settling",
        "start",
        "request",
        "open original-run#1",
        "ready",
        "end",
        "sealed",
        "mend the store",
      ],
    },
    expected: {
      ...unsealedRow,
      ready: false,
      sealed: false,
      end: { failed: "tool_unsettled", drift: [] },
      source: "failed",
      handoff: "declined",
      unknownTools: 1,
    },
  },
];
