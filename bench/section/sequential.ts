/** Sequential: one actor, each step when the one before it is durable; beside it the same by raw SQLite and by hand. */

import { type Bench, BOTH, type Section } from "../bench.ts";
import { engineTurn } from "../contestant/engine.ts";
import { naiveTurn } from "../contestant/naive.ts";
import { replayTurn, rowsTurn } from "../contestant/raw.ts";
import { record } from "../contestant/recording.ts";
import { interleave } from "../measure.ts";

export const sequential: Section = {
  name: "sequential",
  about: "one actor, one step after another",
  async run(bench: Bench): Promise<void> {
    const { sequence, sequentialTurns } = bench.scale;
    const recording = await record(bench.place, 1, sequence);
    const contestants = BOTH.flatMap((synchronous) => [
      { name: `raw.step_${synchronous}_per_s`, turn: () => replayTurn(bench, recording, synchronous, "same") },
      { name: `raw.step_writes_${synchronous}_per_s`, turn: () => replayTurn(bench, recording, synchronous, "writes") },
      { name: `raw.row_${synchronous}_per_s`, turn: () => rowsTurn(bench, sequence, 1, synchronous) },
      { name: `naive.sequential_${synchronous}_per_s`, turn: () => naiveTurn(bench, 1, sequence, synchronous, "kept") },
      { name: `naive.restored_${synchronous}_per_s`, turn: () => naiveTurn(bench, 1, sequence, synchronous, "restored") },
      { name: `engine.sequential_${synchronous}_per_s`, turn: () => engineTurn(bench, 1, sequence, synchronous) },
    ]);
    for (const [name, samples] of await interleave(contestants, sequentialTurns)) bench.figures.sampled(name, "/s", samples);
    bench.figures.counted("raw.statements_per_step", "", recording.statements.length / sequence, "as recorded, with BEGIN and COMMIT");
  },
};
