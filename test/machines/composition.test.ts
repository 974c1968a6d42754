import { describe, expect, it } from "vitest";
import { refusedDrift } from "../../machines/composition.ts";
import { DRIFT_POLICY, driftBetween } from "../../machines/index.ts";
import { composition, hash } from "./sample.ts";

describe("drift", () => {
  it.each([
    ["prompt", { promptHash: hash("1") }, hash("0"), hash("1")],
    ["tools", { toolsHash: hash("1") }, hash("0"), hash("1")],
    ["availability", { availabilityHash: hash("1") }, hash("0"), hash("1")],
    ["provider_options", { providerOptionsHash: hash("1") }, hash("0"), hash("1")],
    ["context_window", { contextWindow: 8000 }, null, "8000"],
  ])("in %s names the field, old and new", (field, changes, source, own) => {
    expect(driftBetween(composition, { ...composition, ...changes })).toEqual([{ field, source, own, policy: "refuse" }]);
  });

  it("in composer and revision is listed and allowed", () => {
    expect(driftBetween(composition, { ...composition, composerId: "other", composerRevision: "2" })).toEqual([
      { field: "composer", source: "composer", own: "other", policy: "allow" },
      { field: "composer_revision", source: "1", own: "2", policy: "allow" },
    ]);
  });

  it("is not a difference of body", () => {
    expect(driftBetween(composition, { ...composition, body: "b".repeat(64) })).toEqual([]);
  });

  it("is refused or allowed as the embedder's policy says", () => {
    const drift = driftBetween(
      composition,
      { ...composition, promptHash: hash("1"), composerRevision: "2" },
      { ...DRIFT_POLICY, prompt: "allow", composer_revision: "refuse" },
    );
    expect(drift.map(({ field, policy }) => [field, policy])).toEqual([
      ["prompt", "allow"],
      ["composer_revision", "refuse"],
    ]);
    expect(refusedDrift(drift).map(({ field }) => field)).toEqual(["composer_revision"]);
  });

  it("lists every field that differs, in the order of the table", () => {
    const other = { ...composition, contextWindow: 1, promptHash: hash("2"), toolsHash: hash("2") };
    expect(driftBetween(composition, other).map(({ field }) => field)).toEqual(["prompt", "tools", "context_window"]);
  });
});
