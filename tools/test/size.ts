/** How much a test tries: by default what a test run has time for, more where the environment says so. */

import { wholeNumber } from "../command.ts";

/** The whole number of `HOLDFAST_<name>`, or the usual one. Throws a RangeError for anything else: a test that tries nothing must not pass. */
export function size(name: string, usual: number, least = 1): number {
  const text = process.env[`HOLDFAST_${name}`];
  if (text === undefined) return usual;
  const given = wholeNumber(text, least);
  if (given === undefined) throw new RangeError(`HOLDFAST_${name} is ${JSON.stringify(text)}; expected a whole number from ${least}`);
  return given;
}

/** The seed of `HOLDFAST_SEED`, or any. */
export const anySeed = (): number => size("SEED", Math.floor(Math.random() * 2 ** 31), 0);
