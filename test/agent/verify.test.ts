import { describe, expect, it } from "vitest";
import { machines, run } from "../../machines/index.ts";
import { openActors } from "../../src/actors.ts";
import { verifyRoot } from "../../src/agent/verify.ts";
import { Play, RESUME, SEAL } from "../scenarios/play.ts";

/** A turn that was handed off and finished; then its database is changed. */
async function tampered(sql: string, ...values: unknown[]) {
  const { world } = await Play.of({ acts: [...SEAL, ...RESUME] });
  expect(world.holdfast.verify()).toMatchObject({ ok: true, faults: [] });
  expect(world.tamper(sql, ...values)).toBeGreaterThan(0);
  return world.holdfast.verify();
}

describe("verifying a root", () => {
  it.each([
    ["a composition's body is gone", "DELETE FROM blobs", "run/original-run", "row_missing"],
    [
      "a boundary belongs to another",
      "UPDATE identities SET actor = 'run/original-run' WHERE name = 'boundary/original-run'",
      "run/successor-run",
      "row_unexpected",
    ],
    ["a boundary belongs to nobody", "DELETE FROM identities WHERE name = 'boundary/original-run'", "run/successor-run", "row_unexpected"],
    ["a claim belongs to nobody", "DELETE FROM identities WHERE name = 'claim/claim-1'", "handoff/handoff-1", "row_missing"],
    [
      "a byte of an event was changed",
      "UPDATE journal SET event = replace(event, 'long job', 'song job') WHERE actor = 'run/original-run'",
      "run/original-run",
      "journal_damaged",
    ],
    [
      "a byte of a fact was changed",
      "UPDATE journal SET facts = replace(facts, 'claim-1', 'claim-2') WHERE actor = 'handoff/handoff-1'",
      "handoff/handoff-1",
      "journal_damaged",
    ],
    ["an entry is missing", "DELETE FROM journal WHERE actor = 'run/successor-run' AND seq = 2", "run/successor-run", "journal_damaged"],
    [
      "a snapshot was changed",
      "UPDATE actors SET snapshot = replace(snapshot, 'successor-run', 'another-run') WHERE address = 'run/original-run'",
      "run/original-run",
      "snapshot_damaged",
    ],
    [
      "a snapshot is no JSON",
      "UPDATE actors SET snapshot = '{' WHERE address = 'run/successor-run'",
      "run/successor-run",
      "snapshot_damaged",
    ],
    [
      "a state was changed",
      "UPDATE actors SET state = 'completed' WHERE address = 'run/original-run'",
      "run/original-run",
      "snapshot_damaged",
    ],
    ["an actor's row is gone", "DELETE FROM actors WHERE address = 'run/successor-run'", "run/successor-run", "row_missing"],
  ])("finds that %s, and names the actor", async (_, sql, actor, code) => {
    const verified = await tampered(sql);
    expect(verified.ok).toBe(false);
    expect(verified.faults.map((fault) => `${fault.actor} ${fault.code}`)).toContain(`${actor} ${code}`);
  });

  it("finds a composition whose body is not what its hashes say", async () => {
    const { world } = await Play.of({ acts: [...SEAL] });
    world.tamper("UPDATE blobs SET bytes = ?", Buffer.from("{}"));
    expect(world.holdfast.verify().faults).toMatchObject([{ code: "row_missing", actor: "run/original-run" }]);
  });

  it("finds nothing wrong where a sealed run was deleted and its successor stayed", async () => {
    const { world } = await Play.of({ acts: [...SEAL, ...RESUME] });
    await world.holdfast.close();
    await using engine = await openActors({ root: world.root, machines, start: false });
    await engine.get(run, "original-run")?.delete();
    expect(world.state("run/successor-run")).toBe("completed");
    expect(verifyRoot(world.reader).faults).toEqual([]);
    await engine.close();
    // By force it is another matter: nothing says that it was ever there.
    world.tamper("DELETE FROM tombstones");
    expect(verifyRoot(world.reader).faults).toContainEqual(expect.objectContaining({ actor: "run/successor-run", code: "row_unexpected" }));
  });

  it("finds nothing wrong with a turn at any point of its way", async () => {
    const play = await Play.of({ gates: ["flush", "successor-run#1"], acts: ["start"] });
    for (const act of [
      "request",
      "open original-run#1",
      "ready",
      "commit",
      "reach flush",
      "open flush",
      "sealed",
      "check",
      "begin to resume",
      "reach successor-run#1",
      "open successor-run#1",
      "end of the successor",
    ] as const) {
      await play.act(act);
      expect(play.world.holdfast.verify().faults, act).toEqual([]);
    }
  });
});
