import { describe, expect, it } from "vitest";
import { demandExactlyOnce, type RunTally } from "../../src/cli/demo/tally.ts";

function tally(changes: Partial<RunTally> = {}): RunTally {
  const none = new Set<string>();
  return {
    id: "r",
    state: "completed",
    revision: "1",
    dispatches: 1,
    steps: 1,
    called: none,
    settled: none,
    unknown: none,
    failure: null,
    ...changes,
  };
}

describe("demandExactlyOnce", () => {
  it("takes runs that were dispatched once and share no settled call", () => {
    const first = tally({ called: new Set(["list", "read:0"]), settled: new Set(["list"]) });
    expect(() => demandExactlyOnce([first, tally({ called: new Set(["read:0"]) })])).not.toThrow();
  });

  it.each([0, 2])("refuses a run that was dispatched %i times", (dispatches) => {
    expect(() => demandExactlyOnce([tally(), tally({ dispatches })])).toThrow(expect.objectContaining({ code: "demo_failed" }));
  });

  it("refuses a run that repeats what an earlier one had settled", () => {
    const first = tally({ called: new Set(["list"]), settled: new Set(["list"]) });
    expect(() => demandExactlyOnce([first, tally(), tally({ called: new Set(["list"]) })])).toThrow(
      expect.objectContaining({ code: "demo_failed" }),
    );
  });
});
