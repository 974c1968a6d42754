/** Opening: from the call of openActors to the answer to the next step, with a short and with a long history. */

import type { Bench } from "../bench.ts";
import { mustBeAccepted, openSteps } from "../contestant/engine.ts";
import { eventAt } from "../machine/event.ts";
import { step } from "../machine/step.ts";
import { interleave, median } from "../measure.ts";
import type { History } from "./history.ts";

export async function measureOpening(bench: Bench, histories: readonly History[]): Promise<void> {
  const contestants = histories.map((history) => ({
    name: history.name,
    turn: async () => {
      const begun = performance.now();
      const engine = await openSteps(history.root, "full");
      const actor = engine.get(step, "actor-0");
      mustBeAccepted((await actor?.send(eventAt(history.taken++))) ?? { kind: "no actor" });
      const ms = performance.now() - begun;
      await engine.close();
      return ms;
    },
  }));
  const results = await interleave(contestants, bench.scale.openTurns);
  for (const [name, samples] of results) bench.figures.sampled(`length.open_${name}_ms`, "ms", samples);
  const [short, , long] = histories.map(({ name }) => results.get(name) ?? []);
  bench.figures.counted("ratios.open_100k_vs_10", "", median(long ?? []) / median(short ?? []));
}
