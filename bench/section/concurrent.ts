/** Concurrent: 1,000 and 64 actors at once, beside pure transitions, the same statements in groups, and single rows in groups. */

import { type Bench, BOTH, type Section } from "../bench.ts";
import { engineTurn } from "../contestant/engine.ts";
import { naiveTurn } from "../contestant/naive.ts";
import { pureRunTurn, pureStepTurn } from "../contestant/pure.ts";
import { replayTurn, rowsTurn } from "../contestant/raw.ts";
import { record } from "../contestant/recording.ts";
import { interleave } from "../measure.ts";

const FEW = 64;
/** 64 actors take this many times the events of 1,000, so that their turns last as long. */
const LONGER = 10;
/** Rows are quick: a turn needs more of them to be told apart from the clock. */
const MORE_ROWS = 4;

export const concurrent: Section = {
  name: "concurrent",
  about: "many actors, group commit",
  async run(bench: Bench): Promise<void> {
    const { together, rounds, concurrentTurns } = bench.scale;
    const recording = await record(bench.place, together, rounds);
    const contestants = [
      { name: "pure_per_s", turn: () => pureRunTurn(bench) },
      { name: "pure_step_per_s", turn: () => pureStepTurn(bench) },
      ...BOTH.flatMap((synchronous) => [
        { name: `raw.grouped_step_${synchronous}_per_s`, turn: () => replayTurn(bench, recording, synchronous, "same") },
        { name: `raw.grouped_step_writes_${synchronous}_per_s`, turn: () => replayTurn(bench, recording, synchronous, "writes") },
        {
          name: `raw.grouped_row_${synchronous}_per_s`,
          turn: () => rowsTurn(bench, together * rounds * MORE_ROWS, together, synchronous),
        },
        { name: `engine.actors_64_${synchronous}_per_s`, turn: () => engineTurn(bench, FEW, rounds * LONGER, synchronous) },
        { name: `engine.actors_1000_${synchronous}_per_s`, turn: () => engineTurn(bench, together, rounds, synchronous) },
      ]),
      { name: "naive.actors_1000_full_per_s", turn: () => naiveTurn(bench, together, 1, "full", "kept") },
    ];
    for (const [name, samples] of await interleave(contestants, concurrentTurns)) bench.figures.sampled(name, "/s", samples);
  },
};
