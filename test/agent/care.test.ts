import { expect, it } from "vitest";
import { fakeBackend, openHoldfast } from "../../src/index.ts";
import { codeOf, Gate, World } from "./world.ts";

const ends = { report: { next: "end", stopReason: "end_turn" } } as const;

it("a run that was set aside is listed, and its release makes it and its session what they were", async () => {
  const world = await World.setAside();
  expect(world.holdfast.list({ quarantined: true })).toMatchObject([{ address: "run/run-1", quarantine: { code: "snapshot_damaged" } }]);
  expect(await codeOf(() => world.holdfast.release("session/session-1"))).toBe("actor_not_quarantined");
  await world.holdfast.release("run/run-1");
  expect(world.holdfast.list({ quarantined: true })).toEqual([]);
  expect(world.state("run/run-1")).toBe("waiting");
  expect(world.state("session/session-1")).toBe("waiting");
  expect(world.holdfast.verify().faults).toEqual([]);
});

it("effects, timers and dead letters are listed, and an effect that is at work is not taken from its handler", async () => {
  const gate = new Gate();
  const world = await World.open(fakeBackend({ script: () => gate.pass().then(() => ends) }));
  await world.begin();
  await gate.reached;
  const [effect] = world.holdfast.effects();
  expect(effect).toMatchObject({ actor: "run/run-1", state: "started" });
  expect(world.holdfast.effects({ state: "exhausted" })).toEqual([]);
  expect(world.holdfast.timers()).toEqual([]);
  expect(world.holdfast.deadLetters()).toEqual([]);
  expect(await codeOf(() => world.holdfast.retry(effect?.key ?? ""))).toBe("effect_at_work");
  expect(await codeOf(() => world.holdfast.resolve(effect?.key ?? "", { output: null }))).toBe("effect_at_work");
  expect(await codeOf(() => world.holdfast.retry("run/run-1:99:0"))).toBe("effect_gone");
});

it("a runtime that was opened only to act recovers nothing and starts nothing", async () => {
  const gate = new Gate();
  let steps = 0;
  const script = () => {
    steps++;
    return gate.pass().then(() => ends);
  };
  const world = await World.open(fakeBackend({ script }));
  await world.begin();
  await gate.reached;
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
