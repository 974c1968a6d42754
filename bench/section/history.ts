/** Histories: one actor alone in its root, with a short, a middle or a long journal behind it. */

import type { Engine } from "../../src/actors.ts";
import type { Bench } from "../bench.ts";
import { checkpoint, createSteps, grow, openSteps, type StepRef } from "../contestant/engine.ts";
import { databaseOf } from "../place.ts";

export const LENGTHS = ["10", "1000", "100k"] as const;

export interface History {
  readonly name: (typeof LENGTHS)[number];
  readonly root: string;
  /** Events that its actor has taken. */
  taken: number;
}

/** Builds all three, with many events per commit. */
export async function buildHistories(bench: Bench): Promise<History[]> {
  const histories: History[] = [];
  for (const [index, name] of LENGTHS.entries()) {
    const history = { name, root: bench.place.fresh(`history-${name}`), taken: bench.scale.lengths[index] as number };
    const engine = await openSteps(history.root, "normal");
    const [actor] = await createSteps(engine, 1);
    await grow(actor as StepRef, 0, history.taken);
    await engine.close();
    histories.push(history);
  }
  return histories;
}

/** The history's actor in a new engine, with FULL and an empty log. */
export async function openHistory({ root }: History): Promise<{ readonly engine: Engine; readonly actor: StepRef }> {
  const engine = await openSteps(root, "full");
  const [actor] = await createSteps(engine, 1);
  checkpoint(root);
  return { engine, actor: actor as StepRef };
}

/** Reads the stores: each history has one actor, at the revision and value of all the events that it was sent. */
export function checkHistories(bench: Bench, histories: readonly History[], after: string): void {
  for (const { name, root, taken } of histories) bench.faults.expectSteps(`history of ${name}, ${after}`, databaseOf(root), 1, taken);
}
