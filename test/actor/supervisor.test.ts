import { describe, expect, it } from "vitest";
import { type AnyStateMachine, assign, setup } from "xstate";
import { z } from "zod";
import { effect } from "../../machines/action.ts";
import { commitGroup } from "../../src/actor/commit.ts";
import type { Draft } from "../../src/actor/draft.ts";
import { openEngine } from "../../src/actor/engine.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { committing, creation, sent, setAside } from "./committing.ts";
import { nothing, thing } from "./thing.ts";

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

describe("a supervisor", () => {
  const notice = { "engine.quarantined": z.looseObject({}), "engine.released": z.looseObject({}) };
  const note = assign({ log: ({ context, event: { stamp: _, ...event } }: any) => [...context.log, event] });

  /** It notes what it is told until it has ended. */
  const warden = (events: object) => {
    const on = Object.fromEntries(Object.keys(events).map((type) => [type, type === "go" ? ".end" : { actions: "note" }]));
    const states = { watching: {}, end: { type: "final" } };
    const config = { id: "warden", context: { log: [] }, initial: "watching", on, states };
    return thing(config, { actions: { note }, schemas: { events } });
  };
  const ward = (supervisor: unknown) => thing({ id: "ward", on: { go: {} } }, { schemas: { supervisor } });

  function watched(
    { events = { go: nothing, ...notice }, supervisor = () => "warden/w" }: { events?: object; supervisor?: unknown } = {},
    ...others: readonly AnyStateMachine[]
  ) {
    const by = committing(memoryStore(), [warden(events), ward(supervisor), ...others]);
    commitGroup(by, [creation("warden", "w"), creation("ward", "a")]);
    const log = () => JSON.parse(by.store.actor("warden/w")?.snapshot ?? "").context.log;
    /** What is stored of the ward cannot be read any more, and nobody remembers it. */
    const damage = () => {
      by.store.write(by.epoch, (writer) => {
        const row = writer.actor("ward/a");
        if (row) writer.putActor({ ...row, snapshot: "{" });
      });
      by.cache.clear();
    };
    return { by, log, damage };
  }

  it("is told what became of its actor, each time, and what set it aside", () => {
    const { by, log } = watched();
    commitGroup(by, [setAside("ward/a")]);
    expect(log()).toEqual([{ type: "engine.quarantined", actor: "ward/a", code: "journal_damaged" }]);
    commitGroup(by, [{ kind: "release", actor: "ward/a", discard: false }]);
    expect(log().slice(1)).toEqual([{ type: "engine.released", actor: "ward/a" }]);
    expect(JSON.parse(by.store.journal("warden/w", { limit: 9 })[1]?.cause ?? "")).toEqual({ kind: "engine" });
  });

  it("is told also of damage that was found by work which failed", () => {
    const { by, log, damage } = watched();
    damage();
    const failing = (draft: Draft): never => {
      draft.actor("ward/a");
      throw new Error("failed");
    };
    const { settled, quarantined } = commitGroup(by, [{ kind: "row", apply: failing }]);
    expect([settled, quarantined]).toMatchObject([[{ ok: false, error: { message: "failed" } }], ["ward/a"]]);
    expect(log()).toEqual([{ type: "engine.quarantined", actor: "ward/a", code: "snapshot_damaged" }]);
  });

  it("is told once of damage that was found, whatever else its group does", () => {
    const { by, log, damage } = watched();
    damage();
    commitGroup(by, [sent("ward/a", { type: "go" }), sent("ward/a", { type: "go" })]);
    expect(log()).toHaveLength(1);
  });

  it("is told again where its actor could not be reached because it is set aside, and for no other reason", () => {
    const teller = thing({
      id: "teller",
      on: { go: { actions: { type: "deliver", params: { to: "ward/a", event: { type: "go" } } } } },
    });
    for (const [end, told] of [
      [setAside("ward/a"), ["engine.quarantined", "engine.quarantined"]],
      [{ kind: "stop", actor: "ward/a" }, []],
    ] as const) {
      const { by, log } = watched({}, teller);
      commitGroup(by, [creation("teller", "t"), end]);
      commitGroup(by, [sent("teller/t", { type: "go" })]);
      expect(log().map(({ type }: { type: string }) => type)).toEqual(told);
    }
  });

  it("is told only that for which its machine has an event", () => {
    const { by, log } = watched({ events: { go: nothing, "engine.released": z.looseObject({}) } });
    commitGroup(by, [setAside("ward/a")]);
    expect([log(), by.store.actor("warden/w")?.quarantine]).toEqual([[], null]);
    commitGroup(by, [{ kind: "release", actor: "ward/a", discard: false }]);
    expect(log()).toMatchObject([{ type: "engine.released" }]);
  });

  it("that has ended, or was set aside itself, is told nothing", () => {
    for (const end of [sent("warden/w", { type: "go" }), setAside("warden/w")]) {
      const { by, log } = watched();
      commitGroup(by, [end]);
      expect(commitGroup(by, [setAside("ward/a")])).toMatchObject({ settled: [{ ok: true }], quarantined: ["ward/a"], entries: [] });
      expect(log()).toEqual([]);
    }
  });

  it.each<[string, unknown]>([
    ["no text", () => 7],
    ["nothing", () => undefined],
    ["an actor that is not there", () => "warden/none"],
    [
      "an error",
      () => {
        throw new Error("broken");
      },
    ],
  ])("that is %s is nobody, and the actor is set aside all the same", (_, supervisor) => {
    const { by, log } = watched({ supervisor });
    expect(commitGroup(by, [setAside("ward/a")])).toMatchObject({ settled: [{ ok: true }], quarantined: ["ward/a"], entries: [] });
    expect(log()).toEqual([]);
  });

  it("is the one that the input of its actor names", () => {
    const input = z.strictObject({ watch: z.string() });
    const told = thing({ id: "told" }, { schemas: { input, supervisor: (given: { watch: string }) => given.watch } });
    const by = committing(memoryStore(), [warden({ go: nothing, ...notice }), told]);
    commitGroup(by, [creation("warden", "w"), creation("warden", "v"), creation("told", "a", { watch: "warden/v" })]);
    expect(commitGroup(by, [setAside("told/a")]).entries).toMatchObject([{ actor: "warden/v" }]);
  });
});
