/**
 * `npm run paths`: for each machine its states, transitions, guards and generated paths, and what no path covers. With `--json` an array
 * of `{ machine, states, transitions, guards, paths, uncovered }`. Writes the coverage into the machines' pages, as `npm run docs` does.
 * Exit: 0; 1 something is not covered; 2 wrong usage.
 */

import { parseArgs } from "node:util";
import { ROOT } from "../command.ts";
import { apply, changes } from "../docs/generate.ts";
import { loadSource } from "../docs/source.ts";
import { explored } from "./explored.ts";

/** True for `--json`. Ends the process where something else is asked for. */
function asksForJson(): boolean {
  try {
    return parseArgs({ options: { json: { type: "boolean", default: false } } }).values.json;
  } catch (error) {
    process.stderr.write(`paths: ${(error as Error).message}\nusage: npm run paths [-- --json]\n`);
    process.exit(2);
  }
}

const isJson = asksForJson();
const found = explored();
const rows = found.map(({ machine, states, transitions, guards, paths, uncovered, withoutWay }) => ({
  ...{ machine, states, transitions, guards, paths: paths.length },
  uncovered: [...uncovered, ...withoutWay.map((type) => `event ${type} has no variant`)],
}));
apply(
  ROOT,
  changes(ROOT, { ...loadSource(), paths: () => found }).filter(({ path }) => path.startsWith("docs/machines/")),
);
if (isJson) console.log(JSON.stringify(rows, null, 2));
else {
  const columns = ["machine", "states", "transitions", "guards", "paths"] as const;
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => String(row[column]).length)));
  const line = (cells: readonly (string | number)[]) => cells.map((cell, index) => String(cell).padEnd(widths[index] ?? 0)).join("  ");
  console.log([line(columns), ...rows.map((row) => line(columns.map((column) => row[column])))].join("\n"));
  const uncovered = rows.flatMap(({ machine, uncovered }) => uncovered.map((one) => `${machine}: ${one}`));
  console.log(uncovered.length === 0 ? "\nuncovered: nothing" : `\nuncovered:\n${uncovered.join("\n")}`);
}
if (rows.some(({ uncovered }) => uncovered.length > 0)) process.exitCode = 1;
