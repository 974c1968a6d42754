/** Durations: as people write them and as they are told. */

import { InvalidArgumentError } from "commander";

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const YEAR_MS = 365 * DAY_MS;
/** No duration is longer. */
const LIMIT_MS = 1000 * YEAR_MS;

const UNITS: readonly (readonly [ms: number, names: RegExp])[] = [
  [SECOND_MS, /^s(ec(onds?)?)?$/],
  [MINUTE_MS, /^m(in(utes?)?)?$/],
  [HOUR_MS, /^h(ours?)?$/],
  [DAY_MS, /^d(ays?)?$/],
  [7 * DAY_MS, /^w(eeks?)?$/],
  [YEAR_MS, /^y(ears?)?$/],
];

/** Milliseconds of `30d`, `12 hours`, `1d 12h`; for an option that takes at least `leastMs`. Throws `InvalidArgumentError`. */
export function durationFrom(leastMs: number): (text: string) => number {
  return (text) => {
    const bad = () =>
      new InvalidArgumentError(
        `Expected a duration such as 30d, 12h or "1 week"${leastMs > 0 ? `, ${durationOf(leastMs)} or more` : ""}; units are s, min, h, d, w and y.`,
      );
    if (!/^\s*(\d{1,9}\s*[a-z]+\s*)+$/i.test(text)) throw bad();
    let sum = 0;
    for (const [, count, name = ""] of text.toLowerCase().matchAll(/(\d+)\s*([a-z]+)/g)) {
      const unit = UNITS.find(([, names]) => names.test(name));
      if (!unit) throw bad();
      sum += Number(count) * unit[0];
    }
    if (sum < leastMs || sum > LIMIT_MS) throw bad();
    return sum;
  };
}

const TOLD: readonly (readonly [ms: number, one: string, many: string])[] = [
  [YEAR_MS, "year", "years"],
  [DAY_MS, "day", "days"],
  [HOUR_MS, "hour", "hours"],
  [MINUTE_MS, "min", "min"],
  [SECOND_MS, "s", "s"],
];

/** `3 days`, `26 hours`, `1 hour`: in the largest unit of which there are about two, or that it is exactly one of. */
export function durationOf(ms: number): string {
  for (const [unit, one, many] of TOLD) {
    if (ms === unit) return `1 ${one}`;
    if (ms >= 1.95 * unit) return `${Math.round(ms / unit)} ${many}`;
  }
  return `${Math.floor(ms / SECOND_MS)} s`;
}

/** When something is or was, seen from now: `in 3 days`, `20 min ago`, `now`. */
export function fromNow(atMs: number, nowMs = Date.now()): string {
  const awayMs = Math.abs(atMs - nowMs);
  if (awayMs < SECOND_MS) return "now";
  return atMs > nowMs ? `in ${durationOf(awayMs)}` : `${durationOf(awayMs)} ago`;
}
