import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AnyStateMachine } from "xstate";
import { drive } from "../../src/testing/exercise-machine-path.ts";
import { castOf, Stage } from "../../src/testing/exercise-machine-stage.ts";
import { type MachinePath, pathsFor } from "../../src/testing/index.ts";
import { Model } from "../../src/testing/path-model.ts";
import { Watched } from "../../src/testing/path-trace.ts";
import { BEGIN_MS, pathsOf } from "../../src/testing/paths.ts";
import { failuresOf, proofOf } from "./failing.ts";
import { chained, immediate, nested, nudging, twins } from "./timed.ts";

/** What fails where everything is tried, and how much there was. */
async function all(machine: AnyStateMachine, types: readonly string[]) {
  const events = types.map((type) => ({ type }));
  const { uncovered } = pathsFor(machine, { input: {}, events } as never);
  expect(uncovered.filter((what) => !what.includes("never"))).toEqual([]);
  const { tests, done } = proofOf(machine, { input: {}, events, uncovered });
  return { failed: await failuresOf(tests), done };
}

const POLICIES = ["absolute", "remaining", "restart"] as const;
const pairs = [
  ["absolute", "remaining"],
  ["remaining", "restart"],
  ["restart", "absolute"],
] as const;
/** The whole machine's notice of a restart: none, refused, or taken. */
const notices = [{}, { "engine.reopened": { guard: "never" } }, { "engine.reopened": { actions: "note" } }];

describe("the proof of a machine with timers", () => {
  it.each(POLICIES)("passes where the firing of one that is %s sets another", async (policy) => {
    const { failed, done } = await all(chained({ t1: policy, t2: policy }), ["go", "skip"]);
    expect(failed).toEqual({});
    expect(done.crashes).toBeGreaterThan(10);
    expect(done.faults).toBeGreaterThan(10);
  });

  it.each(pairs)("passes where one that is %s runs beside one that is %s, with and without notice of a restart", async (outer, inner) => {
    for (const notice of notices) expect((await all(nested(outer, inner, notice), ["stop"])).failed).toEqual({});
  });

  it.each(POLICIES)("passes where a delayed raise, which is %s, has an id and may be called off", async (policy) => {
    expect((await all(nudging(policy), ["settle", "again"])).failed).toEqual({});
  });

  it("compares what a crash leaves between the commits of two that are due at the same moment", async () => {
    expect((await all(twins, ["go"])).failed).toEqual({});
  });

  it("knows what the machine says after each commit of a move, where a crash may be", async () => {
    const watched = new Watched(immediate);
    const { paths } = pathsOf(watched, { input: {}, events: [{ type: "go" }] });
    const folder = mkdtempSync(join(tmpdir(), "holdfast-timers-"));
    const stage = new Stage(castOf(immediate, [], "path"), join(folder, "path.db"), BEGIN_MS);
    try {
      const { states } = await drive(stage, new Model(watched, "path"), paths[0] as MachinePath, { from: -1 });
      expect([...states].map(([seq, found]) => [seq, found.at(-1)?.snapshot.value])).toEqual([
        ...[
          [1, "a"],
          [2, "b"],
          [3, "c"],
          [4, "d"],
        ],
      ]);
    } finally {
      await stage.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("passes where a timer has no length", async () => {
    expect((await all(immediate, ["go"])).failed).toEqual({});
  });
});
