import { expect, it } from "vitest";
import { fakeBackend } from "../../src/index.ts";
import { Play, SEAL } from "../scenarios/play.ts";
import { World } from "./world.ts";

const waits = () => fakeBackend({ script: { report: { next: "wait", interaction: { id: "question-1", question: "May I?" } } } });

it("a session whose run is damaged is blocked by the next start, and can be closed", async () => {
  const world = await World.open(waits());
  const run = await world.begin();
  for await (const event of run.events()) if (event.type === "run.waiting") break;
  await world.holdfast.close();
  world.tamper("UPDATE actors SET snapshot = '{' WHERE address = 'run/run-1'");
  await world.open();
  expect(world.reader.actor("run/run-1")?.quarantine).toMatchObject({ code: "snapshot_damaged" });
  expect(world.state("session/session-1")).toBe("blocked");
  const session = world.holdfast.session("session-1");
  await expect(session.send("Go on")).rejects.toMatchObject({ code: "session_blocked" });
  await session.archive();
  expect(world.state("session/session-1")).toBe("archived");
});

it("a source that is damaged between the check and the resume is not continued", async () => {
  const { world } = await Play.of({ acts: [...SEAL] });
  const check = world.holdfast.checkContinuation("original-run", { purpose: "handoff" });
  if (check.decision === "park") throw new Error("parked");
  world.tamper("UPDATE journal SET event = replace(event, 'long job', 'song job') WHERE actor = 'run/original-run'");
  const resumed = async () => {
    for await (const _ of world.holdfast.resume(check.continuation));
  };
  await expect(resumed()).rejects.toMatchObject({ code: "journal_damaged" });
  expect(world.state("run/successor-run")).toBeUndefined();
});
