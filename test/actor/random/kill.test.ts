/**
 * Random machines in a process of their own, killed with SIGKILL at a random fault point: what the next owner finds and makes of it
 * keeps ACT-1 to ACT-10, held against all that the killed process had said.
 *
 * To see a failure again: `HOLDFAST_SEED=… HOLDFAST_PATH=… vitest run test/actor/random/kill`; to kill more: `HOLDFAST_KILLS=200`.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { runChild, simulatedClock } from "../../../src/testing/index.ts";
import { anySeed, size } from "../../../tools/test/size.ts";
import { plainCase } from "./arbitrary.ts";
import { sqliteGround } from "./grounds.ts";
import type { Breach } from "./model.ts";
import type { Observation } from "./observation.ts";
import { judge } from "./oracle.ts";
import { Play } from "./play.ts";
import { type Case, POINTS, type Point } from "./spec.ts";

const seed = anySeed();
const path = process.env.HOLDFAST_PATH;
const kills = size("KILLS", 5);
/** When the next owner comes: after all that the clock of the killed one can have shown. */
const LATER_MS = 1_767_225_600_000 + 4_000_000;

let struck = 0;
let events = 0;

async function killed(given: Case, point: Point, nth: number): Promise<Breach[]> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-random-"));
  const [file, place] = [join(directory, "root.db"), join(directory, "case.json")];
  writeFileSync(place, JSON.stringify(given));
  const end = await runChild(new URL("./kill.child.ts", import.meta.url), [file, place, point, String(nth)]);
  // A child that does not come so far ends by itself.
  expect({ ended: end.signal ?? end.code, stderr: end.stderr }).toEqual({ ended: end.signal ? "SIGKILL" : 0, stderr: "" });
  if (end.signal) struck++;
  const seen = end.lines.map((line) => JSON.parse(line) as Observation);
  const ground = sqliteGround(file);
  const clock = simulatedClock(LATER_MS);
  const gen = 1 + seen.filter(({ saw }) => saw === "epoch").length;
  const play = new Play({ ...given, ops: [] }, { ground, clock, see: (one) => seen.push(one), gen });
  try {
    await play.run();
    events += seen.filter(({ saw }) => saw === "answer").length;
    return judge({ seen, reader: ground.reader, machines: play.machines, nowMs: clock.now(), verify: () => play.engine.verify() });
  } finally {
    await play.end();
    ground.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

it("random machines that are killed anywhere keep ACT-1 to ACT-10", { timeout: 3_600_000 }, async () => {
  const kill = fc.tuple(plainCase, fc.constantFrom(...POINTS), fc.integer({ min: 1, max: 25 }));
  try {
    await fc.assert(
      fc.asyncProperty(kill, async ([given, point, nth]) => {
        expect(await killed(given, point, nth)).toEqual([]);
      }),
      // Each try is a process: what failed is shown as it is.
      { seed, numRuns: kills, endOnFailure: true, ...(path === undefined ? {} : { path }) },
    );
  } finally {
    console.log(`seed ${seed}: ${struck} of ${kills} kills struck, ${events} events`);
  }
});
