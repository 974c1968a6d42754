/** The engine's clock in the form that the Effect library uses, so that every wait of a handler follows the same time. */

import type * as EffectClock from "effect/Clock";
import * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import type { Clock } from "./clock.ts";

/** Longest wait that a clock is asked for. */
const WAIT_LIMIT_MS = 2 ** 31 - 1;

/** The engine's clock as Effect's. */
export function effectClock(clock: Clock): EffectClock.Clock {
  const nanos = () => BigInt(Math.round(clock.now())) * 1_000_000n;
  const wait = (ms: number): Effect.Effect<void> =>
    Effect.callback<void>((resume) => {
      const cancel = clock.after(Math.min(ms, WAIT_LIMIT_MS), () => resume(ms > WAIT_LIMIT_MS ? wait(ms - WAIT_LIMIT_MS) : Effect.void));
      return Effect.sync(cancel);
    });
  return {
    currentTimeMillisUnsafe: () => clock.now(),
    currentTimeMillis: Effect.sync(() => clock.now()),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) => wait(Duration.toMillis(duration)),
  };
}
