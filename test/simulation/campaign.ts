/** Campaign: what a test run simulates. Its seeds are in two shares, for two files of tests run side by side. */

import { describe, expect, it } from "vitest";
import { size } from "../../tools/test/size.ts";
import { simulate } from "./simulation.ts";

/** Events over all seeds, after each of which everything that changed is held against what is promised. `HOLDFAST_EVENTS` for more. */
const EVENTS = size("EVENTS", 50_000);
const SEEDS = { first: [21, 23], second: [24, 25] } as const;
const STEPS = Math.ceil(EVENTS / Object.values(SEEDS).flat().length);
/** Time that one event may take on a busy machine. */
const EVENT_MS = 20;

/** Simulates one share of the seeds, and says what was played. */
export function campaign(share: keyof typeof SEEDS): void {
  describe(`a simulation of ${STEPS} events`, () => {
    it.each(SEEDS[share])("of seed %i keeps every promise", { timeout: 60_000 + STEPS * EVENT_MS }, async (seed) => {
      const { violations, ...played } = await simulate({ seed, steps: STEPS });
      const { steps, sessions, runs, crashes, handoffs, entries } = played;
      console.log(
        `seed ${seed}: ${steps} events, ${sessions} sessions, ${runs} runs, ${crashes} crashes, ${handoffs} handoffs, ${entries} entries`,
      );
      expect(violations).toEqual([]);
      // A host that does nothing breaks no promise.
      expect(steps).toBe(STEPS);
      for (const what of ["runs", "crashes", "takeovers", "faults", "handoffs"] as const)
        expect(played[what], what).toBeGreaterThanOrEqual(Math.floor(STEPS / 1000));
      expect(entries).toBeGreaterThan(STEPS / 2);
    });
  });
}
