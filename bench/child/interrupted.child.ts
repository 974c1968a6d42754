/**
 * Makes a root with finished and interrupted actors, and dies by SIGKILL while its handlers are at work.
 * Arguments: root, machine id, finished actors, working actors, number of the first working one.
 */

import { setImmediate } from "node:timers/promises";
import { openActors } from "../../src/actors.ts";
import { job, toldJob } from "../machine/job.ts";

const BATCH = 1000;
/** Handlers at work when the process dies. */
const CONCURRENCY = 64;

const [root = "", id, finished, working, from] = process.argv.slice(2);
const machine = id === job.id ? job : toldJob;
let called = 0;
const work = () => {
  called++;
  return new Promise<number>(() => {});
};
const engine = await openActors({ root, machines: [machine], effects: { work }, synchronous: "normal" });

async function create(as: "ended" | "working", count: number, first: number): Promise<void> {
  for (let begun = 0; begun < count; begun += BATCH)
    await Promise.all(
      Array.from({ length: Math.min(BATCH, count - begun) }, (_, index) =>
        engine.create(machine, `${as}-${first + begun + index}`, { input: { as } }),
      ),
    );
}

// Half of the finished ones before and half after, so that those at work are among them.
const half = Math.floor(Number(finished) / 2);
await create("ended", half, 0);
await create("working", Number(working), Number(from));
await create("ended", Number(finished) - half, half);
while (called < Math.min(Number(working), CONCURRENCY)) await setImmediate();
process.kill(process.pid, "SIGKILL");
