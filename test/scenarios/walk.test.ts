/**
 * Random walks over the protocol of a turn, on the real runtime beside the model: tried, refused, aborted, killed at any commit.
 *
 * A failure prints the shortest walk that shows it, as a line, and fast-check's seed. To see it again, or any other walk:
 * `HOLDFAST_WALK='commit: request, stop !inside 1' npm test -- test/scenarios/walk`. A line that found a fault becomes one of `FOUND`.
 * To walk more: `HOLDFAST_WALKS=5000`; the same walks again: `HOLDFAST_SEED=…`.
 */

import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import "../agent/world.ts";
import { anySeed, size } from "../../tools/test/size.ts";
import { BEGINNING, happen } from "./model.ts";
import { anyWalk, commandsOf, go, tally, textOf, walkOf } from "./protocol/walk.ts";

const seed = anySeed();
const walks = size("WALKS", 60);

/** Walks on which a fault was found. */
const FOUND: readonly string[] = [];
const line = process.env.HOLDFAST_WALK;

afterAll(() => console.log(`seed ${seed}: ${JSON.stringify(tally)}`));

describe("a walk over the protocol", () => {
  it("never leads where the model does not", { timeout: 3_600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(anyWalk(24), ({ decision, commands }) => go(decision, commands)),
      { seed, numRuns: walks },
    );
  });

  it.each(line === undefined ? FOUND : [line])("that found a fault once finds none any more: %s", async (line) => {
    const walk = walkOf(line);
    await go(walk.decision, commandsOf(walk));
  });

  it("can be written down as a line, and gone again", async () => {
    const line = "commit: request, stop !inside 1, resume, step.ends, restart killed";
    expect(textOf(walkOf(line))).toBe(line);
    const before = { ...tally };
    await go("commit", commandsOf(walkOf(line)));
    expect(tally).toMatchObject({ walks: before.walks + 1, deaths: before.deaths + 1 });
  });

  it("that leads where the model does not fails, with the moves that were made", async () => {
    const [request, stop] = commandsOf(walkOf("commit: request, stop"));
    const forgetful = {
      check: () => true,
      run: async (at: { model: unknown }) => {
        at.model = happen(happen(BEGINNING, { type: "setting", decision: "commit" }), { type: "start" });
      },
    };
    await expect(go("commit", [request, forgetful, stop] as never)).rejects.toThrow(/^commit: request, stop\n/);
  });
});
