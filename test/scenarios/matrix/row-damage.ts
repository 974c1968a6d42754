/** Rows 37 and 38: a root that was damaged, or written by a newer program. */

import { HOLD, RESUME, SEAL } from "./act.ts";
import { pendingRow, type Row, resumedRow, unsealedRow } from "./row.ts";

export const damageRows: readonly Row[] = [
  {
    row: 37,
    repeats: true,
    decision: "damaged_source",
    given: {
      acts: [...SEAL, "check", "change one byte of the source's journal", "check", "resume", "reopen", "check", "another session works"],
    },
    expected: {
      ...pendingRow,
      // The other session's is the second.
      dispatches: 2,
      check: "continue",
      "check 2": ["journal_damaged"],
      resume: "journal_damaged",
      "check 3": ["actor_quarantined"],
      quarantined: "run/original-run",
      "another session works": "completed",
    },
  },
  {
    row: 38,
    decision: "newer_writer: schema",
    given: {
      acts: [
        ...SEAL,
        "a newer schema wrote the root",
        "take the root",
        "are the bytes the same",
        "the schema is as before",
        "take the root",
        ...RESUME,
      ],
    },
    expected: { ...resumedRow, "take the root": "schema_newer", "are the bytes the same": true },
  },
  {
    row: 38,
    decision: "newer_writer: machine version",
    given: {
      acts: [
        ...HOLD,
        "a newer machine wrote the run",
        "take the root",
        "are the bytes the same",
        "the run's version is as before",
        "take the root",
        "end",
      ],
    },
    expected: { ...unsealedRow, "take the root": "machine_version_newer", "are the bytes the same": true },
  },
  {
    row: 38,
    decision: "newer_writer: a missing migration refuses that run alone",
    given: {
      acts: [
        ...HOLD,
        "an older machine without a migration wrote the run",
        "take the root",
        "another session works",
        "stop",
        "close",
        "the run's version is as before",
        "take the root",
        "end",
      ],
    },
    expected: {
      "take the root": "taken",
      "another session works": "completed",
      // Taken by the session, and kept for the run until a program can ask it.
      stop: undefined,
      end: { kind: "cancelled", by: "user" },
      handoff: "declined",
    },
  },
];
