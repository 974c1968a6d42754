/** Fsyncs: how often a step waits for the disk, counted by strace over processes that differ only in their number of steps. */

import { readFileSync } from "node:fs";
import type { Bench, Section } from "../bench.ts";
import { childPath, runProgram } from "../child/child.ts";
import { databaseOf } from "../place.ts";

interface Syncs {
  /** Of any file. */
  readonly all: number;
  /** Of the database file itself, which only a checkpoint syncs. */
  readonly database: number;
}

export const fsync: Section = {
  name: "fsync",
  about: "fsyncs per step, by strace",
  async run(bench: Bench): Promise<void> {
    const { figures } = bench;
    const [few, many] = bench.scale.traced;
    const found: Syncs[] = [];
    for (const steps of [few, 2 * few, many, 2 * many]) {
      const syncs = await trace(bench, steps);
      if (typeof syncs === "string") {
        figures.missing("fsyncs_per_step", "", syncs);
        return;
      }
      found.push(syncs);
    }
    const [one, two, three, four] = found as [Syncs, Syncs, Syncs, Syncs];
    bench.faults.expect("fsync: checkpoints among the few steps", two.database - one.database, 0);
    const perStep = (two.all - one.all) / few;
    figures.counted("fsyncs_per_step", "", perStep, `${few} steps more, and no checkpoint among them`);
    figures.counted("checkpoint_fsyncs_per_step", "", (four.all - three.all) / many - perStep, `what checkpoints add, over ${many} steps`);
  },
};

/** The syncs of a process that takes this many steps, or why they cannot be counted. */
async function trace(bench: Bench, steps: number): Promise<Syncs | string> {
  const root = bench.place.fresh("traced");
  const log = bench.place.fresh("strace.log");
  const program = [process.execPath, childPath("steps.child.ts"), root, "1", String(steps), "full"];
  try {
    const ended = await runProgram("strace", ["-f", "-y", "-e", "trace=fsync,fdatasync", "-o", log, ...program]);
    if (ended.code !== 0) return `strace failed: ${ended.stderr.trim().split("\n").at(-1)}`;
  } catch {
    return "there is no strace here";
  }
  bench.faults.expectSteps(`traced, ${steps} steps`, databaseOf(root), 1, steps);
  // A call that another thread interrupts in the log has a second line, `<... fsync resumed>`, without its file.
  const calls = readFileSync(log, "utf8").match(/\bf(data)?sync\(.*/g) ?? [];
  bench.place.remove(root);
  return { all: calls.length, database: calls.filter((call) => call.includes("holdfast.db>")).length };
}
