/** Rows 39 and 40: a run that waits for a person, and output that was streamed. */

import { RESUME, SEAL } from "./act.ts";
import { NOT_ASKED, type Row, resumedRow, unsealedRow } from "./row.ts";

const asks = { report: { next: "wait", interaction: { id: "question-1", question: "May I?" }, remainingSteps: 2 } } as const;
const question = { id: "original-run.question-1", question: "May I?" };
/** Held, committed and sealed while it waits. */
const SEAL_WAITING = ["start", "open original-run#1", "wait for the question", "request", "ready", "preview", "commit", "sealed"] as const;

export const waitRows: readonly Row[] = [
  {
    row: 39,
    decision: "handoff_while_waiting",
    given: {
      steps: { "original-run#1": asks },
      acts: [...SEAL_WAITING, "check", "begin to resume", "wait for the successor's question", "answer", "end of the successor", "answer"],
    },
    expected: {
      ...resumedRow,
      resume: NOT_ASKED,
      "answer 2": undefined,
      answers: 1,
      preview: { interaction: question, remainingSteps: 2 },
    },
  },
  {
    row: 39,
    decision: "handoff_while_waiting, cancelled",
    given: {
      steps: { "original-run#1": asks },
      acts: ["start", "open original-run#1", "wait for the question", "request", "ready", "answer the original", "cancel", "end", "sealed"],
    },
    expected: {
      ...unsealedRow,
      "answer the original": undefined,
      answers: 1,
      cancel: true,
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
    row: 39,
    decision: "handoff_while_waiting, answered before the resume",
    given: { steps: { "original-run#1": asks }, acts: [...SEAL_WAITING, "answer the original", ...RESUME, "end of the successor"] },
    expected: { ...resumedRow, "answer the original": undefined, answers: 1, preview: { interaction: question, remainingSteps: 2 } },
  },
  {
    row: 39,
    decision: "handoff_while_waiting, answered in another process than the one that resumes",
    given: { steps: { "original-run#1": asks }, acts: [...SEAL_WAITING, "answer the original", "reopen", ...RESUME] },
    expected: { ...resumedRow, "answer the original": undefined, answers: 1 },
  },
  {
    row: 39,
    decision: "restart_while_waiting",
    given: {
      steps: { "original-run#1": asks },
      acts: ["start", "open original-run#1", "wait for the question", "reopen", "answer the original", "end"],
    },
    expected: { ...unsealedRow, dispatches: 1, answers: 1, end: { kind: "completed", stopReason: "end_turn" } },
  },
  {
    row: 39,
    decision: "restart_while_waiting, and another composition after it",
    given: {
      steps: { "original-run#1": asks },
      acts: ["start", "open original-run#1", "wait for the question", "another prompt is composed", "reopen", "answer the original", "end"],
    },
    expected: { ...unsealedRow, answers: 1, end: { failed: "composition_drift", drift: ["prompt"] } },
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
