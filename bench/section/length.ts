/** Length: what a step, an opening and the bytes of a step cost with a short, a middle and a long history behind them. */

import type { Engine } from "../../src/actors.ts";
import type { Bench, Section } from "../bench.ts";
import { checkpoint, grow, openSteps, type StepRef, stepInSequence } from "../contestant/engine.ts";
import { step } from "../machine/step.ts";
import { type Contestant, interleave, median, timedAsync } from "../measure.ts";
import { databaseOf } from "../place.ts";
import { measureBytes } from "./bytes.ts";
import { buildHistories, checkHistories, type History, openHistory } from "./history.ts";
import { measureOpening } from "./opening.ts";

export const length: Section = {
  name: "length",
  about: "steps, openings and bytes with a short and a long history",
  async run(bench: Bench): Promise<void> {
    const histories = await buildHistories(bench);
    await measureOpening(bench, histories);
    checkHistories(bench, histories, "openings");
    await measureSteps(bench, histories);
    checkHistories(bench, histories, "steps");
    await measureBytes(bench, histories);
    checkHistories(bench, histories, "bytes");
    for (const { root } of histories) bench.place.remove(root);
  },
};

/** Many short turns over three roots that are open side by side. */
async function measureSteps(bench: Bench, [, ...longer]: readonly History[]): Promise<void> {
  const { lengths, lengthTurns, lengthSteps } = bench.scale;
  const opened: Engine[] = [];
  const contestants: Contestant[] = [await newcomers(bench, opened)];
  for (const history of longer) {
    const { engine, actor } = await openHistory(history);
    opened.push(engine);
    contestants.push({
      name: history.name,
      turn: async () => {
        // As a newcomer is brought to its length: nobody's clock starts in cold code.
        await grow(actor, history.taken, history.taken + lengths[0]);
        history.taken += lengths[0];
        const ms = await timedAsync(() => stepInSequence(actor, history.taken, lengthSteps));
        history.taken += lengthSteps;
        return ms / lengthSteps;
      },
    });
  }
  const results = await interleave(contestants, lengthTurns);
  for (const engine of opened) await engine.close();
  for (const [name, samples] of results) bench.figures.sampled(`length.step_${name}_ms`, "ms", samples);
  bench.figures.counted("ratios.step_100k_vs_10", "", median(results.get("100k") ?? []) / median(results.get("10") ?? []));
}

/** The short history would not stay short: each of its turns has a new actor, brought to its length outside the measured time. */
async function newcomers(bench: Bench, opened: Engine[]): Promise<Contestant> {
  const { lengths, lengthTurns, lengthSteps } = bench.scale;
  const root = bench.place.fresh("newcomers");
  const engine = await openSteps(root, "full");
  opened.push(engine);
  checkpoint(root);
  return {
    name: "10",
    turn: async (repetition) => {
      const actor: StepRef = await engine.create(step, `actor-${repetition}`, { input: {} });
      await grow(actor, 0, lengths[0]);
      const ms = await timedAsync(() => stepInSequence(actor, lengths[0], lengthSteps));
      if (repetition === lengthTurns) bench.faults.expectSteps("newcomers", databaseOf(root), lengthTurns + 1, lengths[0] + lengthSteps);
      return ms / lengthSteps;
    },
  };
}
