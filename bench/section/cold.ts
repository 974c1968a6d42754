/**
 * Cold start: from the start of a process to the next step of a stored actor, durable. All contestants run as built JavaScript, in
 * processes of their own that take turns.
 */

import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createActor } from "xstate";
import type { Bench, Section } from "../bench.ts";
import { runProgram } from "../child/child.ts";
import { createSteps, openSteps } from "../contestant/engine.ts";
import { NAIVE_READ, NAIVE_TABLE } from "../contestant/naive.ts";
import { openPlain } from "../contestant/raw.ts";
import { isAfter } from "../fault.ts";
import { naive } from "../machine/naive.ts";
import { type Contestant, interleave, median } from "../measure.ts";
import { databaseOf } from "../place.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));

export const cold: Section = {
  name: "cold",
  about: "from process start to the next step, as built JavaScript",
  async run(bench: Bench): Promise<void> {
    const built = await build(bench);
    const root = bench.place.fresh("cold");
    const engine = await openSteps(root, "full");
    await createSteps(engine, 1);
    await engine.close();
    const files = { naive: naiveStore(bench), naive_zod: naiveStore(bench) };
    const parts: Parts[] = [];
    const child = (name: string) => join(built, "bench", "child", `cold-${name}.child.js`);
    const contestants: Contestant[] = [
      { name: "engine", turn: (index) => startOf(child("engine"), [root, String(index)], parts) },
      { name: "naive", turn: (index) => startOf(child("naive"), [files.naive, String(index)]) },
      { name: "naive_zod", turn: (index) => startOf(child("naive"), [files.naive_zod, String(index), "zod"]) },
      { name: "node", turn: () => startOf(child("bare"), []) },
    ];
    const { starts } = bench.scale;
    const results = await interleave(contestants, starts);
    for (const [name, samples] of results) bench.figures.sampled(`cold.${name}_ms`, "ms", samples);
    for (const part of ["importMs", "openMs", "stepMs"] as const)
      bench.figures.sampled(
        `cold.engine_${part.slice(0, -2)}_ms`,
        "ms",
        parts.slice(1).map((one) => one[part]),
        part === "importMs" ? "import of holdfast/actors alone" : undefined,
      );
    const ms = (name: string) => median(results.get(name) ?? []);
    bench.figures.counted("ratios.cold_start_vs_naive", "", ms("engine") / ms("naive"));
    bench.figures.counted("ratios.cold_start_vs_naive_zod", "", ms("engine") / ms("naive_zod"), "a hand-written one that validates");
    bench.faults.expectSteps("cold starts", databaseOf(root), 1, starts + 1);
    for (const [name, file] of Object.entries(files)) checkNaive(bench, name, file, starts + 1);
  },
};

interface Parts {
  readonly kind: string;
  readonly importMs: number;
  readonly openMs: number;
  readonly stepMs: number;
}

/** From before the process starts until it says that its step is durable, in ms. */
async function startOf(program: string, args: readonly string[], parts?: Parts[]): Promise<number> {
  const ended = await runProgram(process.execPath, [program, ...args]);
  const said = ended.code === 0 ? (JSON.parse(ended.stdout) as Parts) : undefined;
  if (said?.kind !== "accepted") throw new Error(`${program} ended with ${ended.code}: ${ended.stdout}${ended.stderr}`);
  parts?.push(said);
  return ended.firstOutputMs;
}

/** Compiles the package and the children, as the package is built, into a folder that finds the same dependencies. */
async function build(bench: Bench): Promise<string> {
  const folder = bench.place.fresh("built");
  mkdirSync(folder);
  const config = join(folder, "tsconfig.json");
  const compilerOptions = {
    noEmit: false,
    noEmitOnError: false,
    declaration: false,
    rootDir: repository,
    outDir: folder,
    typeRoots: [join(repository, "node_modules", "@types")],
  };
  const include = ["machines", "src", "bench/child/cold-*.child.ts"].map((path) => join(repository, path));
  writeFileSync(config, JSON.stringify({ extends: join(repository, "tsconfig.json"), compilerOptions, include }));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
  const compiler = join(repository, "node_modules", "typescript", "bin", "tsc");
  const ended = await runProgram(process.execPath, [compiler, "-p", config]);
  if (ended.code !== 0) throw new Error(`the package cannot be built: ${ended.stdout}${ended.stderr}`);
  return folder;
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
