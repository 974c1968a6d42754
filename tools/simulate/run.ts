/**
 * `npm run simulate`: thousands of sessions, hosts that die, and all that may happen to them, drawn from one seed. Equal arguments
 * give equal digests. Ends with 1 where a promise was broken, and says how to see it again; with 2 for arguments that do not fit.
 */

import { parseArgs } from "node:util";
import { plural } from "../../src/agent/count.ts";
import { BROKEN } from "../../test/simulation/sabotage.ts";
import { type Report, simulate } from "../../test/simulation/simulation.ts";
import { helpWith, wholeNumber } from "../command.ts";

const USAGE = `usage: npm run simulate -- [--seed N] [--steps M] [--store memory|sqlite] [--break ${Object.keys(BROKEN).join("|")}] [--json]`;
const STEPS = 10_000;

interface Arguments {
  readonly seed: number;
  readonly steps: number;
  readonly store: "memory" | "sqlite";
  readonly broken: string | undefined;
  readonly json: boolean;
}

function whole(name: string, text: string, least: number): number {
  const value = wholeNumber(text, least);
  if (value === undefined) throw new RangeError(`--${name} is a whole number from ${least}`);
  return value;
}

function argumentsOf(args: readonly string[]): Arguments {
  const text = { type: "string" } as const;
  const options = { seed: text, steps: text, store: text, break: text, json: { type: "boolean" } } as const;
  const { values } = parseArgs({ args: [...args], options, strict: true });
  const { store = "memory", break: broken } = values;
  if (store !== "memory" && store !== "sqlite") throw new RangeError("--store is memory or sqlite");
  if (broken !== undefined && !Object.hasOwn(BROKEN, broken)) throw new RangeError(`--break is one of ${Object.keys(BROKEN).join(", ")}`);
  const [seed, steps] = [whole("seed", values.seed ?? "1", 0), whole("steps", values.steps ?? `${STEPS}`, 1)];
  return { seed, steps, store, broken, json: values.json ?? false };
}

function show({ json, store, broken }: Arguments, report: Report): void {
  const { seed, steps, sessions, crashes, handoffs, digest, violations } = report;
  if (json) {
    console.log(JSON.stringify({ seed, steps, sessions, crashes, handoffs, digest, violations }));
    return;
  }
  const { runs, takeovers, faults, entries } = report;
  console.log(
    `seed ${seed}: ${[
      ...[plural(steps, "event"), plural(sessions, "session"), plural(runs, "run"), plural(handoffs, "handoff"), plural(crashes, "crash")],
      ...[plural(takeovers, "takeover"), plural(faults, "store fault"), plural(entries, "entry")],
    ].join(", ")}`,
  );
  console.log(`digest ${digest}`);
  for (const { step, what } of violations) console.log(`seed ${seed}, event ${step}: ${what}`);
  const [first] = violations;
  if (!first) {
    console.log("no violation");
    return;
  }
  const others = `${store === "memory" ? "" : ` --store ${store}`}${broken === undefined ? "" : ` --break ${broken}`}`;
  console.log(`again: npm run simulate -- --seed ${seed} --steps ${Math.max(1, first.step)}${others}`);
}

async function main(): Promise<number> {
  let given: Arguments;
  try {
    given = argumentsOf(process.argv.slice(2));
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`);
    return 2;
  }
  const { seed, steps, store, broken } = given;
  const sabotage = broken === undefined ? undefined : BROKEN[broken]?.sabotage();
  const report = await simulate({ seed, steps, store, ...(sabotage ? { sabotage } : {}) });
  show(given, report);
  return report.violations.length > 0 ? 1 : 0;
}

helpWith(USAGE);
process.exitCode = await main();
