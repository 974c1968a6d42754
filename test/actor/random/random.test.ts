/**
 * Random machines that talk to each other, random work, and processes that die anywhere: ACT-1 to ACT-10 hold.
 *
 * A failure prints fast-check's seed and path and the smallest case as data. To see it again:
 * `HOLDFAST_SEED=… HOLDFAST_PATH=… vitest run test/actor/random -t memory` (or `-t sqlite`). To look harder: `HOLDFAST_RUNS=5000`.
 */

import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { anySeed, size } from "../../../tools/test/size.ts";
import { anyCase } from "./arbitrary.ts";
import { memoryGround, sqliteGround } from "./grounds.ts";
import { nothingYet, trial } from "./trial.ts";

const seed = anySeed();
const path = process.env.HOLDFAST_PATH;
const runs = size("RUNS", 50);
const tally = nothingYet();

afterAll(() =>
  console.log(
    `seed ${seed}: ${Object.entries(tally)
      .map(([name, count]) => `${count} ${name}`)
      .join(", ")}`,
  ),
);

describe.each([
  { kind: "memory", ground: memoryGround, numRuns: runs },
  { kind: "sqlite", ground: () => sqliteGround(), numRuns: Math.ceil(runs / 5) },
])("random machines, events and deaths ($kind)", ({ ground, numRuns }) => {
  it("keep ACT-1 to ACT-10", { timeout: 3_600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(anyCase, async (given) => {
        expect(await trial(given, ground(), tally)).toEqual([]);
      }),
      { seed, numRuns, ...(path === undefined ? {} : { path }) },
    );
  });
});
