/** Report: results of the matrix as a table. */

import type { Result } from "../../test/scenarios/matrix/run.ts";

/** What was read back from the store, as columns: name in the result, title, width. */
const COLUMNS = [
  ["source", "source run", 10],
  ["handoff", "handoff", 9],
  ["session", "session", 8],
  ["dispatches", "disp", 4],
  ["seals", "seal", 4],
  ["tip", "tip of the turn", 23],
] as const;
const DECISION_WIDTH = 64;
/** Characters of one answer, and of all of them, that a line shows where a row has no columns. */
const ANSWER_LIMIT = 60;
const SEEN_LIMIT = 160;

/** The titles of the columns. */
export function titles(): string {
  return `row    runs  ${"decision".padEnd(DECISION_WIDTH)}  ${COLUMNS.map(([, title, width]) => title.padEnd(width)).join("  ")}`.trimEnd();
}

/** A row as a line: its number, what passed of its runs, its decision, what was seen; where one failed, the reason below. */
export function lines({ row, decision, runs, passed, seen, problem }: Result): string[] {
  const mark = passed === runs && runs > 0 ? "ok" : "--";
  const head = `${String(row).padStart(3)} ${mark} ${`${passed}/${runs}`.padStart(5)}  ${short(decision, DECISION_WIDTH).padEnd(DECISION_WIDTH)}`;
  const line = `${head}  ${seen.source === undefined ? answers(seen) : columns(seen)}`.trimEnd();
  return [line, ...(problem === undefined ? [] : problem.split("\n").map((text) => `       ${text}`))];
}

const columns = (seen: Result["seen"]): string => COLUMNS.map(([name, , width]) => text(seen[name]).padEnd(width)).join("  ");

/** A row that needs processes of its own says itself what it saw. */
const answers = (seen: Result["seen"]): string =>
  short(
    Object.entries(seen)
      .map(([name, value]) => `${name}: ${short(text(value), ANSWER_LIMIT)}`)
      .join(", "),
    SEEN_LIMIT,
  );

const text = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? "none"));

const short = (whole: string, limit: number): string => (whole.length > limit ? `${whole.slice(0, limit - 1)}…` : whole);

/** How many row numbers there are, and of how many every variant passed in every run. */
export function totalOf(results: readonly Result[]): { readonly passed: number; readonly rows: number } {
  const failed = new Set(results.filter(({ runs, passed }) => runs === 0 || passed < runs).map(({ row }) => row));
  const rows = new Set(results.map(({ row }) => row));
  return { passed: rows.size - failed.size, rows: rows.size };
}

/** The last line. */
export const lineOf = (passed: number, rows: number): string => `${passed} of ${rows}`;
