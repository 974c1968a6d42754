/** Trial: a case, played and judged. */

import { simulatedClock } from "../../../src/testing/index.ts";
import type { Breach } from "./model.ts";
import type { Observation } from "./observation.ts";
import { judge } from "./oracle.ts";
import { Play } from "./play.ts";
import type { Case } from "./spec.ts";
import type { Ground, Sabotage } from "./world.ts";

/** How much was done. */
export interface Tally {
  cases: number;
  machines: number;
  events: number;
  entries: number;
  calls: number;
  deaths: number;
  takeovers: number;
  errors: number;
}

export const nothingYet = (): Tally => ({ cases: 0, machines: 0, events: 0, entries: 0, calls: 0, deaths: 0, takeovers: 0, errors: 0 });

/** Plays a case on a ground and says what was broken; the ground is closed then. */
export async function trial(given: Case, ground: Ground, tally = nothingYet(), sabotage?: Sabotage): Promise<Breach[]> {
  const seen: Observation[] = [];
  const clock = simulatedClock();
  const play = new Play(given, { ground, clock, see: (one) => seen.push(one), ...(sabotage ? { sabotage } : {}) });
  try {
    await play.run().catch((error) => {
      // A start that fails ends the run, and is judged.
      if (!seen.some((one) => one.saw === "opening" && one.error !== null && !one.excused)) throw error;
    });
    const { engine, machines, counts } = play;
    tally.events += play.events;
    tally.cases++;
    tally.machines += machines.length;
    tally.entries += ground.reader.lastPosition();
    tally.calls += seen.filter(({ saw }) => saw === "call").length;
    for (const [name, count] of Object.entries(counts)) tally[name as keyof typeof counts] += count;
    return judge({ seen, reader: ground.reader, machines, nowMs: clock.now(), verify: () => engine.verify() });
  } finally {
    await play.end();
    ground.close();
  }
}
