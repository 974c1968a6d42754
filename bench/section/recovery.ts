/**
 * Recovery: how long interrupted actors are not runnable, after their process was killed while their effects were worked on.
 *
 * Measured: from the call of openActors until it has resolved, when each interrupted actor's effect is started or has its place in the
 * queue. Beside it: the same rows, read by key one by one. The roots are built by a child that kills itself with SIGKILL.
 */

import { setImmediate } from "node:timers/promises";
import { openActors } from "../../src/actors.ts";
import type { Bench, Section } from "../bench.ts";
import { runChild } from "../child/child.ts";
import { readRows } from "../contestant/rows-by-key.ts";
import { countIn } from "../fault.ts";
import { job, toldJob } from "../machine/job.ts";
import { type Contestant, interleave, median, timedAsync } from "../measure.ts";
import { databaseOf } from "../place.ts";

/** Handlers of one effect type that the engine runs at once, unless the machine says otherwise. */
const CONCURRENCY = 64;

interface Interrupted {
  readonly name: string;
  readonly root: string;
  readonly machine: typeof job;
  readonly finished: number;
  readonly count: number;
}

export const recovery: Section = {
  name: "recovery",
  about: "interrupted actors among finished ones",
  async run(bench: Bench): Promise<void> {
    const { finished, interrupted, recoveryTurns } = bench.scale;
    const roots = { among: bench.place.fresh("among-finished"), alone: bench.place.fresh("alone"), told: bench.place.fresh("told") };
    const names = ["1000", "10000"] as const;
    for (const [index, name] of names.entries()) {
      const count = interrupted[index] as number;
      const before = index === 0 ? 0 : interrupted[0];
      await interrupt(roots.among, "job", index === 0 ? finished : 0, count - before, before);
      await interrupt(roots.alone, "job", 0, count - before, before);
      await interrupt(roots.told, "told-job", 0, count - before, before);
      const cases: Interrupted[] = [
        { name: `recovery_${name}_ms`, root: roots.among, machine: job, finished, count },
        { name: `recovery.${name}_alone_ms`, root: roots.alone, machine: job, finished: 0, count },
        { name: `recovery.${name}_told_ms`, root: roots.told, machine: toldJob, finished: 0, count },
      ];
      const file = databaseOf(roots.among);
      const results = await interleave(
        [
          ...cases.map((one): Contestant => ({ name: one.name, turn: () => recoveryTurn(bench, one) })),
          { name: `recovery.${name}_raw_reads_ms`, turn: () => readRows(bench, file, keys(count)).readMs },
          { name: `recovery.${name}_raw_open_and_reads_ms`, turn: () => readRows(bench, file, keys(count)).wholeMs },
        ],
        recoveryTurns[index] as number,
      );
      for (const [figure, samples] of results) bench.figures.sampled(figure, "ms", samples);
      const ms = (figure: string) => median(results.get(figure) ?? []);
      const recovered = ms(`recovery_${name}_ms`);
      bench.figures.counted(`ratios.recovery_${name}_vs_raw_reads`, "", recovered / ms(`recovery.${name}_raw_reads_ms`));
      bench.figures.counted(`ratios.recovery_${name}_vs_alone`, "", recovered / ms(`recovery.${name}_alone_ms`));
    }
    for (const root of [roots.among, roots.alone]) await finish(bench, root, interrupted[1], root === roots.among ? finished : 0);
    for (const root of Object.values(roots)) bench.place.remove(root);
  },
};

function keys(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `job/working-${index}`);
}

async function interrupt(root: string, machine: string, finished: number, working: number, from: number): Promise<void> {
  const ended = await runChild("interrupted.child.ts", [root, machine, String(finished), String(working), String(from)]);
  if (ended.signal !== "SIGKILL") throw new Error(`the child that is to be killed ended with ${ended.code}: ${ended.stderr}`);
}

/** Opens, looks at what is runnable, and leaves it interrupted for the next turn. In ms. */
async function recoveryTurn(bench: Bench, { name, root, machine, finished, count }: Interrupted): Promise<number> {
  let called = 0;
  const work = () => {
    called++;
    return new Promise<number>(() => {});
  };
  const begun = performance.now();
  const engine = await openActors({ root, machines: [machine], effects: { work }, closeGraceMs: 0 });
  const ms = performance.now() - begun;
  await setImmediate();
  const file = databaseOf(root);
  bench.faults.expect(`${name}: handlers at work`, called, Math.min(count, CONCURRENCY));
  bench.faults.expectCount(`${name}: open effects`, file, "SELECT count(*) FROM effects WHERE state = 'open'", count);
  // Only those whose machine asks to be told of a restart are written to.
  const recovered = `SELECT count(*) FROM actors WHERE status = 'active' AND epoch = ${engine.epoch}`;
  bench.faults.expectCount(`${name}: actors of this epoch`, file, recovered, machine === toldJob ? count : 0);
  bench.faults.expectCount(`${name}: unfinished actors`, file, "SELECT count(*) FROM actors WHERE status = 'active'", count);
  bench.faults.expectCount(`${name}: finished actors`, file, "SELECT count(*) FROM actors WHERE status = 'final'", finished);
  await engine.close();
  return ms;
}

/** Proves that all were runnable: their handlers answer now, and each actor takes its one result. */
async function finish(bench: Bench, root: string, count: number, finished: number): Promise<void> {
  const file = databaseOf(root);
  const work = async () => 1;
  const ms = await timedAsync(async () => {
    const engine = await openActors({ root, machines: [job], effects: { work }, synchronous: "normal" });
    for (let left = count; left > 0; left = countIn(file, "SELECT count(*) FROM effects") ?? 0)
      for (let wait = performance.now() + 20; performance.now() < wait; ) await setImmediate();
    await engine.close();
  });
  const name = finished > 0 ? "among finished" : "alone";
  bench.faults.expectCount(`all work, ${name}: entries`, file, "SELECT count(*) FROM journal", finished + 2 * count);
  const done = "SELECT count(*) FROM actors WHERE status = 'active' AND seq = 2 AND json_extract(snapshot, '$.context.done') = 1";
  bench.faults.expectCount(`all work, ${name}: actors that took one result`, file, done, count);
  if (finished > 0) bench.figures.counted("recovery.all_work_done_ms", "ms", ms, `${count} effects, handlers that answer at once, NORMAL`);
}
