/**
 * `npm run mutate`: deletes each guard, target, action, transition and state of each machine in turn, and says which of them no test
 * misses. Writes `docs/mutation.md` where all machines were tried.
 *
 * Options: `--machine M` (one machine), `--only ID` (one mutant), `--json` (an array of `{ id, machine, kind, fate, stage, by }` on stdout
 * and nothing else). Exit: 0 every mutant was killed, refused or explained; 1 one was not, or an explanation is stale; 2 wrong usage.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { machines } from "../../machines/index.ts";
import { helpWith, ROOT } from "../command.ts";
import { judge, stale, type Verdict } from "./judge.ts";
import { mutantsOf } from "./mutant.ts";
import { page, text } from "./report.ts";

interface Options {
  readonly json: boolean;
  readonly machine: string | undefined;
  readonly only: string | undefined;
}

/** Throws a message for people. */
function options(): Options {
  const { values } = parseArgs({
    options: { json: { type: "boolean", default: false }, machine: { type: "string" }, only: { type: "string" } },
  });
  const { json, machine, only } = values;
  if (machine !== undefined && !machines.some(({ id }) => id === machine))
    throw new Error(`--machine is one of ${machines.map(({ id }) => id).join(", ")}`);
  const meant = machines.filter(({ id }) => machine === undefined || id === machine);
  if (only !== undefined && !meant.flatMap((one) => mutantsOf(one)).some(({ id }) => id === only))
    throw new Error(`there is no mutant ${only}${machine === undefined ? "" : ` of the machine ${machine}`}`);
  return { json, machine, only };
}

async function mutate({ json, machine, only }: Options): Promise<boolean> {
  const say = (line: string) => void (json ? process.stderr : process.stdout).write(`${line}\n`);
  const isMeant = (id: string) => (only === undefined || id === only) && (machine === undefined || id.startsWith(`${machine}: `));
  const tell = ({ id, fate, by }: Verdict) => {
    if (only !== undefined || fate === "survived") say(`${fate}: ${id}${by === undefined ? "" : `, by ${by}`}`);
  };
  const verdicts = await judge(machines, ({ id }) => isMeant(id), tell);
  const old = stale(verdicts, isMeant);
  say(text(verdicts));
  for (const id of old) say(`explained, and not a survivor: ${id}`);
  if (json) console.log(JSON.stringify(verdicts));
  if (machine === undefined && only === undefined) writeFileSync(join(ROOT, "docs", "mutation.md"), page(machines, verdicts));
  return old.length === 0 && !verdicts.some(({ fate }) => fate === "survived");
}

async function main(): Promise<void> {
  let chosen: Options;
  try {
    chosen = options();
  } catch (error) {
    process.stderr.write(`mutate: ${(error as Error).message}\n`);
    process.exitCode = 2;
    return;
  }
  // Also where nothing is wrong: vitest says 1 for each test that failed, as it should here.
  process.exitCode = (await mutate(chosen)) ? 0 : 1;
}

helpWith("usage: npm run mutate [-- [--machine M] [--only ID] [--json]]");
await main();
