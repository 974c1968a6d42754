import { expect, it } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { effect } from "../../machines/action.ts";
import { openEngine } from "../../src/actor/engine.ts";
import { memoryStore } from "../../src/store/memory.ts";

const empty = z.strictObject({});
const withEffect = z.strictObject({ output: z.null(), effect: z.string() });

/** Watches over one worker. */
const overseer = setup({
  schemas: {
    input: empty,
    context: empty,
    events: { "engine.quarantined": z.strictObject({ actor: z.string(), code: z.string() }) },
    facts: {},
  },
  types: { events: {} as { type: "engine.quarantined"; actor: string; code: string } },
  guards: { isAnother: ({ event }) => event.actor !== "worker/a" },
}).createMachine({
  id: "overseer",
  version: "1",
  context: {},
  initial: "calm",
  states: { calm: { on: { "engine.quarantined": [{ guard: "isAnother" }, { target: "alarmed" }] } }, alarmed: {} },
});

/** Its effect's result makes it throw. */
const worker = setup({
  schemas: {
    input: empty,
    context: empty,
    events: { "work.start": empty, "work.done": withEffect },
    facts: {},
    effects: { work: { params: empty, done: "work.done", delivery: "at_least_once" } },
    supervisor: () => "overseer/o",
  },
  types: { events: {} as { type: "work.start" } | { type: "work.done"; output: null; effect: string } },
  actions: { work: effect() },
  guards: {
    throws: () => {
      throw new Error("a broken guard");
    },
  },
}).createMachine({
  id: "worker",
  version: "1",
  context: {},
  initial: "idle",
  states: {
    idle: { on: { "work.start": "working" } },
    working: { entry: "work", on: { "work.done": { guard: "throws", target: "idle" } } },
  },
});

it("the supervisor of an actor that is set aside knows it in the same commit", async () => {
  const store = memoryStore();
  const commits: string[][] = [];
  const engine = await openEngine(store, {
    machines: [overseer, worker],
    effects: { work: async () => null },
    probe: (point, { entries }) => void (point === "commit.after" && commits.push((entries ?? []).map((entry) => entry.actor))),
  });
  const watching = await engine.create(overseer, "o", { input: {} });
  const working = await engine.create(worker, "a", { input: {} });
  await working.send({ type: "work.start" });
  await watching.waitFor((snapshot) => snapshot.matches("alarmed"));
  expect(working.row().quarantine).toMatchObject({ code: "event_poisoned" });
  expect(commits.at(-1)).toEqual(["overseer/o"]);
  expect(store.journal("overseer/o", { limit: 10 }).map((row) => JSON.parse(row.event))).toMatchObject([
    { type: "xstate.init" },
    { type: "engine.quarantined", actor: "worker/a", code: "event_poisoned" },
  ]);
  expect(engine.verify().faults).toEqual([]);
  await engine.close();
});

it("an actor whose supervisor is not there is set aside all the same", async () => {
  const engine = await openEngine(memoryStore(), { machines: [overseer, worker], effects: { work: async () => null } });
  const working = await engine.create(worker, "a", { input: {} });
  await working.send({ type: "work.start" });
  await expect(working.waitFor(() => false)).rejects.toMatchObject({ code: "actor_quarantined" });
  await engine.close();
});
