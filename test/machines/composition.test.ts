import { describe, expect, it } from "vitest";
import { driftBetween } from "../../machines/index.ts";
import { composition, hash } from "./sample.ts";

describe("drift", () => {
  it.each([
    ["prompt", { promptHash: hash("1") }, hash("0"), hash("1")],
    ["tools", { toolsHash: hash("1") }, hash("0"), hash("1")],
    ["availability", { availabilityHash: hash("1") }, hash("0"), hash("1")],
    ["provider_options", { providerOptionsHash: hash("1") }, hash("0"), hash("1")],
    ["context_window", { contextWindow: 8000 }, null, "8000"],
  ])("in %s names the field, old and new", (field, changes, source, own) => {
    expect(driftBetween(composition, { ...composition, ...changes })).toEqual([{ field, source, own }]);
  });

  it("is not a difference of composer, revision or body", () => {
    expect(driftBetween(composition, { ...composition, composerId: "other", composerRevision: "2", body: "b".repeat(64) })).toEqual([]);
  });

  it("lists every field that differs, in the order of the table", () => {
    const other = { ...composition, contextWindow: 1, promptHash: hash("2"), toolsHash: hash("2") };
    expect(driftBetween(composition, other).map(({ field }) => field)).toEqual(["prompt", "tools", "context_window"]);
  });
});
