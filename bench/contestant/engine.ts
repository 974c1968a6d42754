/** The engine, through its public door, with step machines. */

import Database from "better-sqlite3";
import { type ActorRef, type Engine, openActors } from "../../src/actors.ts";
import type { Bench, Synchronous } from "../bench.ts";
import { eventAt } from "../machine/event.ts";
import { step } from "../machine/step.ts";
import { perSecond, timedAsync } from "../measure.ts";
import { databaseOf } from "../place.ts";

export type StepRef = ActorRef<typeof step>;

/** Untimed first steps of each actor: statements are prepared and code is warm when the clock starts. */
export const WARM_UP = 20;
/** Sends that wait at once when a history is built. */
const BATCH = 5000;

export function openSteps(root: string, synchronous: Synchronous): Promise<Engine> {
  return openActors({ root, machines: [step], synchronous });
}

export function createSteps(engine: Engine, count: number): Promise<StepRef[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => engine.create(step, `actor-${index}`, { input: {} })));
}

/** Takes events `from` to `from + count - 1`, each when the one before it is answered. */
export async function stepInSequence(actor: StepRef, from: number, count: number): Promise<void> {
  for (let index = from; index < from + count; index++) mustBeAccepted(await actor.send(eventAt(index)));
}

/** Each actor sends its next event when its previous one is answered; nobody waits for another. */
export async function stepTogether(actors: readonly StepRef[], from: number, count: number): Promise<void> {
  await Promise.all(actors.map((actor) => stepInSequence(actor, from, count)));
}

/** Takes many events without waiting for each: they share commits. */
export async function grow(actor: StepRef, from: number, to: number): Promise<void> {
  for (let begun = from; begun < to; begun += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, to - begun) }, (_, offset) => actor.send(eventAt(begun + offset)));
    for (const answer of await Promise.all(batch)) mustBeAccepted(answer);
  }
}

export function mustBeAccepted(answer: { readonly kind: string }): void {
  if (answer.kind !== "accepted") throw new Error(`the engine answered ${JSON.stringify(answer)}`);
}

/** Writes the log back into the database, so that no contestant pays for what came before its turn. */
export function checkpoint(root: string): void {
  const db = new Database(databaseOf(root));
  try {
    db.pragma("wal_checkpoint(TRUNCATE)");
  } finally {
    db.close();
  }
}

/** A turn: a new root with `count` actors, `rounds` events each, and what it wrote is read again. Steps per second. */
export async function engineTurn(bench: Bench, count: number, rounds: number, synchronous: Synchronous): Promise<number> {
  const root = bench.place.fresh("engine");
  const engine = await openSteps(root, synchronous);
  const actors = await createSteps(engine, count);
  const warmUp = count === 1 ? WARM_UP : 2;
  await stepTogether(actors, 0, warmUp - 1);
  checkpoint(root);
  // Another connection has written to the file: what the engine remembers is read again with the last untimed step.
  await stepTogether(actors, warmUp - 1, 1);
  const ms = await timedAsync(() => stepTogether(actors, warmUp, rounds));
  await engine.close();
  bench.faults.expectSteps(`engine, ${count} actors, ${synchronous}`, databaseOf(root), count, warmUp + rounds);
  bench.place.remove(root);
  return perSecond(count * rounds, ms);
}
