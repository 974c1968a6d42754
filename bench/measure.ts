/**
 * Measuring: contestants in turns, and what their repetitions come to.
 *
 * All contestants of a comparison take turns (A, B, C, A, B, C, …), so that a slow minute of the machine is everybody's. Each turn
 * begins with a collected heap: nobody pays for what another has left.
 */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** One way to do the work. A turn prepares, measures, checks what it wrote, cleans up, and gives its figure. */
export interface Contestant {
  readonly name: string;
  turn(repetition: number): Promise<number> | number;
}

/** Lets all take turns, after one turn each that does not count. Gives each contestant's figures, by name. */
export async function interleave(contestants: readonly Contestant[], repetitions: number): Promise<Map<string, number[]>> {
  const results = new Map<string, number[]>(contestants.map(({ name }) => [name, []]));
  for (let repetition = 0; repetition <= repetitions; repetition++)
    for (const { name, turn } of contestants) {
      collect();
      const figure = await turn(repetition);
      if (repetition > 0) results.get(name)?.push(figure);
    }
  return results;
}

/** How long `work` takes, in ms. */
export function timed(work: () => void): number {
  const begun = performance.now();
  work();
  return performance.now() - begun;
}

/** How long `work` takes until its promise resolves, in ms. */
export async function timedAsync(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

export function perSecond(count: number, ms: number): number {
  return (count * 1000) / ms;
}

/** The value below which this part (0..1) of all values lies; NaN where there is none. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  const place = (sorted.length - 1) * part;
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}
