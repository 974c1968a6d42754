import { expect, it } from "vitest";
import { z } from "zod";
import { sha256 } from "../../src/actor/json.ts";
import { fakeBackend, fakeComposition, type ToolContext } from "../../src/index.ts";
import { Play, SEAL } from "../scenarios/play.ts";
import { Gate, World } from "./world.ts";

it("a session whose run is damaged is blocked by the next start, and can be closed", async () => {
  const world = await World.setAside();
  expect(world.reader.actor("run/run-1")?.quarantine).toMatchObject({ code: "snapshot_damaged" });
  expect(world.state("session/session-1")).toBe("blocked");
  const session = world.holdfast.session("session-1");
  await expect(session.send("Go on")).rejects.toMatchObject({ code: "session_blocked" });
  await session.archive();
  expect(world.state("session/session-1")).toBe("archived");
});

it("a session whose run is released goes back to where it was blocked, and the run goes on", async () => {
  const world = await World.setAside();
  expect(world.state("session/session-1")).toBe("blocked");
  await world.holdfast.release("run/run-1");
  expect([world.state("session/session-1"), world.state("run/run-1")]).toEqual(["waiting", "waiting"]);
  expect(world.holdfast.verify().faults).toEqual([]);
  await world.holdfast.run("run-1").stop();
  expect(world.state("session/session-1")).toBe("idle");
});

it("a source that is damaged between the check and the resume is not continued", async () => {
  const { world } = await Play.of({ acts: [...SEAL] });
  const check = await world.holdfast.checkContinuation("original-run", { purpose: "handoff" });
  if (check.decision === "park") throw new Error("parked");
  world.tamper("UPDATE journal SET event = replace(event, 'long job', 'song job') WHERE actor = 'run/original-run'");
  const resumed = async () => {
    for await (const _ of world.holdfast.resume(check.continuation));
  };
  await expect(resumed()).rejects.toMatchObject({ code: "journal_damaged" });
  expect(world.state("run/successor-run")).toBeUndefined();
});

it("a resume whose signal is aborted already claims nothing", async () => {
  const { world } = await Play.of({ acts: [...SEAL] });
  const check = await world.holdfast.checkContinuation("original-run", { purpose: "handoff" });
  if (check.decision === "park") throw new Error("parked");
  const resumed = world.holdfast.resume(check.continuation, { signal: AbortSignal.abort(new Error("too late")) });
  await expect(resumed.next()).rejects.toThrow("too late");
  expect(world.state("run/successor-run")).toBeUndefined();
});

it("a blob that a tool stored is missed by a check of the root", async () => {
  const keep = {
    name: "keep",
    description: "Keeps bytes.",
    parameters: z.object({}),
    execute: async (_: object, { putBlob }: ToolContext) => ({ kept: await putBlob(Buffer.from("kept")) }),
  };
  const script = { calls: [{ name: "keep", args: {} }], report: { next: "end", stopReason: "end_turn" } } as const;
  const world = await World.open(fakeBackend({ script, tools: [keep] }));
  await (await world.begin()).end();
  expect(world.holdfast.verify().faults).toEqual([]);
  const digest = sha256("kept");
  world.tamper("UPDATE blobs SET bytes = x'00' WHERE digest = ?", digest);
  expect(world.holdfast.verify().faults).toMatchObject([{ code: "journal_damaged", actor: "run/run-1" }]);
  world.tamper("DELETE FROM blobs WHERE digest = ?", digest);
  expect(world.holdfast.verify().faults).toMatchObject([{ code: "row_missing", actor: "run/run-1" }]);
});

it("who waits for a run is told that what it came to could not be written, and recover goes on with it", async () => {
  const gate = new Gate();
  const composition = async () => {
    await gate.pass();
    return fakeComposition();
  };
  const world = await World.open(fakeBackend({ script: { report: { next: "end", stopReason: "end_turn" } }, composition }));
  let refused = 0;
  world.probe = (point, { entries }) => {
    if (point === "commit.inside" && refused === 0 && entries?.some((entry) => entry.event.includes('"prepare.done"'))) {
      refused++;
      throw new Error("the disk is full");
    }
  };
  const run = await world.begin();
  const followed = (async () => {
    for await (const _ of run.events());
  })();
  const waited = [run.end(), followed].map((waiting) => expect(waiting).rejects.toMatchObject({ code: "storage_failed" }));
  gate.open();
  await Promise.all(waited);
  expect([refused, world.state("run/run-1")]).toEqual([1, "preparing"]);
  await world.holdfast.recover();
  expect(await run.end()).toMatchObject({ kind: "completed" });
});
