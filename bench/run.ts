/**
 * `npm run bench`: measures the engine beside raw SQLite and beside XState made durable by hand. README.md says what each figure means.
 *
 * Options: `--json` (one document on stdout), `--quick` (small counts), `--only NAME[,NAME]` (sections), `--check` (a missed limit
 * fails), `--dir DIR` (where roots are made; default: the system's temporary folder). Exit: 0 done; 1 a count is wrong, or a limit
 * missed with `--check`; 2 wrong usage.
 */

import { cpus, loadavg, tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { helpWith } from "../tools/command.ts";
import type { Section } from "./bench.ts";
import { Faults } from "./fault.ts";
import { Figures } from "./figure.ts";
import { Place } from "./place.ts";
import { addRatios, LIMITS, verdict } from "./ratio.ts";
import { missed, report } from "./report.ts";
import { QUICK, WHOLE } from "./scale.ts";
import { cold } from "./section/cold.ts";
import { concurrent } from "./section/concurrent.ts";
import { effects } from "./section/effects.ts";
import { fsync } from "./section/fsync.ts";
import { length } from "./section/length.ts";
import { parts } from "./section/parts.ts";
import { recovery } from "./section/recovery.ts";
import { sequential } from "./section/sequential.ts";
import { timers } from "./section/timers.ts";

const SECTIONS: readonly Section[] = [sequential, concurrent, parts, length, recovery, effects, timers, fsync, cold];

interface Options {
  readonly json: boolean;
  readonly quick: boolean;
  readonly check: boolean;
  readonly directory: string;
  readonly sections: readonly Section[];
}

/** Throws a message for people. */
function options(): Options {
  const { values } = parseArgs({
    options: {
      json: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
      only: { type: "string" },
      dir: { type: "string", default: tmpdir() },
    },
  });
  const names = values.only?.split(",");
  for (const name of names ?? [])
    if (!SECTIONS.some((section) => section.name === name))
      throw new Error(`there is no section ${name}; there are ${SECTIONS.map((section) => section.name).join(", ")}`);
  const sections = SECTIONS.filter((section) => !names || names.includes(section.name));
  return { json: values.json, quick: values.quick, check: values.check, directory: values.dir, sections };
}

async function bench({ json, quick, check, directory, sections }: Options): Promise<void> {
  const figures = new Figures();
  const faults = new Faults();
  const scale = quick ? QUICK : WHOLE;
  const begun = performance.now();
  const say = (text: string) => void process.stderr.write(`${((performance.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${text}\n`);
  const place = new Place(directory);
  const load = [loadavg()[0] ?? 0];
  for (const section of sections) {
    say(`${section.name}: ${section.about}`);
    await section.run({ place, figures, faults, scale, say });
    load.push(loadavg()[0] ?? 0);
  }
  addRatios(figures);
  say("done");
  if (json)
    console.log(
      JSON.stringify(document(figures, faults, { quick, load, seconds: Math.round((performance.now() - begun) / 1000) }), undefined, 2),
    );
  else console.log(report(figures, faults, load));
  if (faults.all.length > 0 || (check && missed(figures))) process.exitCode = 1;
}

/** All figures, and what there is to know about them. */
function document(
  figures: Figures,
  faults: Faults,
  about: { quick: boolean; load: readonly number[]; seconds: number },
): Record<string, unknown> {
  const sampled = [...figures.all.values()].filter(({ samples }) => samples.length > 0);
  return {
    ...figures.document(),
    limits: Object.fromEntries(
      LIMITS.map((limit) => [limit.name, { [limit.relation.replace(" ", "_")]: limit.limit, verdict: verdict(limit, figures) }]),
    ),
    spread: Object.fromEntries(sampled.map(({ name, samples }) => [name, spreadOf(samples)])),
    notes: Object.fromEntries([...figures.all.values()].flatMap(({ name, note }) => (note === undefined ? [] : [[name, note]]))),
    counts: { checked: faults.checks, wrong: faults.all },
    machine: { node: process.version, platform: process.platform, cpus: cpus().length, model: cpus()[0]?.model ?? "" },
    ...about,
  };
}

function spreadOf(samples: readonly number[]): { least: number; most: number; repetitions: number } {
  const [least, most] = [Math.min(...samples), Math.max(...samples)];
  return { least: Number(least.toPrecision(5)), most: Number(most.toPrecision(5)), repetitions: samples.length };
}

function parsed(): Options | undefined {
  try {
    return options();
  } catch (error) {
    process.stderr.write(`bench: ${(error as Error).message}\n`);
    process.exitCode = 2;
    return undefined;
  }
}

helpWith("usage: npm run bench [-- [--json] [--quick] [--only NAME[,NAME]] [--check] [--dir DIR]]");
const chosen = parsed();
if (chosen) await bench(chosen);
