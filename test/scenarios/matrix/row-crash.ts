/** Rows 35 and 36 as far as one process can show them: a process that gives up, a full disk, a busy store. */

import { HOLD, RESUME, SEAL } from "./act.ts";
import { NOT_ASKED, type Row, refusedRow, resumedRow, unsealedRow } from "./row.ts";

export const crashRows: readonly Row[] = [
  {
    row: 35,
    repeats: true,
    decision: "the process ends while the run is held",
    given: { acts: [...HOLD, "reopen", "recover", "end", "plain check"] },
    expected: {
      ...unsealedRow,
      end: { failed: "interrupted_at_boundary", drift: [] },
      "plain check": "continue",
      source: "failed",
      handoff: "declined",
      tip: "original-run failed",
    },
  },
  {
    row: 35,
    repeats: true,
    decision: "the process ends while the run is paused",
    given: { gates: ["flush"], acts: [...HOLD, "preview", "commit", "reach flush", "reopen", "open flush", "end", ...RESUME] },
    expected: { ...resumedRow, sealed: NOT_ASKED, end: "sealed" },
  },
  {
    row: 35,
    repeats: true,
    decision: "the process ends when the run is sealed",
    given: { acts: [...SEAL, "reopen", ...RESUME] },
    expected: resumedRow,
  },
  {
    row: 35,
    repeats: true,
    decision: "the process ends between claim and dispatch",
    given: {
      gates: ["prepare successor-run"],
      acts: [...SEAL, "check", "begin to resume", "reach prepare successor-run", "reopen", "end of the successor", "check"],
    },
    expected: {
      ...refusedRow,
      "end of the successor": { failed: "interrupted_before_dispatch", drift: [] },
      "check 2": ["continuation_already_exists"],
    },
  },
  {
    row: 36,
    repeats: true,
    decision: "disk_full during the seal",
    given: {
      acts: [
        ...HOLD,
        "fail the seal",
        "preview",
        "commit",
        "sealed",
        "another session works",
        "mend the store",
        "recover",
        "end",
        ...RESUME,
      ],
    },
    expected: { ...resumedRow, sealed: "seal_not_durable", "another session works": "completed", end: "sealed", dispatches: 3 },
  },
  {
    row: 36,
    repeats: true,
    decision: "store_busy during the seal, for longer than the bound",
    given: {
      gates: ["flush"],
      busyTimeoutMs: 20,
      acts: [
        ...HOLD,
        "preview",
        "commit",
        "reach flush",
        "lock the store",
        "open flush",
        "sealed",
        "let go of the store",
        "recover",
        "end",
        ...RESUME,
      ],
    },
    expected: { ...resumedRow, sealed: "seal_not_durable", end: "sealed" },
  },
  {
    row: 36,
    repeats: true,
    decision: "store_busy during the seal, for less than the bound",
    given: {
      gates: ["flush"],
      acts: [...HOLD, "preview", "commit", "reach flush", "lock the store for a moment", "open flush", "sealed", ...RESUME],
    },
    expected: resumedRow,
  },
];
