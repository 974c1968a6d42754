/**
 * The simulation at the size of a test run. `npm run simulate` does more of it; the figures, and what is broken on purpose, are in
 * CONTRIBUTING.md and `sabotage.ts`.
 */

import { describe, expect, it } from "vitest";
import { BROKEN } from "./sabotage.ts";
import { simulate } from "./simulation.ts";

/** What a test run has time for: events, each with a verdict on all that it changed. `HOLDFAST_EVENTS` for more. */
const EVENTS = Number(process.env.HOLDFAST_EVENTS ?? 4000);
const SEED = 21;

/** Simulations that found a fault once, and the number of events that they needed. */
const FOUND = [
  // A step asked a person while a handoff was requested: the question was told to be held, which it could not take.
  { seed: 22, steps: 60 },
] as const;

describe("a simulation", () => {
  it("keeps every promise in memory, and gives the same digest on SQLite", async () => {
    const report = await simulate({ seed: SEED, steps: EVENTS });
    console.log(
      `seed ${report.seed}: ${report.steps} events, ${report.sessions} sessions, ${report.handoffs} handoffs, ${report.crashes} crashes`,
    );
    expect(report.violations).toEqual([]);
    const steps = Math.min(EVENTS, 500);
    const [first, again, stored] = [
      await simulate({ seed: SEED, steps }),
      await simulate({ seed: SEED, steps }),
      await simulate({ seed: SEED, steps, store: "sqlite" }),
    ];
    expect(again).toEqual(first);
    expect(stored).toEqual(first);
  });

  it("of another seed has another digest", async () => {
    const [one, other] = [await simulate({ seed: 1, steps: 50 }), await simulate({ seed: 2, steps: 50 })];
    expect(one.digest).not.toBe(other.digest);
  });

  it.each(FOUND)("of seed $seed finds again nothing of what it found", async (plan) => {
    expect((await simulate(plan)).violations).toEqual([]);
  });
});

describe("a broken engine", () => {
  const rows = Object.entries(BROKEN).flatMap(([id, { caught, ...broken }]) => caught.map((plan) => ({ id, ...broken, ...plan })));

  it.each(rows)("that $how ($id) is caught by seed $seed within $steps events", async ({ sabotage, shows, seed, steps }) => {
    const plan = { seed, steps };
    const { violations } = await simulate({ ...plan, sabotage: sabotage() });
    expect(violations.filter(({ what }) => what.startsWith(shows))).not.toEqual([]);
    expect((await simulate(plan)).violations).toEqual([]);
  });
});
