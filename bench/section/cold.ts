/**
 * Cold start: from the start of a process to the next step of a stored actor, durable. All contestants run as built JavaScript, in
 * processes of their own that take turns.
 */

import { copyFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { createActor } from "xstate";
import { bundle, bundlePackage } from "../../tools/build/bundle.ts";
import { ROOT } from "../../tools/command.ts";
import type { Bench, Section } from "../bench.ts";
import { runProgram } from "../child/child.ts";
import { createSteps, openSteps } from "../contestant/engine.ts";
import { NAIVE_READ, NAIVE_TABLE } from "../contestant/naive.ts";
import { openPlain } from "../contestant/raw.ts";
import { isAfter } from "../fault.ts";
import { naive } from "../machine/naive.ts";
import { type Contestant, interleave, median } from "../measure.ts";
import { databaseOf } from "../place.ts";

/** What has both a contestant without a library for schemas, and one with zod. */
const KINDS = ["", "_zod"] as const;

export const cold: Section = {
  name: "cold",
  about: "from process start to the next step, as built JavaScript",
  async run(bench: Bench): Promise<void> {
    const child = await build(bench);
    const { starts } = bench.scale;
    const roots = await Promise.all(KINDS.map(() => engineRoot(bench)));
    const files = KINDS.map(() => naiveStore(bench));
    const parts: Parts[][] = KINDS.map(() => []);
    const contestants: Contestant[] = KINDS.flatMap((kind, at) => {
      const argsOf = (place: string | undefined, index: number) => [place ?? "", String(index), kind.slice(1)];
      return [
        {
          name: `engine${kind}`,
          turn: (index: number) => startOf(child(`engine${kind.replace("_", "-")}`), argsOf(roots[at], index), parts[at]),
        },
        { name: `naive${kind}`, turn: (index: number) => startOf(child("naive"), argsOf(files[at], index)) },
      ];
    });
    contestants.push({ name: "node", turn: () => startOf(child("bare"), []) });
    const results = await interleave(contestants, starts);
    for (const [name, samples] of results) bench.figures.sampled(`cold.${name}_ms`, "ms", samples);
    for (const [part, note] of Object.entries(PARTS) as [keyof typeof PARTS, string][])
      bench.figures.sampled(
        `cold.engine_${part.slice(0, -2)}_ms`,
        "ms",
        (parts[0] ?? []).slice(1).map((one) => one[part]),
        note,
      );
    const divide = (name: string, above: string, below: string, note: string) => {
      const ms = (of: string) => median(results.get(of) ?? []);
      bench.figures.counted(`ratios.${name}`, "", ms(above) / ms(below), note);
    };
    divide("cold_start_vs_naive", "engine", "naive", "neither loads a library for schemas; the engine validates");
    divide("cold_start_vs_naive_zod", "engine_zod", "naive_zod", "both load zod");
    divide("cold_start_zod_vs_naive", "engine_zod", "naive", "the engine loads zod, the naive one does not");
    for (const [at, kind] of KINDS.entries()) {
      bench.faults.expectSteps(`cold starts, engine${kind}`, databaseOf(roots[at] ?? ""), 1, starts + 1);
      checkNaive(bench, `naive${kind}`, files[at] ?? "", starts + 1);
    }
  },
};

const PARTS = {
  importMs: "import of holdfast/actors alone",
  machineMs: "import of the machine",
  openMs: "openActors",
  stepMs: "send, until it is durable",
};

type Parts = Readonly<Record<keyof typeof PARTS, number>> & { readonly kind: string };

/** From before the process starts until it says that its step is durable, in ms. */
async function startOf(program: string, args: readonly string[], parts?: Parts[]): Promise<number> {
  const ended = await runProgram(process.execPath, [program, ...args]);
  const said = ended.code === 0 ? (JSON.parse(ended.stdout) as Parts) : undefined;
  if (said?.kind !== "accepted") throw new Error(`${program} ended with ${ended.code}: ${ended.stdout}${ended.stderr}`);
  parts?.push(said);
  return ended.firstOutputMs;
}

/** Bundles the package as it is built, and the children beside it, into a folder that finds the same dependencies. Gives the children. */
async function build(bench: Bench): Promise<(name: string) => string> {
  const folder = bench.place.fresh("built");
  await bundlePackage(join(folder, "dist"));
  for (const name of ["engine", "engine-zod", "naive", "bare"])
    await bundle({ child: `bench/child/cold-${name}.child.ts` }, join(folder, name));
  // With its exports the children find the package by its name.
  copyFileSync(join(ROOT, "package.json"), join(folder, "package.json"));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return (name) => join(folder, name, "child.js");
}

/** A root with one actor. */
async function engineRoot(bench: Bench): Promise<string> {
  const root = bench.place.fresh("cold");
  const engine = await openSteps(root, "full");
  await createSteps(engine, 1);
  await engine.close();
  return root;
}

function naiveStore(bench: Bench): string {
  const file = bench.place.fresh("cold-naive.db");
  const db = openPlain(file, "full");
  db.exec(NAIVE_TABLE);
  const snapshot = JSON.stringify(createActor(naive).start().getPersistedSnapshot());
  db.prepare("INSERT INTO actors (id, snapshot) VALUES ('actor-0', ?)").run(snapshot);
  db.close();
  return file;
}

function checkNaive(bench: Bench, name: string, file: string, steps: number): void {
  const db = openPlain(file, "full");
  const row = db.prepare<[string], { snapshot: string }>(NAIVE_READ).get("actor-0");
  db.close();
  bench.faults.expect(`cold starts, ${name}: the actor has taken its events`, row !== undefined && isAfter(row.snapshot, steps), true);
}
