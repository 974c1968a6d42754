import { describe, expect, it } from "vitest";
import { LINEAGE_LIMIT } from "../../machines/schema.ts";
import { boundaryDigest, segmentsOf } from "../../src/agent/boundary.ts";
import { Play, SEAL } from "../scenarios/play.ts";
import { claim, continued, lengthen, sealedTurn } from "./lineage.ts";
import { codeOf, type World } from "./world.ts";

const ids = (world: World, runId: string) => segmentsOf(world.reader, runId, { verify: true }).map((segment) => segment.runId);
const refusal = (world: World, runId: string, verify = false) => codeOf(() => segmentsOf(world.reader, runId, { verify }));

describe("the segments of a run", () => {
  it("are the heads of all runs that it goes on from, under seals and plainly, oldest first", async () => {
    const world = await continued();
    const segment = (runId: string, turnId: string) => {
      const row = world.reader.actor(`run/${runId}`);
      return { sessionId: "session-1", turnId, runId, seq: row?.seq, hash: row?.hash };
    };
    expect(segmentsOf(world.reader, "third-run", { verify: true })).toEqual([
      segment("original-run", "logical-turn"),
      segment("successor-run", "logical-turn"),
      segment("third-run", "next-turn"),
    ]);
    expect(ids(world, "original-run")).toEqual(["original-run"]);
  });

  it("of a turn that was begun afresh are its own, whatever was said before it", async () => {
    const { world } = await Play.of({ acts: ["start", "open original-run#1", "end"] });
    await (await world.holdfast.session("session-1").send("Go on", { runId: "next" })).end();
    expect(ids(world, "next")).toEqual(["next"]);
  });

  it("of a turn that was stopped after its seal hold, though nobody had looked at the source", async () => {
    const { world } = await Play.of({ acts: [...SEAL, "stop"] });
    expect(world.context("run/successor-run").source.head).toBeNull();
    expect(ids(world, "successor-run")).toEqual(["original-run", "successor-run"]);
  });

  it("are 64 at most", async () => {
    const world = await sealedTurn();
    const last = lengthen(world, "original-run", LINEAGE_LIMIT - 1);
    expect(segmentsOf(world.reader, last)).toHaveLength(LINEAGE_LIMIT);
    expect(await refusal(world, lengthen(world, last, 1))).toBe("lineage_limit");
  });
});

describe("a lineage is refused", () => {
  it.each<[string, string, (world: World) => void]>([
    [
      "whose first run continues its last",
      "lineage_cycle",
      (world) => claim(world, "original-run", "source", { kind: "plain", ...head(world) }),
    ],
    ["of which a run is missing", "run_not_found", (world) => world.tamper("DELETE FROM actors WHERE address = 'run/original-run'")],
    ["that spans two sessions", "lineage_mismatch", (world) => claim(world, "original-run", "sessionId", "session-2")],
    ["whose handoff leads into another turn", "lineage_mismatch", (world) => claim(world, "successor-run", "turnId", "other-turn")],
    ["whose handoff leads to another root", "lineage_mismatch", (world) => claim(world, "successor-run", "rootRunId", "other-root")],
    ["whose first run names another root", "lineage_mismatch", (world) => claim(world, "original-run", "rootRunId", "other-root")],
    ["whose plain continuation stays in the turn", "lineage_mismatch", (world) => claim(world, "third-run", "turnId", "logical-turn")],
    ["whose plain continuation is not its own root", "lineage_mismatch", (world) => claim(world, "third-run", "rootRunId", "original-run")],
    ["that was pinned at another entry", "lineage_mismatch", (world) => claim(world, "third-run", "source.head.seq", 1)],
    ["that was pinned at another hash", "lineage_mismatch", (world) => claim(world, "successor-run", "source.head.hash", "0".repeat(64))],
    ["that was pinned at another run", "lineage_mismatch", (world) => claim(world, "third-run", "source.head.runId", "original-run")],
    ["that names another boundary", "lineage_mismatch", (world) => claim(world, "third-run", "source.boundary", "0".repeat(64))],
    [
      "whose source has not ended",
      "lineage_mismatch",
      (world) => world.tamper("UPDATE actors SET status = 'active' WHERE address = 'run/successor-run'"),
    ],
    [
      "whose snapshot does not say which run it is",
      "snapshot_damaged",
      (world) => world.tamper("UPDATE actors SET snapshot = '{}' WHERE address = 'run/successor-run'"),
    ],
    ["whose snapshot is another run's", "snapshot_damaged", (world) => claim(world, "successor-run", "runId", "third-run")],
  ])("%s", async (_, code, damage) => {
    const world = await continued();
    expect(await refusal(world, "third-run")).toBeUndefined();
    damage(world);
    expect(await refusal(world, "third-run")).toBe(code);
  });

  it("that names the boundary of its own source is not", async () => {
    const world = await continued();
    claim(world, "third-run", "source.boundary", boundaryDigest(segmentsOf(world.reader, "successor-run")));
    expect(await refusal(world, "third-run")).toBeUndefined();
  });

  it.each<[string, string, string]>([
    [
      "an entry of its first run was changed",
      "journal_damaged",
      "UPDATE journal SET at_ms = 1 WHERE actor = 'run/original-run' AND seq = 2",
    ],
    ["an entry of its first run is missing", "journal_damaged", "DELETE FROM journal WHERE actor = 'run/original-run' AND seq = 2"],
    [
      "what a snapshot says of its run is not what it was opened as",
      "snapshot_damaged",
      "UPDATE actors SET snapshot = json_set(snapshot, '$.context.source.claimId', 'other') WHERE address = 'run/successor-run'",
    ],
  ])("where it is verified and %s", async (_, code, sql) => {
    const world = await continued();
    expect(world.tamper(sql)).toBe(1);
    expect(await refusal(world, "third-run")).toBeUndefined();
    expect(await refusal(world, "third-run", true)).toBe(code);
  });

  it("of a run that nobody knows", async () => {
    expect(await refusal(await sealedTurn(), "nobody")).toBe("run_not_found");
  });
});

describe("the digest of a boundary", () => {
  it("is the same for the same segments and another for each change of one", async () => {
    const segments = segmentsOf((await continued()).reader, "third-run");
    const digest = boundaryDigest(segments);
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(boundaryDigest(structuredClone(segments))).toBe(digest);
    const changed = segments.flatMap((segment, index) =>
      Object.entries(segment).map(([key, value]) =>
        segments.with(index, { ...segment, [key]: typeof value === "number" ? value + 1 : `${value}x` }),
      ),
    );
    const others = [segments.slice(1), segments.slice(0, -1), segments.toReversed(), ...changed];
    expect(new Set(others.map(boundaryDigest)).add(digest).size).toBe(others.length + 1);
  });
});

/** The head of `third-run`, as a source. */
function head(world: World) {
  const row = world.reader.actor("run/third-run");
  return { runId: "third-run", head: { runId: "third-run", seq: row?.seq ?? 0, hash: row?.hash ?? "" }, denied: false };
}
