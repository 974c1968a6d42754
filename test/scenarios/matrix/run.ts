/** Runs rows of the matrix: each on a world of its own, and what was seen is read back from the store. Knows no test framework. */

import { DECISIONS, type Decision } from "../decision.ts";
import { demand, holds } from "./invariant.ts";
import { paths, playPath } from "./path.ts";
import { Play } from "./play.ts";
import { type Attempt, NOT_ASKED, type PathRow, type PerformedRow, type PlayedRow, type Row } from "./row.ts";
import { crashRows } from "./row-crash.ts";
import { damageRows } from "./row-damage.ts";
import { killRows } from "./row-kill.ts";
import { raceRows } from "./row-race.ts";
import { requestRows } from "./row-request.ts";
import { resumeRows } from "./row-resume.ts";
import { seedRows } from "./row-seed.ts";
import { waitRows } from "./row-wait.ts";

/** Numbers that the specification has. */
export const ROWS_IN_ALL = 40;

/** Every row with its variants, in the order of their numbers. */
export const ROWS: readonly Row[] = [
  ...seedRows,
  ...requestRows,
  ...resumeRows,
  ...raceRows,
  ...crashRows,
  ...killRows,
  ...damageRows,
  ...waitRows,
].sort((one, next) => one.row - next.row);

export interface Result {
  readonly row: number;
  readonly decision: string;
  /** How often it was run, and how often it went as expected. */
  readonly runs: number;
  readonly passed: number;
  /** What the last run saw. */
  readonly seen: Readonly<Record<string, unknown>>;
  /** What was wrong with the first run that failed. */
  readonly problem?: string;
}

type Seen = Readonly<Record<string, unknown>>;

/** Runs a row, `runs` times. Never rejects for what the row does. */
export async function runRow(row: Row, runs = 1): Promise<Result> {
  let seen: Seen = {};
  let passed = 0;
  let problem: string | undefined;
  for (let index = 0; index < runs; index++)
    try {
      await runOnce(row, { index, of: runs }, (found) => {
        seen = found;
      });
      passed++;
    } catch (error) {
      problem ??= `${runs > 1 ? `run ${index + 1}: ` : ""}${error instanceof Error ? error.message : String(error)}`;
    }
  return { row: row.row, decision: row.decision, runs, passed, seen, ...(problem === undefined ? {} : { problem }) };
}

async function runOnce(row: Row, attempt: Attempt, saw: (found: Seen) => void): Promise<void> {
  if ("perform" in row) return performed(row, attempt, saw);
  const play = await played(row);
  try {
    const found = { ...play.found, ...asides(play) };
    saw(found);
    expects(row, found);
    await holds(play);
  } finally {
    await play.end();
  }
}

const played = (row: PlayedRow | PathRow): Promise<Play> => ("path" in row ? playPath(row.path, row) : Play.of(row.given));

async function performed(row: PerformedRow, attempt: Attempt, saw: (found: Seen) => void): Promise<void> {
  const found = await row.perform(attempt);
  saw(found);
  expects(row, found);
}

/** Everything that is expected is there, also where an act gave nothing, and no act was done that is not to be. */
function expects({ expected }: Row, found: Seen): void {
  const isAsked = ([, value]: [string, unknown]) => value !== NOT_ASKED;
  demand(found, Object.fromEntries(Object.entries(expected).filter(isAsked)), "what was seen is not what is expected");
  const done = Object.keys(expected).filter((name) => expected[name] === NOT_ASKED && name in found);
  if (done.length > 0) throw new Error(`what is not asked of the row was done: ${done.join(", ")}`);
}

/** What is seen besides where there is something to see. */
function asides({ world }: Play): Seen {
  const unknownTools = world.count("tool.unknown");
  const quarantined = world.actors().flatMap(({ address, quarantine }) => (quarantine ? [address] : []));
  return { ...(unknownTools > 0 ? { unknownTools } : {}), ...(quarantined.length > 0 ? { quarantined: quarantined.join(" ") } : {}) };
}

/** What the table lacks: numbers without a row, decisions without a row or a path, rows that should have a path and have none. */
export function gaps(rows: readonly Row[] = ROWS, generated: ReadonlySet<string> = new Set(paths().paths.keys())): string[] {
  const numbers = Array.from({ length: ROWS_IN_ALL }, (_, index) => index + 1);
  const pathRows = rows.filter((row): row is PathRow => "path" in row);
  const decisions = Object.entries(DECISIONS) as [Decision, { readonly row: number }][];
  return [
    ...numbers.filter((number) => !rows.some(({ row }) => row === number)).map((number) => `row ${number} is not there`),
    ...decisions
      .filter(([decision, { row }]) => !pathRows.some(({ path, row: number }) => path === decision && row === number))
      .map(([decision]) => `the decision ${decision} has no row`),
    ...decisions.filter(([decision]) => !generated.has(decision)).map(([decision]) => `the decision ${decision} has no path`),
    ...numbers.filter((number) => number <= 16 && !pathRows.some(({ row }) => row === number)).map((number) => `row ${number} has no path`),
  ];
}
