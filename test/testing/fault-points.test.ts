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

it.each([
  ["throwAt", "commit.befor", {}, 'point is "commit.befor"; expected one of commit.before, commit.inside, effect.before, effect.after'],
  ["throwAt", "commit.after", {}, 'point is "commit.after"; expected one of commit.before, commit.inside, effect.before, effect.after'],
  ["callAt", undefined, {}, "point is missing; expected one of commit.before, "],
  ["callAt", "commit.after", { nht: 2 }, "a fault's filter has no option nht; there are nth, where"],
  ["callAt", "commit.after", { where: "charge" }, 'where is "charge"; expected a function'],
])("%s refuses the point %s with the filter %o", (name, point, filter, message) => {
  const points = faultPoints() as any;
  expect(() => points[name](point, () => undefined, filter)).toThrow(TypeError);
  expect(() => points[name](point, () => undefined, filter)).toThrow(message);
});

it("a point that there is not is neither waited for nor counted", async () => {
  await expect(faultPoints().reached("commit.befor" as never)).rejects.toThrow('point is "commit.befor"');
  expect(() => faultPoints().count("commit.befor" as never)).toThrow('point is "commit.befor"');
  expect(() => faultPoints().callAt("commit.after", "kill" as never)).toThrow('act is "kill"; expected a function');
});
