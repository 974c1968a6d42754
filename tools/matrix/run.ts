/**
 * `npm run matrix`: plays every row of the decision matrix and prints what was seen.
 *
 * Options: `--row N` (one row with its variants), `--repeat N` (rows with a crash or a race N times; the other ones once), `--json` (an
 * array of `{ row, decision, runs, passed, seen }` on stdout and nothing else). Exit: 0 every row passed; 1 one did not, or is missing;
 * 2 wrong usage; 130 interrupted.
 */

import { parseArgs } from "node:util";
import { plural } from "../../src/agent/count.ts";
import { endContenders } from "../../test/scenarios/matrix/contender.ts";
import { paths } from "../../test/scenarios/matrix/path.ts";
import { gaps, type Result, ROWS, ROWS_IN_ALL, runRow } from "../../test/scenarios/matrix/run.ts";
import { endWorlds } from "../../test/scenarios/world.ts";
import { helpWith } from "../command.ts";
import { lineOf, lines, titles, totalOf } from "./report.ts";

/** Largest `--repeat`. */
const REPEAT_LIMIT = 10_000;

interface Options {
  readonly json: boolean;
  readonly row: number | undefined;
  readonly repeat: number;
}

/** Throws a message for people. */
function options(): Options {
  const { values } = parseArgs({
    options: { json: { type: "boolean", default: false }, row: { type: "string" }, repeat: { type: "string", default: "1" } },
  });
  return {
    json: values.json,
    row: values.row === undefined ? undefined : whole("row", values.row, ROWS_IN_ALL),
    repeat: whole("repeat", values.repeat, REPEAT_LIMIT),
  };
}

function whole(name: string, given: string, most: number): number {
  const number = /^\d{1,9}$/.test(given) ? Number(given) : 0;
  if (number < 1 || number > most) throw new Error(`--${name} is a whole number from 1 to ${most}, not ${given}`);
  return number;
}

async function matrix({ json, row: only, repeat }: Options): Promise<boolean> {
  const say = (text: string) => void (json ? process.stderr : process.stdout).write(`${text}\n`);
  const isMeant = ({ row }: { readonly row: number }) => only === undefined || row === only;
  const results: Result[] = [];
  say(titles());
  for (const row of ROWS.filter(isMeant)) {
    const result = await runRow(row, row.repeats ? repeat : 1);
    results.push(result);
    for (const line of lines(result)) say(line);
  }
  const found = only === undefined ? gaps() : [];
  for (const gap of found) say(`       ${gap}`);
  const { states, edges, paths: made } = paths();
  say(`\npaths of rows 1-16: ${made.size}, the shortest in a model of ${plural(states, "state")} and ${plural(edges, "edge")}`);
  const { passed, rows } = totalOf(results);
  say(lineOf(passed, rows));
  if (json) console.log(JSON.stringify(results.map(({ problem: _, ...result }) => result)));
  return passed === rows && found.length === 0;
}

/** Ends processes and removes directories, whatever happens. */
async function clean(): Promise<void> {
  endContenders();
  await endWorlds();
}

async function main(): Promise<void> {
  let chosen: Options;
  try {
    chosen = options();
  } catch (error) {
    process.stderr.write(`matrix: ${(error as Error).message}\n`);
    process.exitCode = 2;
    return;
  }
  process.once("SIGINT", () => void clean().finally(() => process.exit(130)));
  try {
    if (!(await matrix(chosen))) process.exitCode = 1;
  } finally {
    await clean();
  }
}

helpWith("usage: npm run -s matrix [-- [--row N] [--repeat N] [--json]]");
await main();
