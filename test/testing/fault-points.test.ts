import { expect, it } from "vitest";
import { faultPoints } from "../../src/testing/index.ts";

it("a plan strikes at its nth matching hit, once", () => {
  const points = faultPoints();
  points.throwAt("commit.inside", new Error("x"), { nth: 2, where: ({ entries }) => entries?.length === 0 });
  const hit = (entries?: []) => () => points.probe("commit.inside", entries ? { entries } : {});
  expect(hit([])).not.toThrow();
  expect(hit()).not.toThrow();
  expect(() => points.probe("commit.before", { entries: [] })).not.toThrow();
  expect(hit([])).toThrow("x");
  expect(hit([])).not.toThrow();
  expect([points.count("commit.inside"), points.count("commit.before"), points.count("effect.after")]).toEqual([4, 1, 0]);
});

it("each plan counts each hit, also where another one throws", () => {
  const points = faultPoints();
  points.throwAt("effect.before", new Error("first"));
  points.throwAt("effect.before", new Error("second"), { nth: 2 });
  expect(() => points.probe("effect.before", {})).toThrow("first");
  expect(() => points.probe("effect.before", {})).toThrow("second");
});

it("a moment can be waited for", async () => {
  const points = faultPoints();
  const reached = points.reached("commit.after");
  points.probe("commit.after", { entries: [] });
  expect(await reached).toEqual({ entries: [] });
});

it("an nth that is no whole number from 1 is refused", () => {
  expect(() => faultPoints().callAt("commit.after", () => undefined, { nth: 0 })).toThrow(RangeError);
});
