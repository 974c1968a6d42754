import { expect, it } from "vitest";
import { fakeBackend, openHoldfast } from "../../src/index.ts";
import { codeOf, World } from "./world.ts";

const waits = () => fakeBackend({ script: { report: { next: "wait", interaction: { id: "question-1", question: "May I?" } } } });

it("a run that was set aside is listed, and its release makes it and its session what they were", async () => {
  const world = await World.open(waits());
  const run = await world.begin();
  for await (const event of run.events()) if (event.type === "run.waiting") break;
  await world.holdfast.close();
  world.tamper("UPDATE actors SET snapshot = '{' WHERE address = 'run/run-1'");
  await world.open();
  expect(world.holdfast.list({ quarantined: true })).toMatchObject([{ address: "run/run-1", quarantine: { code: "snapshot_damaged" } }]);
  expect(await codeOf(() => world.holdfast.release("session/session-1"))).toBe("actor_not_quarantined");
  await world.holdfast.release("run/run-1");
  expect(world.holdfast.list({ quarantined: true })).toEqual([]);
  expect(world.state("run/run-1")).toBe("waiting");
  expect(world.state("session/session-1")).toBe("waiting");
  expect(world.holdfast.verify().faults).toEqual([]);
});

it("effects, timers and dead letters are listed, and an effect that is at work is not taken from its handler", async () => {
  let isAtWork = false;
  const step = () => {
    isAtWork = true;
    return new Promise<never>(() => {});
  };
  const world = await World.open({ step });
  await world.begin();
  while (!isAtWork) await new Promise((resolve) => setImmediate(resolve));
  const [effect] = world.holdfast.effects();
  expect(effect).toMatchObject({ actor: "run/run-1", state: "started" });
  expect(world.holdfast.effects({ state: "exhausted" })).toEqual([]);
  expect(world.holdfast.timers()).toEqual([]);
  expect(world.holdfast.deadLetters()).toEqual([]);
  expect(await codeOf(() => world.holdfast.retry(effect?.key ?? ""))).toBe("effect_at_work");
  expect(await codeOf(() => world.holdfast.resolve(effect?.key ?? "", { output: null }))).toBe("effect_at_work");
  expect(await codeOf(() => world.holdfast.retry("run/run-1:99:0"))).toBe("effect_gone");
});

it("what is old and final is forgotten, and the rest can be verified", async () => {
  const world = await World.open(fakeBackend({ script: { report: { next: "end", stopReason: "end_turn" } } }));
  await (await world.begin()).end();
  expect(await world.holdfast.retain({ finalMs: 86_400_000 })).toEqual({ actors: 0, keys: 0, deadLetters: 0, blobs: 0 });
  expect(await world.holdfast.retain({ finalMs: 0, machines: ["run"] })).toMatchObject({ actors: 1 });
  expect(world.actors().map(({ address }) => address)).toEqual(["session/session-1"]);
  expect(world.holdfast.verify().faults).toEqual([]);
});

it("a runtime that was opened only to act recovers nothing and starts nothing", async () => {
  let steps = 0;
  const backend = {
    step: () => {
      steps++;
      return new Promise<never>(() => {});
    },
  };
  const world = await World.open(backend);
  await world.begin();
  while (steps === 0) await new Promise((resolve) => setImmediate(resolve));
  await world.holdfast.close();
  const before = world.dump();
  const acting = await openHoldfast({ root: world.root, backends: world.backends, start: false });
  expect(acting.effects()).toMatchObject([{ state: "started" }]);
  await acting.close();
  expect(world.dump()).toBe(before);
  expect(steps).toBe(1);
  await world.open();
  expect(world.state("run/run-1")).toBe("failed");
});
