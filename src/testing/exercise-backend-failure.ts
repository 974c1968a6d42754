/** Failure: what is said where a promise is broken: what was asked, what the backend did, what the contract expects, and where it says so. */

import assert from "node:assert/strict";

/** A part of the contract, with the page that documents it. */
export interface Clause {
  /** Of the group of tests. */
  readonly title: string;
  readonly expects: string;
  /** A heading of a page that comes with the package. */
  readonly page: string;
}

const DUTIES = "docs/guides/backends.md#a-step-and-its-duties";

/** The contract by its parts. */
export const CLAUSES = {
  turn: {
    title: "a turn",
    expects: "each step ends with a report, and with so many of them the turn is over",
    page: DUTIES,
  },
  steps: {
    title: "one call of step is one step (duty 1)",
    expects: "one call of `step` is one model step; between two nothing of the backend is in flight",
    page: DUTIES,
  },
  successions: {
    title: "all that a later step needs is in the transcript (duty 2)",
    expects:
      "all that a later step needs is in the transcript: nothing that matters is kept in memory, for the next step may run elsewhere",
    page: DUTIES,
  },
  tools: {
    title: "work goes through callTool (duty 3)",
    expects: "work on the world goes through `callTool`, which makes the call and its result durable",
    page: DUTIES,
  },
  aborts: {
    title: "an aborted step ends soon (duty 4)",
    expects: "where `signal` is aborted, `step` ends soon: it reports or rejects",
    page: DUTIES,
  },
  compositions: {
    title: "prepare",
    expects: "a composition says by hash what the model will be given: the same in each process, and of a continuation",
    page: "docs/guides/backends.md#a-composition-of-real-hashes",
  },
  drains: {
    title: "flush and ended",
    expects: "`flush` and `ended` may be called for runs that are over or not known, and again",
    page: "docs/guides/backends.md#around-a-run",
  },
  deaths: {
    title: "a killed process",
    expects: "a new process goes on from the transcript; of a call without an outcome its tool says who may go on",
    page: "docs/guides/backends.md#tools",
  },
} as const satisfies Record<string, Clause>;

/** As the body; where it rejects, with an error that tells all of it, and of the same `actual` and `expected`. */
export async function tellingAll({ expects, page }: Clause, promise: string, asked: string, body: () => Promise<void>): Promise<void> {
  try {
    await body();
  } catch (error) {
    const message = [
      `asked: ${asked}`,
      `what it did: ${didText(error)}`,
      `the contract expects: "${promise}"; ${expects}`,
      `documented in: ${page} of the package holdfast, and at the type Backend`,
    ].join("\n");
    // Of an operator that compares, Node would append the difference to the message, which frameworks show by themselves.
    // That a condition is false and not true says nothing.
    const values =
      error instanceof assert.AssertionError && /equal/i.test(error.operator) ? { actual: error.actual, expected: error.expected } : {};
    throw Object.assign(new assert.AssertionError({ message, ...values, operator: "promise" }), { cause: error });
  }
}

function didText(error: unknown): string {
  if (error instanceof assert.AssertionError) return error.message.split("\n+ actual - expected")[0] as string;
  const { name, code, message } = Object(error) as { name?: string; code?: unknown; message?: string };
  return message === undefined ? `threw ${String(error)}` : `threw ${typeof code === "string" ? code : (name ?? "an error")}: ${message}`;
}
