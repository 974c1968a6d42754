/** Timers: a storm of timers that are all due at one moment. */

import { setImmediate } from "node:timers/promises";
import Database from "better-sqlite3";
import { type Engine, HoldfastError, openActors } from "../../src/actors.ts";
import { simulatedClock } from "../../src/testing/simulated-clock.ts";
import type { Bench, Section } from "../bench.ts";
import { ALARM_MS, alarm } from "../machine/alarm.ts";
import { databaseOf } from "../place.ts";

const TURNS = 3;
/** The store is asked whether all have fired at most this often. */
const LOOK_MS = 5;
const PATIENCE_MS = 60_000;

export const timers: Section = {
  name: "timers",
  about: "a storm of timers",
  async run(bench: Bench): Promise<void> {
    const samples: number[] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      const ms = await storm(bench);
      if (ms === undefined) {
        bench.figures.missing("timers.storm_ms", "ms", "not supported: this engine refuses machines with `after`");
        return;
      }
      samples.push(ms);
    }
    const count = bench.scale.timers;
    bench.figures.sampled("timers.storm_ms", "ms", samples, `${count} actors, from the moment at which all are due`);
    bench.figures.sampled(
      "timers.fired_per_s",
      "/s",
      samples.map((ms) => (count * 1000) / ms),
    );
  },
};

/** From the moment at which all timers are due to the commit of the last; undefined where the engine knows no timers. */
async function storm(bench: Bench): Promise<number | undefined> {
  const count = bench.scale.timers;
  const root = bench.place.fresh("timers");
  const clock = simulatedClock();
  let engine: Engine;
  try {
    engine = await openActors({ root, machines: [alarm], clock });
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "machine_invalid") return undefined;
    throw error;
  }
  await Promise.all(Array.from({ length: count }, (_, index) => engine.create(alarm, `actor-${index}`, { input: {} })));
  const db = new Database(databaseOf(root), { readonly: true });
  const fired = db.prepare<[], number>("SELECT count(*) FROM actors WHERE status = 'final'").pluck();
  bench.faults.expect("timers: fired too early", fired.get(), 0);
  const begun = performance.now();
  clock.advance(ALARM_MS);
  let ms = 0;
  for (let looked = begun; fired.get() !== count && ms < PATIENCE_MS; ms = performance.now() - begun) {
    while (performance.now() - looked < LOOK_MS) {
      await setImmediate();
      // What the engine does in portions, it may continue after a moment of its own clock.
      clock.advance(1);
    }
    looked = performance.now();
  }
  bench.faults.expect("timers: fired", fired.get(), count);
  bench.faults.expect("timers: entries", db.prepare("SELECT count(*) FROM journal").pluck().get(), 2 * count);
  db.close();
  await engine.close();
  bench.place.remove(root);
  return ms;
}
