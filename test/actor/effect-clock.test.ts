import * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Fiber from "effect/Fiber";
import { describe, expect, it } from "vitest";
import { effectClock } from "../../src/actor/effect-clock.ts";
import { flushed } from "./held.ts";
import { settableClock } from "./timed.ts";

/** The longest wait that a clock can be asked for. */
const LONGEST_MS = 2 ** 31 - 1;

/** A wait of so many ms on a clock that begins at 5 ms; `isOver` once it has ended. */
function waiting(ms: number) {
  const clock = settableClock(5);
  const wait = { isOver: false };
  const { sleep: waitFor } = effectClock(clock);
  const fiber = Effect.runFork(waitFor(Duration.millis(ms)));
  fiber.addObserver(() => {
    wait.isOver = true;
  });
  return { clock, fiber, wait };
}

describe("the engine's clock, to the Effect library", () => {
  it("tells its time in every form that is asked for", () => {
    const effects = effectClock(settableClock(5));
    expect([effects.currentTimeMillisUnsafe(), effects.currentTimeNanosUnsafe(), effects.monotonicTimeNanosUnsafe()]).toEqual([
      5,
      5_000_000n,
      5_000_000n,
    ]);
    const told = [effects.currentTimeMillis, effects.currentTimeNanos, effects.monotonicTimeNanos].map((time) => Effect.runSync<unknown, never>(time)); // biome-ignore format: one row says it
    expect(told).toEqual([5, 5_000_000n, 5_000_000n]);
  });

  it("tells the time at which it is asked", () => {
    const clock = settableClock(5);
    const { currentTimeMillis } = effectClock(clock);
    clock.advance(10);
    expect(Effect.runSync(currentTimeMillis)).toBe(15);
  });

  it.each([
    ["once for what one wait can hold", LONGEST_MS, [LONGEST_MS]],
    ["several times for what is longer", 2 * LONGEST_MS + 7, [LONGEST_MS, LONGEST_MS, 7]],
  ])("waits %s", async (_, ms, waits) => {
    const { clock, wait } = waiting(ms);
    for (const piece of waits) {
      expect(wait.isOver).toBe(false);
      clock.advance(piece);
      await flushed();
    }
    expect([wait.isOver, clock.asked]).toEqual([true, waits]);
  });

  it("is over at its time and not before", async () => {
    const { clock, wait } = waiting(10);
    clock.advance(9);
    await flushed();
    expect(wait.isOver).toBe(false);
    clock.advance(1);
    await flushed();
    expect(wait.isOver).toBe(true);
  });

  it("leaves no wait behind that is interrupted", async () => {
    const { clock, fiber } = waiting(10);
    expect(clock.waiting).toBe(1);
    await Effect.runPromise(Fiber.interrupt(fiber));
    expect(clock.waiting).toBe(0);
  });
});
