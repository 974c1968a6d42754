import { describe, expect, it, onTestFinished, vi } from "vitest";
import { systemClock, wholeClock } from "../../src/actor/clock.ts";
import { simulatedClock } from "../../src/testing/index.ts";

describe("the clock of the system", () => {
  function frozen() {
    vi.useFakeTimers({ now: 5000, toFake: ["Date", "setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
  }

  it("tells the time, and wakes once it has come", () => {
    frozen();
    const woken: number[] = [];
    systemClock.after(100, () => woken.push(systemClock.now()));
    vi.advanceTimersByTime(99);
    expect([systemClock.now(), woken]).toEqual([5099, []]);
    vi.advanceTimersByTime(1000);
    expect(woken).toEqual([5100]);
  });

  it("leaves no wait behind that was given up", () => {
    frozen();
    const giveUp = systemClock.after(100, () => {});
    expect(vi.getTimerCount()).toBe(1);
    giveUp();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a clock in whole milliseconds", () => {
  it("cuts off the part of one that has not passed", () => {
    expect(wholeClock(simulatedClock(5000.9)).now()).toBe(5000);
  });

  it("waits by the clock that it was made of, and gives up there", () => {
    const clock = simulatedClock(0);
    const whole = wholeClock(clock);
    let woken = 0;
    whole.after(10, () => woken++);
    const giveUp = whole.after(10, () => woken++);
    giveUp();
    clock.advance(10);
    expect([woken, clock.waiting]).toEqual([1, 0]);
  });
});
