import { describe, expect, it } from "vitest";
import { fakeBackend, type StepInput } from "../../src/index.ts";
import { asks, codes, forged, found, plot, seal, waits } from "./way.ts";
import { codeOf, collect, World } from "./world.ts";

const HANDOFF = { purpose: "handoff" } as const;
const LIMIT = 64;

describe("a run that waits for a person", () => {
  it("parks as active and says which question is open", async () => {
    const world = await World.open(fakeBackend({ script: plot({ "run-1#1": asks({ id: "name", question: "Your name?" }) }) }));
    await waits(await world.begin());
    expect(await found(world)).toEqual([
      { code: "run_active", message: "the run run-1 has not ended" },
      { code: "interaction_open", message: "the run waits for an answer to run-1.name" },
    ]);
    expect(await codes(world, "run-1", HANDOFF)).toEqual(["not_sealed"]);
  });
});

describe("a turn of 64 runs", () => {
  it("is handed off no more, and ends in its last run", async () => {
    const script = ({ runId, transcript }: StepInput) => {
      if (runId !== "run-1") return { report: { text: `${[...transcript()].length}`, next: "end", stopReason: "end_turn" } } as const;
      return asks({ id: "go", question: "Go on?" });
    };
    const world = await World.open(fakeBackend({ script }), { synchronous: "normal" });
    let run = await world.begin();
    await waits(run);
    for (let member = 2; member <= LIMIT; member++) {
      await seal(run, `run-${member}`);
      for await (const { type } of world.holdfast.resume(forged(world, "handoff", [], run.id))) if (type === "run.waiting") break;
      run = world.holdfast.run(`run-${member}`);
    }
    expect(world.context(`run/run-${LIMIT}`)).toMatchObject({ depth: LIMIT, rootRunId: "run-1" });
    const before = world.dump();
    expect(await codeOf(() => run.requestHandoff({ successorRunId: "run-65" }))).toBe("lineage_limit");
    expect(world.dump()).toBe(before);
    await run.answer("run-1.go", "yes");
    expect(await run.end()).toMatchObject({ kind: "completed" });
    expect([world.count("run.dispatched"), world.count("message.added", ({ from }) => from === "answer")]).toEqual([2, 1]);
  });
});

describe("a chain of 64 continuations", () => {
  it("is not continued, and the next message begins another", async () => {
    let works = false;
    const script = () => {
      if (works) return { report: { next: "end", stopReason: "end_turn" } } as const;
      throw new Error("broken");
    };
    const world = await World.open(fakeBackend({ script }), { synchronous: "normal" });
    await (await world.begin()).end();
    let last = "run-1";
    for (let member = 2; member <= LIMIT; member++) {
      const continuation = { ...forged(world, "plain", [], last), turnId: `turn-${member}`, runId: `run-${member}` };
      expect(await codeOf(() => collect(world.holdfast.resume(continuation)))).toBe(undefined);
      last = continuation.runId;
    }
    expect(world.context(`run/${last}`).depth).toBe(LIMIT);
    expect(await codes(world, last)).toEqual(["lineage_limit"]);
    const before = world.dump();
    expect(await codeOf(() => collect(world.holdfast.resume(forged(world, "plain", [], last))))).toBe("lineage_limit");
    expect(world.dump()).toBe(before);
    works = true;
    const next = await world.holdfast.session("session-1").send("Again", { runId: "run-next" });
    expect(await next.end()).toMatchObject({ kind: "completed" });
    expect(world.context("run/run-next").depth).toBe(1);
  });
});
