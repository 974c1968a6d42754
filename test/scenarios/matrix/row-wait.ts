/** Rows 39 and 40: a run that waits for a person, and output that was streamed. */

import { RESUME, SEAL } from "./act.ts";
import { NOT_ASKED, type Row, resumedRow, unsealedRow } from "./row.ts";

const question = { id: "question-1", question: "May I?" };
const asks = { report: { next: "wait", interaction: question, remainingSteps: 2 } } as const;

export const waitRows: readonly Row[] = [
  {
    row: 39,
    decision: "handoff_while_waiting",
    given: {
      steps: { "original-run#1": asks },
      acts: [
        "start",
        "open original-run#1",
        "wait for the question",
        "request",
        "ready",
        "preview",
        "commit",
        "sealed",
        "check",
        "begin to resume",
        "wait for the successor's question",
        "answer",
        "end of the successor",
        "answer",
      ],
    },
    expected: { ...resumedRow, resume: NOT_ASKED, "answer 2": "run_not_active", preview: { interaction: question, remainingSteps: 2 } },
  },
  {
    row: 39,
    decision: "handoff_while_waiting, cancelled",
    given: {
      steps: { "original-run#1": asks },
      acts: [
        "start",
        "open original-run#1",
        "wait for the question",
        "request",
        "ready",
        "answer the original",
        "cancel",
        "answer the original",
        "end",
        "sealed",
      ],
    },
    expected: {
      ...unsealedRow,
      "answer the original": "interaction_not_open",
      cancel: true,
      "answer the original 2": undefined,
      sealed: false,
      source: "completed",
      handoff: "cancelled",
    },
  },
  {
    row: 39,
    decision: "restart while held from waiting",
    given: {
      steps: { "original-run#1": asks },
      acts: [
        "start",
        "open original-run#1",
        "wait for the question",
        "request",
        "ready",
        "reopen",
        "recover",
        "answer the original",
        "end",
      ],
    },
    expected: {
      ...unsealedRow,
      "answer the original": undefined,
      end: { kind: "completed", stopReason: "end_turn" },
      handoff: "cancelled",
    },
  },
  {
    row: 40,
    decision: "partial_output",
    given: {
      steps: {
        "original-run#1": {
          partial: ["fi", "rst"],
          calls: [{ name: "note", args: { thing: "a" } }],
          report: { text: "first", next: "continue", remainingSteps: 2 },
        },
      },
      acts: [...SEAL, ...RESUME],
    },
    expected: resumedRow,
  },
];
