import { describe, expect, it } from "vitest";
import { LINEAGE_LIMIT } from "../../machines/schema.ts";
import { HOLD, Play, SEAL } from "../scenarios/play.ts";
import { COMPLETED, claim, continued, copyRun, handedOffOnce, handedOffTwice, lengthenTurn, sealedTurn, state } from "./lineage.ts";
import { codeOf, type World } from "./world.ts";

const TURN = { sessionId: "session-1", turnId: "logical-turn", rootRunId: "original-run" };
const ENDED = { kind: "completed", stopReason: "end_turn" };

/** What is read with bodies, and, checked to be the same, without. */
function read(world: World, runId: string) {
  const { transcript, ...turn } = world.holdfast.readTurn(runId);
  expect(world.holdfast.readTurn(runId, { bodies: false })).toEqual(turn);
  return { ...turn, transcript: [...transcript()] };
}

const outline = (world: World, runId: string) => codeOf(() => world.holdfast.readTurn(runId, { bodies: false }));

describe("a turn", () => {
  it("that goes on is its root run, which has neither a seal nor an outcome", async () => {
    const { world } = await Play.of({ acts: [...HOLD] });
    const { seq, hash } = world.reader.actor("run/original-run") as { seq: number; hash: string };
    const member = { runId: "original-run", state: "boundary", seal: null, outcome: null, seq, hash };
    expect(read(world, "original-run")).toMatchObject({
      ...TURN,
      tipRunId: "original-run",
      members: [member],
      pendingHandoff: null,
      outcome: null,
    });
  });

  it("that was handed off is the same from each of its runs", async () => {
    const world = await handedOffTwice();
    const turns = ["original-run", "successor-run", "third-run"].map((runId) => read(world, runId));
    const [first] = turns;
    expect(first).toMatchObject({ ...TURN, tipRunId: "third-run", pendingHandoff: null, outcome: ENDED });
    expect(first?.members).toMatchObject([
      { runId: "original-run", state: "sealed", seal: { successorRunId: "successor-run", claimId: "claim-1" }, outcome: null },
      { runId: "successor-run", state: "sealed", seal: { successorRunId: "third-run", claimId: "claim-2" }, outcome: null },
      { runId: "third-run", state: "completed", seal: null, outcome: ENDED },
    ]);
    for (const turn of turns) expect(turn).toEqual(first);
  });

  it("is told with what was said in all of its runs, and in no other turn", async () => {
    const world = await handedOffOnce();
    await (await world.holdfast.session("session-1").send("And now?", { runId: "next", turnId: "next-turn" })).end();
    const said = (runId: string) => read(world, runId).transcript.map(({ runId, fact }) => [runId, "text" in fact && fact.text]);
    expect(said("original-run")).toEqual([
      ["original-run", "Do the long job"],
      ["original-run", "first"],
      ["successor-run", "third"],
      ["successor-run", "fourth"],
    ]);
    expect(said("next")).toEqual([["next", "And now?"]]);
  });

  it("that is sealed waits for the successor that its seal names, also after a restart", async () => {
    const world = await sealedTurn();
    const pendingHandoff = { handoffId: "handoff-1", successorRunId: "successor-run", claimId: "claim-1" };
    const turn = read(world, "original-run");
    expect(turn).toMatchObject({ tipRunId: "original-run", pendingHandoff, outcome: null });
    await world.reopen();
    expect(read(world, "original-run")).toEqual(turn);
    expect(await outline(world, "successor-run")).toBe("run_not_found");
  });

  it.each([
    ["is held", [...HOLD]],
    ["whose handoff was cancelled", [...HOLD, "cancel", "end"]],
    ["whose handoff is committed and not sealed", [...HOLD, "fail the seal", "commit", "sealed"]],
  ] as const)("that %s waits for no successor", async (_, acts) => {
    const { world } = await Play.of({ acts });
    expect(read(world, "original-run")).toMatchObject({ tipRunId: "original-run", members: [{ seal: null }], pendingHandoff: null });
  });

  it("that was stopped after its seal ended in its successor", async () => {
    const { world } = await Play.of({ acts: [...SEAL, "stop"] });
    expect(read(world, "original-run")).toMatchObject({ tipRunId: "successor-run", outcome: { kind: "cancelled" }, pendingHandoff: null });
  });

  it("that continues an earlier one plainly has its own root", async () => {
    const world = await continued();
    expect(read(world, "third-run")).toMatchObject({ turnId: "next-turn", rootRunId: "third-run", members: [{ runId: "third-run" }] });
    expect(read(world, "original-run")).toMatchObject({ tipRunId: "successor-run", outcome: { kind: "failed" } });
  });

  it("has 64 runs at most", async () => {
    const world = await sealedTurn();
    const runs = lengthenTurn(world, LINEAGE_LIMIT);
    const read = world.holdfast.readTurn("original-run", { bodies: false });
    expect(read.members.map(({ runId }) => runId)).toEqual(runs);
    state(world, read.tipRunId, [{ ...(read.members[0]?.seal as object), type: "run.sealed", successorRunId: "one-more" }]);
    copyRun(world, read.tipRunId, "one-more");
    const { seq, hash } = world.reader.actor("run/one-more") as { seq: number; hash: string };
    const head = { runId: read.tipRunId, seq, hash };
    const source = { kind: "handoff", handoffId: "handoff-1", claimId: "claim-1", runId: read.tipRunId, head, denied: false };
    claim(world, "one-more", "source", source);
    world.tamper("INSERT INTO identities (name, actor) VALUES (?, 'run/one-more')", `boundary/${read.tipRunId}`);
    for (const runId of ["original-run", "one-more"]) expect(await outline(world, runId)).toBe("lineage_limit");
  });
});

describe("no tip is guessed where", () => {
  it.each<[string, string, (world: World) => void]>([
    ["the successor's row is gone", "turn_inconsistent", (world) => world.tamper("DELETE FROM actors WHERE address = 'run/successor-run'")],
    [
      "nobody recorded who owns the boundary",
      "turn_inconsistent",
      (world) => world.tamper("DELETE FROM identities WHERE name = 'boundary/original-run'"),
    ],
    [
      "another run owns the boundary",
      "turn_inconsistent",
      (world) => world.tamper("UPDATE identities SET actor = 'run/other' WHERE name = 'boundary/original-run'"),
    ],
    ["the successor is of another session", "turn_inconsistent", (world) => claim(world, "successor-run", "sessionId", "session-2")],
    ["the successor is of another turn", "turn_inconsistent", (world) => claim(world, "successor-run", "turnId", "turn-2")],
    ["the successor names another root", "turn_inconsistent", (world) => claim(world, "successor-run", "rootRunId", "other")],
    ["the successor began afresh", "turn_inconsistent", (world) => claim(world, "successor-run", "source", { kind: "fresh" })],
    [
      "the successor was opened under another claim",
      "turn_inconsistent",
      (world) => claim(world, "successor-run", "source.claimId", "other"),
    ],
    [
      "the successor was opened by another handoff",
      "turn_inconsistent",
      (world) => claim(world, "successor-run", "source.handoffId", "other"),
    ],
    ["the successor was opened for another run", "turn_inconsistent", (world) => claim(world, "successor-run", "source.runId", "other")],
    ["the successor was opened for another entry", "turn_inconsistent", (world) => claim(world, "successor-run", "source.head.seq", 1)],
    ["the successor was opened for another hash", "turn_inconsistent", (world) => claim(world, "successor-run", "source.head.hash", "0")],
    [
      "the root was opened under a seal",
      "turn_inconsistent",
      (world) => claim(world, "original-run", "source", handoffFrom("successor-run")),
    ],
    ["the root names another root", "turn_inconsistent", (world) => claim(world, "original-run", "rootRunId", "other")],
    ["the seal names another root", "turn_inconsistent", (world) => seal(world, { rootRunId: "other" })],
    ["the seal names another successor", "turn_inconsistent", (world) => seal(world, { successorRunId: "other" })],
    ["the seal cannot be read", "turn_inconsistent", (world) => seal(world, { claimId: 1 })],
    ["the seal is no list of facts", "journal_damaged", (world) => state(world, "original-run", { facts: "none" })],
    ["the sealed run states nothing at its end", "turn_inconsistent", (world) => state(world, "original-run", [])],
    ["the sealed run states an outcome as well", "turn_inconsistent", (world) => state(world, "original-run", [sealOf(world), COMPLETED])],
    ["the last run is unfinished and states its end", "turn_inconsistent", (world) => unfinished(world, "successor-run")],
    ["the seal names the root", "turn_inconsistent", (world) => seal(world, { successorRunId: "original-run", rootRunId: "original-run" })],
    [
      "the last run ended with a fact that cannot be read",
      "turn_inconsistent",
      (world) => state(world, "successor-run", [{ ...COMPLETED, kind: "odd" }]),
    ],
    [
      "the last run's row is behind its last entry",
      "turn_inconsistent",
      (world) =>
        world.tamper(
          "UPDATE actors SET status = 'active', (seq, hash) = (SELECT seq, hash FROM journal WHERE actor = address ORDER BY seq DESC LIMIT 1 OFFSET 1) WHERE address = 'run/successor-run'",
        ),
    ],
    [
      "the last run's row has another hash than its last entry",
      "turn_inconsistent",
      (world) => world.tamper("UPDATE actors SET hash = 'x' WHERE address = 'run/successor-run'"),
    ],
    [
      "the root's last entry is missing",
      "turn_inconsistent",
      (world) => world.tamper("DELETE FROM journal WHERE actor = 'run/original-run' AND facts LIKE '%run.sealed%'"),
    ],
    [
      "the successor's snapshot cannot be read",
      "snapshot_damaged",
      (world) => world.tamper("UPDATE actors SET snapshot = '{' WHERE address = 'run/successor-run'"),
    ],
  ])("%s", async (_, code, damage) => {
    const world = await handedOffOnce();
    expect(await outline(world, "original-run")).toBeUndefined();
    damage(world);
    expect(await outline(world, "original-run")).toBe(code);
    // With bodies the chains and the openings are held against the rows first, so it is some coded refusal all the same.
    expect(await codeOf(() => world.holdfast.readTurn("original-run"))).toMatch(/^(turn_inconsistent|journal_damaged|snapshot_damaged)$/);
  });

  it("a run names a root that does not lead to it", async () => {
    const world = await sealedTurn();
    copyRun(world, "original-run", "stranger");
    claim(world, "stranger", "source", handoffFrom("original-run"));
    expect(await outline(world, "original-run")).toBeUndefined();
    expect(await outline(world, "stranger")).toBe("turn_inconsistent");
  });

  it("the seals lead back to a run that was a member before", async () => {
    const world = await handedOffTwice();
    const [, second] = world.holdfast.readTurn("third-run", { bodies: false }).members;
    state(world, "third-run", [{ ...(second?.seal as object), type: "run.sealed", successorRunId: "successor-run" }]);
    const { seq, hash } = world.reader.actor("run/third-run") as { seq: number; hash: string };
    world.tamper("INSERT INTO identities (name, actor) VALUES ('boundary/third-run', 'run/successor-run')");
    claim(world, "successor-run", "source.runId", "third-run");
    claim(world, "successor-run", "source.head", { runId: "third-run", seq, hash });
    expect(await outline(world, "third-run")).toBe("turn_inconsistent");
  });

  it("a sealed turn's handoff is not there, or knows another seal", async () => {
    const world = await sealedTurn();
    world.tamper("UPDATE actors SET snapshot = json_set(snapshot, '$.context.sealSeq', 1) WHERE address = 'handoff/handoff-1'");
    expect(await outline(world, "original-run")).toBe("turn_inconsistent");
    world.tamper("DELETE FROM actors WHERE address = 'handoff/handoff-1'");
    expect(await outline(world, "original-run")).toBe("turn_inconsistent");
  });

  it("a sealed turn's seal cannot be read", async () => {
    const world = await sealedTurn();
    seal(world, { claimId: 1 });
    expect(await outline(world, "original-run")).toBe("turn_inconsistent");
  });

  it("its root is gone", async () => {
    const world = await handedOffOnce();
    world.tamper("DELETE FROM actors WHERE address = 'run/original-run'");
    expect(await outline(world, "successor-run")).toBe("run_not_found");
  });

  it("its successor was forgotten, by a retention that was cut off before the root's turn came", async () => {
    const world = await handedOffOnce();
    world.tamper(
      "INSERT INTO tombstones (address, machine, version, state, seq, hash, deleted_ms) SELECT address, machine, version, state, seq, hash, 0 FROM actors WHERE address = 'run/successor-run'",
    );
    world.tamper("DELETE FROM actors WHERE address = 'run/successor-run'");
    world.tamper("DELETE FROM identities WHERE actor = 'run/successor-run'");
    expect(await outline(world, "original-run")).toBe("run_not_found");
  });

  it("an entry in the middle was changed, if bodies are read", async () => {
    const world = await handedOffOnce();
    world.tamper("UPDATE journal SET at_ms = 1 WHERE actor = 'run/successor-run' AND seq = 2");
    expect(await codeOf(() => world.holdfast.readTurn("original-run"))).toBe("journal_damaged");
    expect(await outline(world, "original-run")).toBeUndefined();
  });
});

const handoffFrom = (runId: string) => ({ kind: "handoff", handoffId: "handoff-1", claimId: "claim-1", runId, head: null, denied: false });

function sealOf(world: World) {
  return world.facts("run/original-run").at(-1) as { type: string };
}

function seal(world: World, changes: object): void {
  state(world, "original-run", [{ ...sealOf(world), ...changes }]);
}

function unfinished(world: World, runId: string): void {
  world.tamper("UPDATE actors SET status = 'active' WHERE address = ?", `run/${runId}`);
}
