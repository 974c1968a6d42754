import { expect, it } from "vitest";
import { machines } from "../../machines/index.ts";
import { openActors } from "../../src/actors.ts";
import { wholeSession } from "../../src/agent/retention.ts";
import { verifyRoot } from "../../src/agent/verify.ts";
import { fakeBackend, fakeComposition } from "../../src/index.ts";
import { simulatedClock } from "../../src/testing/index.ts";
import { codeOf, collect, Gate, World } from "./world.ts";

const ends = { report: { text: "done", next: "end", stopReason: "end_turn" } } as const;
const NOTHING = { actors: 0, keys: 0, deadLetters: 0, blobs: 0 };

const addresses = (world: World) => world.actors().map(({ address }) => address);

/** A session whose first turn was handed off at its first boundary; its seal waits for `run-2`. */
async function sealed() {
  const clock = simulatedClock();
  const gate = new Gate();
  const backend = fakeBackend({
    composition: () => fakeComposition(),
    script: async ({ runId }) => {
      if (runId !== "run-1") return ends;
      await gate.pass();
      return { report: { text: "first", next: "continue" } };
    },
  });
  const world = await World.open(backend, { clock });
  const run = await world.begin();
  const handoff = await run.requestHandoff({ id: "handoff-1", successorRunId: "run-2", claimId: "claim-1" });
  gate.open();
  expect([await handoff.ready, await handoff.commit(), await handoff.sealed]).toEqual([true, true, true]);
  clock.advance(1000);
  return { world, clock };
}

async function resume(world: World): Promise<void> {
  const check = await world.holdfast.checkContinuation("run-1", { purpose: "handoff" });
  if (check.decision === "park") throw new Error(check.reasons.map(({ code }) => code).join());
  await collect(world.holdfast.resume(check.continuation));
}

/** Two turns, of which the first has two runs; archived. */
async function archived() {
  const { world, clock } = await sealed();
  await resume(world);
  const session = world.holdfast.session("session-1");
  await (await session.send("And now?", { runId: "run-3" })).end();
  await session.archive();
  clock.advance(1000);
  return { world, clock };
}

it("a sealed run that waits for its successor stays, however old, and its turn goes on", async () => {
  const { world } = await sealed();
  expect(await world.holdfast.retain({ finalMs: 0 })).toEqual(NOTHING);
  await resume(world);
  expect(world.state("run/run-2")).toBe("completed");
  expect(world.holdfast.verify().faults).toEqual([]);
});

it("nothing of a living session goes; an archived one goes as a whole, by the age of all of it, and no other", async () => {
  const { world, clock } = await archived();
  const other = await world.holdfast.createSession({ backend: "assistant", cwd: world.root, id: "session-2" });
  await (await other.send("Hello", { runId: "run-4" })).end();
  clock.advance(1000);
  expect(await world.holdfast.retain({ finalMs: 2000 })).toEqual(NOTHING);
  expect(await world.holdfast.retain({ finalMs: 1500, states: ["idle"] })).toEqual(NOTHING);
  expect(await world.holdfast.retain({ finalMs: 1500, machines: ["session"] })).toEqual({ ...NOTHING, actors: 5 });
  expect(addresses(world)).toEqual(["session/session-2", "run/run-4"]);
  expect(world.holdfast.verify().faults).toEqual([]);
  expect(await codeOf(() => world.holdfast.session("session-1"))).toBe("session_not_found");
});

it.each([
  ["an entry is missing", "DELETE FROM journal"],
  ["an entry's requests stand in a blob that is missing", `UPDATE journal SET actions = '{"$blob":"${"0".repeat(64)}"}'`],
])("an archived session whose record is not whole stays: %s", async (_, damage) => {
  const { world } = await archived();
  await world.holdfast.close();
  const row = world.reader.actor("session/session-1");
  if (!row) throw new Error("no session");
  world.tamper(`${damage} WHERE actor = 'run/run-1' AND seq = 3`);
  expect(wholeSession(world.reader, row)).toEqual([]);
  await world.open();
  expect(await world.holdfast.retain({ finalMs: 0 })).toEqual(NOTHING);
  expect(addresses(world)).toHaveLength(5);
});

it("a session that was archived while its run was set aside stays until the run has ended", async () => {
  const clock = simulatedClock();
  const interaction = { id: "question-1", question: "May I?" };
  const world = await World.open(fakeBackend({ script: { report: { next: "wait", interaction } } }), { clock });
  for await (const event of (await world.begin()).events()) if (event.type === "run.waiting") break;
  await world.holdfast.close();
  world.tamper("UPDATE actors SET snapshot = '{' WHERE address = 'run/run-1'");
  await world.open();
  await world.holdfast.session("session-1").archive();
  clock.advance(1000);
  expect(await world.holdfast.retain({ finalMs: 0 })).toEqual(NOTHING);
  await world.holdfast.release("run/run-1");
  expect(await world.holdfast.retain({ finalMs: 0 })).toEqual(NOTHING);
  expect(addresses(world)).toEqual(["session/session-1", "run/run-1", "interaction/run-1.question-1"]);
});

it("a crash between any two of its commits leaves what can be verified, and the next retention goes on", async () => {
  const { world, clock } = await archived();
  await world.holdfast.close();
  await using engine = await openActors({ root: world.root, machines, clock, start: false });
  const row = world.reader.actor("session/session-1");
  const order = row ? wholeSession(world.reader, row).map(({ address }) => address) : [];
  expect(order).toEqual(["run/run-3", "run/run-2", "handoff/handoff-1", "run/run-1", "session/session-1"]);
  for (const address of order) {
    const [machine, id = ""] = address.split("/");
    await machines
      .map((one) => (one.id === machine ? engine.get(one, id) : undefined))
      .find((ref) => ref)
      ?.delete();
    // Another crash, another retention: what is left is found again, in the same order.
    const left = world.reader.actor("session/session-1");
    const found = left ? wholeSession(world.reader, left).map((one) => one.address) : [];
    expect(found).toEqual(order.slice(order.indexOf(address) + 1));
    expect(verifyRoot(world.reader).faults).toEqual([]);
  }
});

it.each(["run", "handoff"])("a policy that names the machine %s is refused: it goes with its session", async (machine) => {
  const { world } = await sealed();
  expect(await codeOf(() => world.holdfast.retain({ finalMs: 0, machines: ["session", machine] }))).toBe("input_invalid");
  expect(await codeOf(() => world.holdfast.retain(null as never))).toBe("input_invalid");
});
