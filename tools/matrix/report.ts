/** Report: results of the matrix as lines of text. */

import type { Result } from "../../test/scenarios/matrix/run.ts";

/** What is known of a row beside its answers; these come first. */
const STATES = ["source", "handoff", "session", "tip", "dispatches", "seals"];
/** Characters of one answer, and of all that was seen, that a line shows. */
const ANSWER_LIMIT = 60;
const SEEN_LIMIT = 400;

/** A row as a line: its number, what passed of its runs, its decision, what was seen; where one failed, the reason below. */
export function lines({ row, decision, runs, passed, seen, problem }: Result): string[] {
  const mark = passed === runs && runs > 0 ? "ok" : "--";
  const head = `${String(row).padStart(3)} ${mark} ${`${passed}/${runs}`.padStart(5)}  ${decision}`;
  const said = textOf(seen);
  return [said === "" ? head : `${head}: ${said}`, ...(problem === undefined ? [] : problem.split("\n").map((line) => `       ${line}`))];
}

function textOf(seen: Result["seen"]): string {
  const names = Object.keys(seen);
  const states = names.filter((name) => STATES.includes(name)).map((name) => `${name} ${text(seen[name])}`);
  const answers = names
    .filter((name) => !STATES.includes(name) && seen[name] !== undefined)
    .map((name) => `${name}: ${short(text(seen[name]), ANSWER_LIMIT)}`);
  const whole = [states.join(", "), answers.join(", ")].filter((part) => part !== "").join("; ");
  return short(whole, SEEN_LIMIT);
}

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
