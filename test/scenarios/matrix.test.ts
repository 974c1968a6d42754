/** The decision matrix: what becomes of a turn, by decision. Each row is run once, on the real runtime and the real SQLite store. */

import { afterAll, describe, expect, it } from "vitest";
import "../agent/world.ts";
import { lines, totalOf } from "../../tools/matrix/report.ts";
import { endContenders } from "./matrix/contender.ts";
import { paths } from "./matrix/path.ts";
import { NOT_ASKED } from "./matrix/row.ts";
import { gaps, ROWS, runRow } from "./matrix/run.ts";
import { Play, RESUME, SEAL } from "./play.ts";

afterAll(endContenders);

describe("the decision matrix", () => {
  it.each(ROWS.map((row) => ({ number: row.row, decision: row.decision, row })))(
    "row $number, $decision",
    async ({ row }) => {
      const { problem, seen } = await runRow(row);
      if (problem !== undefined) throw new Error(`${problem}\nseen: ${JSON.stringify(seen, null, 1)}`);
    },
    600_000,
  );

  it("has every number, and each decision has its row and its path", () => {
    expect(gaps()).toEqual([]);
  });

  it("says which decision has no row, which has no path, and which row has none", () => {
    const decisions = [...paths().paths.keys()];
    expect(gaps(ROWS.filter(({ row }) => row !== 9 && row !== 27))).toEqual([
      "row 9 is not there",
      "row 27 is not there",
      "the decision prompt_drift has no row",
      "row 9 has no path",
    ]);
    expect(gaps(ROWS, new Set(decisions.filter((decision) => decision !== "stop")))).toEqual(["the decision stop has no path"]);
    expect(gaps(ROWS.filter((row) => !("path" in row && row.path === "commit")))).toContain("the decision commit has no row");
  });

  it("takes its paths from a model of session, runs and handoff that is bounded", () => {
    const { states, edges, paths: found } = paths();
    console.log(`${states} states, ${edges} edges, ${found.size} paths`);
    expect(states).toBeGreaterThan(found.size);
    expect(edges).toBeGreaterThanOrEqual(states - 1);
  });
});

describe("a row", () => {
  const [row] = ROWS.filter(({ decision }) => decision === "cancel");

  it("fails where what is seen is not what is expected, and says so", async () => {
    if (!row) throw new Error("there is no row for cancel");
    const result = await runRow({ ...row, expected: { ...row.expected, handoff: "resumed" } }, 2);
    expect(result).toMatchObject({ row: 2, decision: "cancel", runs: 2, passed: 0, seen: { handoff: "cancelled" } });
    expect(result.problem).toContain("resumed");
    for (const [differs, said] of [
      [{ stop: undefined }, "what was seen is not what is expected"],
      [{ cancel: NOT_ASKED }, "what is not asked of the row was done: cancel"],
    ] as const)
      expect((await runRow({ ...row, expected: { ...row.expected, ...differs } })).problem).toContain(said);
  });
});

describe("the printed matrix", () => {
  const result = (row: number, runs: number, passed: number) => ({
    row,
    decision: "d",
    runs,
    passed,
    seen: { source: "sealed", handoff: "sealed", session: "paused", dispatches: 1, seals: 1, tip: "original-run sealed" },
  });

  it("counts a row number as passed when every variant passed in every run", () => {
    expect(totalOf([result(1, 1, 1), result(1, 20, 20), result(2, 1, 1), result(2, 20, 19), result(3, 0, 0)])).toEqual({
      passed: 1,
      rows: 3,
    });
  });

  it("shows a row with what was seen, and below it why it failed", () => {
    expect(lines({ ...result(4, 20, 19), problem: "run 3: it was\nnot so" }).map((line) => line.replace(/ {2,}/g, " "))).toEqual([
      " 4 -- 19/20 d sealed sealed paused 1 1 original-run sealed",
      " run 3: it was",
      " not so",
    ]);
  });
});

describe("a sealed turn", () => {
  it("is left byte-identical by recovery in the process and by the next ones", async () => {
    const play = await Play.of({ acts: [...SEAL] });
    const { world } = play;
    const source = () =>
      JSON.stringify([
        world.reader.actor("run/original-run"),
        world.rows("run/original-run"),
        world.reader.effects({ actor: "run/original-run" }, { limit: 10 }),
      ]);
    const [bytes, all] = [source(), world.dump()];
    await world.holdfast.recover();
    await world.holdfast.recover();
    expect(world.dump()).toBe(all);
    for (const _ of [1, 2]) {
      await world.reopen();
      await world.holdfast.recover();
      expect(source()).toBe(bytes);
    }
    await play.act("check");
    await play.act("resume");
    expect(source()).toBe(bytes);
    await world.reopen();
    expect(source()).toBe(bytes);
  });

  it("is named to its successor by the check: same turn, the run that was fixed beforehand", async () => {
    const play = await Play.of({ acts: [...SEAL, "check"] });
    expect(play.continuation).toMatchObject({ purpose: "handoff", turnId: "logical-turn", runId: "successor-run", handoffId: "handoff-1" });
  });

  it("shows the consumer one complete only, after the resume", async () => {
    const play = await Play.of({ acts: [...SEAL, ...RESUME] });
    expect(play.streamFailure).toBeUndefined();
    expect(play.seen.at(-1)?.type).toBe("run.sealed");
    expect(play.resumed.filter((event) => event.type === "run.ended")).toMatchObject([{ kind: "completed", runId: "successor-run" }]);
    expect(play.resumed.at(-1)?.type).toBe("run.ended");
  });

  it("has its partial output in the journal once, before the seal", async () => {
    const play = await Play.of({
      steps: { "original-run#1": { partial: ["fir", "st"], report: { text: "first", next: "continue", remainingSteps: 2 } } },
      acts: [...SEAL, ...RESUME],
    });
    expect(play.seen.filter((event) => event.type === "partial")).toMatchObject([{ output: "fir" }, { output: "st" }]);
    const entries = play.world.actors("run").flatMap((actor) => play.world.rows(actor.address));
    expect(entries.filter((entry) => entry.event.includes('"first"')).map((entry) => entry.actor)).toEqual(["run/original-run"]);
    expect(entries.some((entry) => entry.event.includes('"fir"'))).toBe(false);
    expect(play.resumed.some((event) => event.type === "message.added" && event.text === "first")).toBe(false);
  });
});

describe("a seal that cannot be written", () => {
  it("fails the stream and `sealed` with its cause, and leaves nothing half-written", async () => {
    const play = await Play.of({ acts: ["start", "request", "open original-run#1", "ready", "fail the seal", "commit", "sealed"] });
    const { world } = play;
    await expect(play.handoff?.sealed).rejects.toMatchObject({
      code: "seal_not_durable",
      cause: { code: "storage_failed", cause: { message: "disk full" } },
    });
    expect(play.streamFailure).toMatchObject({ code: "seal_not_durable", cause: { code: "storage_failed" } });
    expect([world.state("run/original-run"), world.state("handoff/handoff-1")]).toEqual(["paused", "paused"]);
    expect(world.holdfast.verify().ok).toBe(true);
  });

  it("is no matter of live runs: recovery skips them", async () => {
    const play = await Play.of({ acts: ["start", "reach original-run#1"] });
    const before = play.world.dump();
    await play.world.holdfast.recover();
    await play.world.holdfast.recover();
    expect(play.world.dump()).toBe(before);
    expect(play.backend.steps).toHaveLength(1);
  });
});
