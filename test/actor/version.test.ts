import { expect, it } from "vitest";
import { compareVersions, isVersion } from "../../src/actor/version.ts";

it.each(["1", "0", "1.2", "1.2.3", "999999999.0.1"])("%s is a version", (text) => {
  expect(isVersion(text)).toBe(true);
});

it.each(["", "v1", "1.", "1.2.3.4", "1-beta", " 1", "1234567890", 1, undefined])("%s is no version", (value) => {
  expect(isVersion(value)).toBe(false);
});

it.each([
  ["1", "2"],
  ["1.9", "1.10"],
  ["1", "1.0.1"],
  ["9.9.9", "10"],
])("%s is older than %s", (older, newer) => {
  expect(compareVersions(older, newer)).toBeLessThan(0);
  expect(compareVersions(newer, older)).toBeGreaterThan(0);
});

it("numbers that are absent count as 0", () => {
  expect(compareVersions("2", "2.0.0")).toBe(0);
});
