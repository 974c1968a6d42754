import { expect, it } from "vitest";
import { simulatedClock } from "../../src/testing/index.ts";

it("the time stands still until it is moved", () => {
  const clock = simulatedClock(1000);
  expect(clock.now()).toBe(1000);
  clock.advance(5);
  expect(clock.now()).toBe(1005);
});

it("what is due is called in the order of time, then of asking, at its own time", () => {
  const clock = simulatedClock(0);
  const calls: [string, number][] = [];
  const note = (name: string) => () => calls.push([name, clock.now()]);
  clock.after(20, note("late"));
  clock.after(10, note("first"));
  clock.after(10, note("second"));
  clock.after(31, note("not yet"));
  clock.advance(30);
  expect(calls).toEqual([
    ["first", 10],
    ["second", 10],
    ["late", 20],
  ]);
  expect([clock.now(), clock.waiting]).toEqual([30, 1]);
});

it("what a call asks for falls due in the same advance", () => {
  const clock = simulatedClock(0);
  const calls: number[] = [];
  clock.after(10, () => clock.after(10, () => calls.push(clock.now())));
  clock.advance(20);
  expect(calls).toEqual([20]);
});

it("what was taken back is not called", () => {
  const clock = simulatedClock(0);
  let called = 0;
  const cancel = clock.after(10, () => {
    called++;
  });
  cancel();
  clock.advance(20);
  expect([called, clock.waiting]).toEqual([0, 0]);
});

it("due resolves as soon as something is due soon enough, and not before", async () => {
  const clock = simulatedClock(0);
  let resolved = false;
  const due = clock.due(100).then(() => {
    resolved = true;
  });
  clock.after(101, () => undefined);
  await Promise.resolve();
  expect(resolved).toBe(false);
  clock.after(100, () => undefined);
  await due;
  expect(resolved).toBe(true);
});
