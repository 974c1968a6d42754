/** Promises of bounded parallel work. */

import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { inParallel } from "../../../src/backend/survey/pool.ts";

test("items are started in order, never more than the width at a time", async () => {
  const started: number[] = [];
  let inFlight = 0;
  await inParallel([1, 2, 3, 4, 5], 2, async (item) => {
    started.push(item);
    expect(++inFlight).toBeLessThanOrEqual(2);
    await setImmediate();
    inFlight--;
  });
  expect(started).toEqual([1, 2, 3, 4, 5]);
});

test("after an error nothing is started, and it is thrown when the rest is done", async () => {
  const started: number[] = [];
  const ended: number[] = [];
  const work = inParallel([1, 2, 3, 4, 5], 2, async (item) => {
    started.push(item);
    if (item === 1) throw new Error("first");
    for (let n = 0; n < 5; n++) await setImmediate();
    ended.push(item);
  });
  await expect(work).rejects.toThrow("first");
  expect(started).toEqual([1, 2]);
  expect(ended).toEqual([2]);
});
