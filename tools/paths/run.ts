/**
 * `npm run paths`: for each machine its states, transitions, guards and generated paths, and what no path covers. With `--json` an array
 * of `{ machine, states, transitions, guards, paths, uncovered }`. Writes the coverage into the machines' pages, as `npm run docs` does.
 * Exit: 0; 1 something is not covered; 2 wrong usage.
 */

import { parseArgs } from "node:util";
import { table } from "../../src/cli/table.ts";
import { helpWith, ROOT } from "../command.ts";
import { apply, changes } from "../docs/generate.ts";
import { loadSource } from "../docs/source.ts";
import { explored } from "./explored.ts";

const USAGE = "usage: npm run paths [-- --json]";

/** True for `--json`. Ends the process where something else is asked for. */
function asksForJson(): boolean {
  try {
    return parseArgs({ options: { json: { type: "boolean", default: false } } }).values.json;
  } catch (error) {
    process.stderr.write(`paths: ${(error as Error).message}\n${USAGE}\n`);
    process.exit(2);
  }
}

helpWith(USAGE);
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
  console.log(
    table(
      columns,
      rows.map((row) => columns.map((column) => `${row[column]}`)),
    ).join("\n"),
  );
  const uncovered = rows.flatMap(({ machine, uncovered }) => uncovered.map((one) => `${machine}: ${one}`));
  console.log(uncovered.length === 0 ? "\nuncovered: nothing" : `\nuncovered:\n${uncovered.join("\n")}`);
}
if (rows.some(({ uncovered }) => uncovered.length > 0)) process.exitCode = 1;
