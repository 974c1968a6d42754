/** Rows 24, 26-34: one continuation of one seal, its budget, and stops. */

import { type Act, RESUME, SEAL } from "./act.ts";
import { lineageLimit } from "./lineage.ts";
import { NOT_ASKED, pendingRow, type Row, resumedRow, sealedRow, unsealedRow } from "./row.ts";

/** From the claim to the last step's start; a stop after any of them still ends the turn. */
const COMMITS = 6;

/** A tool is called before the seal. */
const notes = {
  "original-run#1": { calls: [{ name: "note", args: { thing: "a" } }], report: { text: "first", next: "continue", remainingSteps: 2 } },
} as const;

const codeOf = (decision: string): string => decision.split(":")[0] as string;

export const resumeRows: readonly Row[] = [
  {
    row: 24,
    repeats: true,
    decision: "resume_twice_in_process",
    given: {
      gates: ["successor-run#1"],
      acts: [
        ...SEAL,
        "check",
        "begin to resume",
        "reach successor-run#1",
        "resume by another handle",
        "open successor-run#1",
        "end of the successor",
      ],
    },
    expected: { ...resumedRow, resume: NOT_ASKED, "resume by another handle": "continuation_in_progress" },
  },
  {
    row: 24,
    repeats: true,
    decision: "resume again after the successor has ended",
    given: { acts: [...SEAL, ...RESUME, "resume", "check"] },
    expected: { ...resumedRow, "resume 2": "continuation_claim_conflict", "check 2": ["continuation_already_exists"] },
  },
  {
    row: 26,
    decision: "resume_without_purpose",
    given: { acts: [...SEAL, "plain check", "check", "resume as if it were plain", "resume"] },
    expected: { ...resumedRow, "plain check": ["sealed_for_successor"], "resume as if it were plain": "sealed_for_successor" },
  },
  {
    row: 27,
    decision: "event_after_check",
    given: { acts: [...SEAL, "check", "resume what has changed"] },
    expected: { ...pendingRow, "resume what has changed": "source_identity_changed" },
  },
  {
    row: 28,
    decision: "remaining_steps_unbounded",
    given: {
      steps: {
        "original-run#1": { report: { next: "continue", remainingSteps: null } },
        "successor-run#1": { report: { next: "end", stopReason: "end_turn" } },
      },
      acts: [...SEAL, ...RESUME],
    },
    expected: resumedRow,
  },
  {
    row: 28,
    decision: "remaining_steps_exhausted",
    given: {
      steps: { "original-run#1": { report: { next: "continue", remainingSteps: 0 } } },
      acts: ["start", "request", "open original-run#1", "ready", "end", "sealed"],
    },
    expected: {
      ...unsealedRow,
      ready: false,
      sealed: false,
      end: { kind: "completed", stopReason: "step_limit" },
      source: "completed",
      handoff: "declined",
      tip: "original-run completed",
    },
  },
  {
    row: 28,
    decision: "the turn's own limit is reached first",
    given: { maxSteps: 1, acts: ["start", "request", "open original-run#1", "ready", "end", "sealed"] },
    expected: { ...unsealedRow, ready: false, end: { kind: "completed", stopReason: "step_limit" }, handoff: "declined" },
  },
  {
    row: 28,
    decision: "remaining_steps_invalid",
    given: {
      steps: { "original-run#1": { report: { next: "continue", remainingSteps: -1 } } },
      acts: ["start", "request", "open original-run#1", "ready", "end"],
    },
    expected: { ...unsealedRow, ready: false, end: { failed: "step_report_invalid", drift: [] }, source: "failed", handoff: "declined" },
  },
  {
    row: 29,
    decision: "second_handoff",
    given: {
      gates: ["successor-run#1"],
      acts: [
        ...SEAL,
        "check",
        "begin to resume",
        "reach successor-run#1",
        "request on the successor",
        "open successor-run#1",
        "ready",
        "preview",
        "commit",
        "sealed",
        "resume the third",
      ],
    },
    expected: {
      source: "sealed",
      handoff: "resumed",
      session: "idle",
      seals: 2,
      dispatches: 3,
      tip: "third-run completed",
      "preview 2": { rootRunId: "original-run", successorRunId: "third-run", claimId: "claim-2", remainingSteps: 1 },
      "resume the third": "completed",
    },
  },
  ...[
    ["workspace_changed", "the workspace changes", "the workspace is back"],
    ["tool_set_changed: a tool is gone", "a tool goes", "the tools are back"],
    ["background_pending", "work goes on in the background", "the background is quiet"],
  ].map(
    ([decision, breaks, mends]): Row => ({
      row: 33,
      decision: decision as string,
      given: { steps: notes, acts: [...SEAL, "check", breaks as Act, "resume", "check", mends as Act, "resume"] },
      expected: { ...resumedRow, resume: codeOf(decision as string), "check 2": [codeOf(decision as string)], "resume 2": "completed" },
    }),
  ),
  {
    row: 33,
    // A check has nothing to compare a new tool with; a resume has what its check saw.
    decision: "tool_set_changed: a tool is new since the check",
    given: { steps: notes, acts: [...SEAL, "check", "a tool comes", "resume", "check", "resume"] },
    expected: { ...resumedRow, resume: "tool_set_changed", "check 2": "continue", "resume 2": "completed" },
  },
  ...["another folder", "another permission mode", "another backend"].map(
    (what): Row => ({
      row: 34,
      decision: `configuration_changed: ${what}`,
      given: {
        acts: [...SEAL, "check", `${what} is configured` as Act, "resume", "check", "the session is configured as before", ...RESUME],
      },
      expected: {
        ...resumedRow,
        resume: "configuration_changed",
        "check 2": ["configuration_changed"],
        "check 3": "continue",
        "resume 2": "completed",
      },
    }),
  ),
  {
    row: 30,
    decision: "lineage_limit",
    perform: lineageLimit,
    expected: { members: 64, refused: "lineage_limit", dispatches: 64, last: "completed", written: false },
  },
  {
    row: 31,
    decision: "stop_after_seal",
    given: { acts: [...SEAL, "check", "stop", "end of the successor", "resume", "stop"] },
    expected: {
      ...sealedRow,
      stop: undefined,
      "end of the successor": { kind: "cancelled", by: "user" },
      resume: "continuation_claim_conflict",
      "stop 2": "run_not_active",
      handoff: "failed",
      session: "idle",
      dispatches: 1,
      tip: "successor-run cancelled",
    },
  },
  {
    row: 32,
    repeats: true,
    decision: "stop while the successor prepares",
    given: {
      gates: ["prepare successor-run"],
      acts: [...SEAL, "check", "begin to resume", "reach prepare successor-run", "stop", "end of the successor"],
    },
    expected: { ...sealedRow, handoff: "failed", session: "idle", dispatches: 1, tip: "successor-run cancelled" },
  },
  {
    row: 32,
    repeats: true,
    decision: "stop in the successor's first step",
    given: {
      gates: ["successor-run#1"],
      acts: [...SEAL, "check", "begin to resume", "reach successor-run#1", "stop", "stop", "open successor-run#1", "end of the successor"],
    },
    expected: {
      ...sealedRow,
      "stop 2": "stop_in_progress",
      handoff: "resumed",
      session: "idle",
      dispatches: 2,
      tip: "successor-run cancelled",
    },
  },
  ...(["resume, stopped before it", "resume, stopped in the same moment"] as const).map(
    (act): Row => ({
      row: 32,
      repeats: true,
      decision: `stop_at_every_await: ${act}`,
      given: { acts: [...SEAL, "check", act, "end of the successor"] },
      expected: {
        ...sealedRow,
        session: "idle",
        tip: "successor-run cancelled",
        "end of the successor": { kind: "cancelled", by: "user" },
      },
    }),
  ),
  ...Array.from({ length: COMMITS }, (_, index) => index + 1).map(
    (commit): Row => ({
      row: 32,
      repeats: true,
      decision: `stop_at_every_await: stopped at commit ${commit} of ${COMMITS}`,
      given: { acts: [...SEAL, "check", `resume, stopped at commit ${commit}`, "end of the successor"] },
      expected: { ...sealedRow, session: "idle", tip: "successor-run cancelled" },
    }),
  ),
  {
    row: 32,
    repeats: true,
    decision: "stop_at_every_await: no commit is left to stop at",
    given: { acts: [...SEAL, "check", `resume, stopped at commit ${COMMITS + 1}`, "end of the successor"] },
    expected: { ...sealedRow, session: "idle", tip: "successor-run completed" },
  },
];
