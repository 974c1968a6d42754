/** Effects: the round trip of a durable effect, from the event that asks for it to the commit of its result. */

import { openActors } from "../../src/actors.ts";
import { type Bench, BOTH, type Section, type Synchronous } from "../bench.ts";
import { mustBeAccepted } from "../contestant/engine.ts";
import { job } from "../machine/job.ts";
import { quantile } from "../measure.ts";
import { databaseOf } from "../place.ts";

export const effects: Section = {
  name: "effects",
  about: "event, handler, result: one after another",
  async run(bench: Bench): Promise<void> {
    for (const synchronous of BOTH) {
      const trips = await roundTrips(bench, synchronous);
      bench.figures.sampled(`effects.round_trip_${synchronous}_p50_ms`, "ms", trips);
      bench.figures.counted(`effects.round_trip_${synchronous}_p99_ms`, "ms", quantile(trips, 0.99));
    }
  },
};

/** Time of each trip in ms. The handler does nothing, so that what is left is the engine's part. */
async function roundTrips(bench: Bench, synchronous: Synchronous): Promise<number[]> {
  const count = bench.scale.roundTrips;
  const warmUp = Math.ceil(count / 10);
  const root = bench.place.fresh("effects");
  let called = 0;
  const work = async () => ++called;
  const engine = await openActors({ root, machines: [job], effects: { work }, synchronous });
  const actor = await engine.create(job, "actor-0", { input: { as: "idle" } });
  const trips: number[] = [];
  for (let done = 1; done <= warmUp + count; done++) {
    const begun = performance.now();
    mustBeAccepted(await actor.send({ type: "job.start" }));
    await actor.waitFor(({ context }) => context.done === done);
    trips.push(performance.now() - begun);
  }
  await engine.close();
  const file = databaseOf(root);
  bench.faults.expect(`effects, ${synchronous}: handler calls`, called, warmUp + count);
  bench.faults.expectCount(`effects, ${synchronous}: entries`, file, "SELECT count(*) FROM journal", 1 + 2 * (warmUp + count));
  bench.faults.expectCount(`effects, ${synchronous}: open effects`, file, "SELECT count(*) FROM effects", 0);
  bench.place.remove(root);
  return trips.slice(warmUp);
}
