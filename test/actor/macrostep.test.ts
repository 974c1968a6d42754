import { describe, expect, it } from "vitest";
import { z } from "zod";
import { effect } from "../../machines/action.ts";
import { commitGroup } from "../../src/actor/commit.ts";
import { engineError, HoldfastError } from "../../src/actor/error.ts";
import type { Store } from "../../src/actor/store.ts";
import type { Work } from "../../src/actor/work.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { committing, creation, sent, setAside } from "./committing.ts";
import { counter, gate, journal, make, open, place, rejection, STORES } from "./counter.ts";
import { nothing, thing } from "./thing.ts";
import { withWriters } from "./wrapped.ts";

/** A store that finds this event in the first entry of counter/a, once it is told to. */
function firstEntries(store: Store, event: string, damage: { isDone: boolean }): Store {
  const found = (actor: string, row: { seq: number }) => damage.isDone && actor === "counter/a" && row.seq === 1;
  return withWriters(store, (writer) => ({
    journal: (actor, page) => writer.journal(actor, page).map((row) => (found(actor, row) ? { ...row, event } : row)),
  }));
}

describe.each(STORES)("an event (%s)", (kind) => {
  it("is accepted once: journal, snapshot and answer say the same revision (ACT-3)", async () => {
    const { store } = place(kind);
    const engine = await open(store);
    const actor = await make(engine);
    const answers = [await actor.send({ type: "count.add", by: 2 }), await actor.send({ type: "count.add", by: 3 })];
    expect(answers).toMatchObject([
      { kind: "accepted", seq: 2 },
      { kind: "accepted", seq: 3, snapshot: { context: { count: 5 } } },
    ]);
    expect(actor.row()).toMatchObject({ seq: 3, status: "active", state: "idle" });
    expect(journal(engine).map(({ seq, event }) => [seq, event])).toEqual([
      [1, { type: "xstate.init", input: { start: 0 }, keys: [] }],
      [2, { type: "count.add", by: 2 }],
      [3, { type: "count.add", by: 3 }],
    ]);
    expect(journal(engine)[1]).toMatchObject({ cause: { kind: "outside" }, facts: [{ type: "count.changed", count: 2 }], actions: [] });
  });

  it("that the machine takes no notice of is ignored, with the machine's reason, and not in the journal", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    expect(await actor.send({ type: "never.taken" })).toEqual({ kind: "ignored", reason: "never" });
    expect(await actor.send({ type: "work.leave" })).toEqual({ kind: "ignored" });
    expect(actor.row().seq).toBe(1);
  });

  it("to a final actor is refused and harms nothing (ACT-5)", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    await actor.send({ type: "count.end" });
    expect(await actor.send({ type: "count.add", by: 1 })).toMatchObject({ kind: "refused", code: "actor_final" });
    expect(actor.row()).toMatchObject({ seq: 2, status: "final", state: "ended", quarantine: null });
    expect(engine.verify().ok).toBe(true);
  });

  it("with a type that the engine reserves is refused (ACT-9)", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    for (const type of ["xstate.stop", "xstate.init", "engine.reopened", "effect.unknown", "work.done", "work.failed", "work.aborted"])
      expect(await actor.send({ type } as never)).toMatchObject({ kind: "refused", code: "event_reserved" });
    expect(actor.row().seq).toBe(1);
  });

  it.each<[string, unknown, string, string | undefined]>([
    ["of an unknown type", { type: "count.sub" }, "event_unknown", undefined],
    ["named like a method of all objects", { type: "toString" }, "event_unknown", undefined],
    ["without a type", { by: 1 }, "event_invalid", undefined],
    ["with a wrong field", { type: "count.add", by: "two" }, "event_invalid", "by"],
    ["with a field too many", { type: "count.add", by: 1, more: 1 }, "event_invalid", "$"],
    ["with what is not plain JSON", { type: "count.add", by: 1n }, "event_invalid", "$.by"],
    ["with a deep wrong field", { type: "count.say", to: "x", event: { type: 1 } }, "event_invalid", "event.type"],
  ])("%s is refused, with the path", async (_, event, code, path) => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    const answer = await actor.send(event as never);
    expect(answer).toMatchObject({ kind: "refused", code });
    expect((answer as { path?: string }).path).toBe(path);
    expect(actor.row().seq).toBe(1);
  });

  it("that refers to itself is refused", async () => {
    const actor = await make(await open(place(kind).store));
    const event: Record<string, unknown> = { type: "count.add", by: 1 };
    event.self = event;
    expect(await actor.send(event as never)).toMatchObject({ kind: "refused", code: "event_invalid" });
  });

  it("cannot be changed by its sender after it was taken", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    const event = { type: "count.say" as const, to: "stranger/none", event: { type: "x", list: [1] } };
    const sent = actor.send(event);
    await sent;
    event.event.list.push(2);
    expect(journal(engine)[1]?.event.event.list).toEqual([1]);
    expect(engine.verify().ok).toBe(true);
  });
});

describe.each(STORES)("a key (%s)", (kind) => {
  it("gives the recorded answer again for the same event", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    await actor.send({ type: "count.add", by: 2 }, { key: "k" });
    await actor.send({ type: "count.add", by: 1 });
    const now = { context: { count: 3 } };
    expect(await actor.send({ type: "count.add", by: 2 }, { key: "k" })).toMatchObject({
      ...{ kind: "accepted", seq: 2, repeated: true, snapshot: now },
    });
    expect(actor.getSnapshot()).toMatchObject(now);
  });

  it("is kept with the revision that answered it, and the journal names it", async () => {
    const { store } = place(kind);
    const engine = await open(store);
    const actor = await make(engine);
    await actor.send({ type: "count.add", by: 2 }, { key: "k" });
    await actor.send({ type: "count.add", by: 1 });
    expect(JSON.parse(store.answer("counter/a", "k")?.answer ?? "")).toEqual({ kind: "accepted", seq: 2 });
    expect(journal(engine).map(({ cause }) => cause)).toEqual([{ kind: "creation" }, { kind: "outside", key: "k" }, { kind: "outside" }]);
  });

  it("of an event that is not plain JSON is free, whoever is asked", async () => {
    const actor = await make(await open(place(kind).store));
    const bad = () => actor.send({ type: "count.add", by: 1n } as never, { key: "k" });
    const refusal = { kind: "refused", code: "event_invalid", path: "$.by" };
    expect(await bad()).toMatchObject(refusal);
    expect(await actor.send({ type: "count.end" }, { key: "k" })).toMatchObject({ kind: "accepted" });
    expect(await bad()).toMatchObject(refusal);
  });

  it("counts also for two sends of one tick", async () => {
    const actor = await make(await open(place(kind).store));
    const sent = [1, 2].map(() => actor.send({ type: "count.add", by: 2 }, { key: "k" }));
    expect(await Promise.all(sent)).toMatchObject([{ seq: 2 }, { seq: 2, repeated: true }]);
    expect(actor.getSnapshot().context.count).toBe(2);
  });

  it("of another event is a conflict", async () => {
    const actor = await make(await open(place(kind).store));
    await actor.send({ type: "count.add", by: 2 }, { key: "k" });
    expect(await actor.send({ type: "count.add", by: 3 }, { key: "k" })).toMatchObject({ kind: "refused", code: "idempotency_conflict" });
    expect(actor.row().seq).toBe(2);
  });

  it("keeps also that its event was ignored, with the reason", async () => {
    const actor = await make(await open(place(kind).store));
    await actor.send({ type: "work.leave" }, { key: "k" });
    await actor.send({ type: "never.taken" }, { key: "n" });
    await actor.send({ type: "work.start", by: 1 });
    expect(await actor.send({ type: "work.leave" }, { key: "k" })).toEqual({ kind: "ignored", repeated: true });
    expect(await actor.send({ type: "never.taken" }, { key: "n" })).toEqual({ kind: "ignored", reason: "never", repeated: true });
  });

  it("keeps its answer after its actor has ended, and in the next epoch", async () => {
    const { store } = place(kind);
    const first = await open(store);
    const actor = await make(first);
    await actor.send({ type: "count.end" }, { key: "k" });
    expect(await actor.send({ type: "count.end" }, { key: "k" })).toMatchObject({ kind: "accepted", seq: 2, repeated: true });
    await first.close();
    const again = (await open(store)).get(counter, "a");
    expect(await again?.send({ type: "count.end" }, { key: "k" })).toMatchObject({ kind: "accepted", seq: 2, repeated: true });
  });

  it("of a refused event is free for another", async () => {
    const actor = await make(await open(place(kind).store));
    await actor.send({ type: "count.add", by: "x" } as never, { key: "k" });
    expect(await actor.send({ type: "count.add", by: 1 }, { key: "k" })).toMatchObject({ kind: "accepted", seq: 2 });
  });

  it("is scoped to its actor", async () => {
    const engine = await open(place(kind).store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    await a.send({ type: "count.add", by: 1 }, { key: "k" });
    expect(await b.send({ type: "count.add", by: 2 }, { key: "k" })).toMatchObject({ kind: "accepted", seq: 2 });
  });

  it.each(["", "x".repeat(257)])("of %# characters too few or too many is refused", async (key) => {
    const actor = await make(await open(place(kind).store));
    expect(await rejection(actor.send({ type: "count.add", by: 1 }, { key }))).toMatchObject({
      code: "input_invalid",
      details: { path: "key" },
    });
  });
});

describe.each(STORES)("an expectation (%s)", (kind) => {
  it("lets an event pass while the other actor is where the caller saw it", async () => {
    const engine = await open(place(kind).store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    const answer = await a.send(
      { type: "count.add", by: 1 },
      {
        expect: [
          { actor: b.address, seq: 1 },
          { actor: "counter/none", seq: 0 },
        ],
      },
    );
    expect(answer.kind).toBe("accepted");
  });

  it("refuses an event once the other actor has moved on, also within the same tick", async () => {
    const engine = await open(place(kind).store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    const moved = b.send({ type: "count.add", by: 1 });
    const answer = a.send({ type: "count.add", by: 1 }, { key: "k", expect: [{ actor: b.address, seq: 1 }] });
    await moved;
    expect(await answer).toMatchObject({ kind: "refused", code: "expectation_failed" });
    expect(a.row().seq).toBe(1);
    expect(await a.send({ type: "count.add", by: 1 }, { key: "k", expect: [{ actor: b.address, seq: 2 }] })).toMatchObject({
      kind: "accepted",
    });
  });
});

it.each<[string, unknown]>([
  ["no list", { actor: "counter/b", seq: 1 }],
  ["no actor", [{ seq: 0 }]],
  ["an actor that is no text", [{ actor: 5, seq: 0 }]],
  ["no number", [{ actor: "counter/none" }]],
  ["no whole number", [{ actor: "counter/none", seq: 0.5 }]],
  ["a good one and a bad one", [{ actor: "counter/none", seq: 0 }, { seq: 0 }]], // biome-ignore format: one row says it
])("expectations with %s are refused, with the path", async (_, expected) => {
  const actor = await make(await open(place().store));
  expect(await actor.send({ type: "count.add", by: 1 }, { expect: expected as never })).toMatchObject({
    ...{ kind: "refused", code: "event_invalid", path: "expect" },
  });
});

describe.each(STORES)("a creation (%s)", (kind) => {
  it("is repeated without effect, also within one tick", async () => {
    const engine = await open(place(kind).store);
    const created = [1, 2].map(() => engine.create(counter, "a", { input: { start: 1 }, keys: ["k"] }));
    expect((await Promise.all(created)).map((actor) => actor.address)).toEqual(["counter/a", "counter/a"]);
    expect((await engine.create(counter, "a", { input: { start: 1 }, keys: ["k"] })).row().seq).toBe(1);
  });

  it("is repeated also after its actor has moved on or ended", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    await actor.send({ type: "count.end" });
    expect((await make(engine)).row().status).toBe("final");
  });

  it.each([
    ["another input", { input: { start: 2 } }],
    ["other keys", { input: { start: 1 }, keys: ["k"] }],
  ])("with %s is refused", async (_, options) => {
    const engine = await open(place(kind).store);
    await make(engine, "a", 1);
    expect(await rejection(engine.create(counter, "a", options))).toMatchObject({ code: "actor_exists", details: { actor: "counter/a" } });
  });

  it.each([
    ["no JSON", "{"],
    ["a blob that is not there", `{"$blob":"${"0".repeat(64)}"}`],
  ])("of an actor whose first entry is %s is refused, and harms nobody", async (_, event) => {
    const { store } = place(kind);
    const damage = { isDone: false };
    const engine = await open(firstEntries(store, event, damage));
    const [b] = [await make(engine, "b"), await make(engine, "a")];
    damage.isDone = true;
    const [again, other] = await Promise.allSettled([make(engine), b.send({ type: "count.add", by: 1 })]);
    expect(again).toMatchObject({ reason: { code: "actor_exists" } });
    expect(other).toMatchObject({ value: { kind: "accepted" } });
  });

  it("of an actor whose first entry the store cannot read now fails, and is no answer", async () => {
    const { store } = place(kind);
    let isBroken = false;
    const broken = withWriters(store, (writer) => ({
      journal: (actor, page) => {
        if (isBroken) throw engineError("storage_failed", "I/O");
        return writer.journal(actor, page);
      },
    }));
    const engine = await open(broken);
    await make(engine);
    isBroken = true;
    expect(await rejection(make(engine))).toMatchObject({ code: "storage_failed" });
    isBroken = false;
    expect((await make(engine)).row().seq).toBe(1);
  });

  it("owns its keys: nobody else can", async () => {
    const engine = await open(place(kind).store);
    await engine.create(counter, "a", { input: { start: 0 }, keys: ["order/1"] });
    expect(await rejection(engine.create(counter, "b", { input: { start: 0 }, keys: ["order/1"] }))).toMatchObject({
      code: "identity_taken",
    });
    expect(engine.get(counter, "b")).toBeUndefined();
  });

  it("can reserve an address, which a stranger then cannot take and the reserver can", async () => {
    const engine = await open(place(kind).store);
    const owner = await engine.create(counter, "a", { input: { start: 0 }, keys: ["counter/b"] });
    const stranger = await make(engine, "c");
    expect(await rejection(make(engine, "b"))).toMatchObject({ code: "identity_taken" });
    const create = { type: "count.create" as const, id: "b", start: 5, keys: [] };
    expect(await rejection(stranger.send(create))).toMatchObject({ code: "identity_taken" });
    expect(stranger.row().seq).toBe(1);
    expect(await owner.send(create)).toMatchObject({ kind: "accepted" });
    expect(engine.get(counter, "b")?.getSnapshot().context.count).toBe(5);
  });

  it("cannot reserve the address of an actor that exists", async () => {
    const engine = await open(place(kind).store);
    await make(engine, "b");
    expect(await rejection(engine.create(counter, "a", { input: { start: 0 }, keys: ["counter/b"] }))).toMatchObject({
      code: "identity_taken",
    });
  });

  it.each<[string, string, object, string]>([
    ["an empty id", "", { input: { start: 0 } }, "id"],
    ["an id with a control character", "a\nb", { input: { start: 0 } }, "id"],
    ["an id with an outer blank", " a", { input: { start: 0 } }, "id"],
    ["an id too long", "x".repeat(257), { input: { start: 0 } }, "id"],
    ["an id with half a character", "\ud800", { input: { start: 0 } }, "id"],
    ["a wrong input", "a", { input: { start: "x" } }, "start"],
    ["an input that is not plain JSON", "a", { input: { start: Number.NaN } }, "$.start"],
    ["an empty key", "a", { input: { start: 0 }, keys: [""] }, "keys.0"],
    ["a key twice", "a", { input: { start: 0 }, keys: ["k", "k"] }, "keys"],
  ])("with %s is refused, with the path", async (_, id, options, path) => {
    const engine = await open(place(kind).store);
    expect(await rejection(engine.create(counter, id, options as never))).toMatchObject({ code: "input_invalid", details: { path } });
    expect(engine.list()).toEqual([]);
  });

  it("of a machine that is not registered is refused", async () => {
    const engine = await open(place(kind).store);
    const stranger = counter.provide({});
    expect(await rejection(engine.create(stranger, "a", { input: { start: 0 } }))).toMatchObject({ code: "machine_unknown" });
  });
});

describe.each(STORES)("a failure while an actor takes an outside event (%s)", (kind) => {
  it.each([
    ["guard.throw", "machine_threw"],
    ["assign.throw", "machine_threw"],
    ["params.throw", "machine_threw"],
    ["context.spoil", "context_invalid"],
    ["fact.spoil", "fact_invalid"],
    ["context.mutate", "machine_threw"],
  ] as const)("(%s) fails alone, while others of its group commit (ACT-7)", async (type, code) => {
    const engine = await open(place(kind).store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    const group = [
      a.send({ type: "count.add", by: 1 }),
      a.send({ type }),
      a.send({ type: "count.add", by: 2 }),
      b.send({ type: "count.add", by: 3 }),
    ];
    const settled = await Promise.allSettled(group);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
    expect(settled[1]).toMatchObject({ reason: { code } });
    expect((settled[1] as PromiseRejectedResult).reason).toBeInstanceOf(HoldfastError);
    expect([a, b].map((actor) => actor.getSnapshot().context)).toMatchObject([{ count: 3, log: ["count.add", "count.add"] }, { count: 3 }]);
    expect([a, b].map((actor) => actor.row().quarantine)).toEqual([null, null]);
    expect(engine.verify()).toMatchObject({ ok: true, entries: 5 });
  });

  it("carries the original error", async () => {
    const actor = await make(await open(place(kind).store));
    expect((await rejection(actor.send({ type: "assign.throw" }))).cause).toMatchObject({ message: "assign" });
  });
});

describe.each(STORES)("a result (%s)", (kind) => {
  it("is folded in once, and its request ends with it (ACT-6)", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    await actor.send({ type: "work.start", by: 4 });
    const done = await actor.waitFor((snapshot) => snapshot.matches("idle"));
    expect(done.context.count).toBe(4);
    expect(journal(engine).at(-1)).toMatchObject({
      event: { type: "work.done", output: { by: 4 }, effect: "counter/a:2:0" },
      cause: { kind: "result", effect: "counter/a:2:0" },
    });
    expect(engine.effects()).toEqual([]);
  });

  it("whose request is gone is dropped (ACT-6)", async () => {
    const release = gate();
    const engine = await open(place(kind).store, { effects: { work: () => release.passed.then(() => ({ by: 1 })) } });
    const actor = await make(engine);
    await actor.send({ type: "work.start", by: 1 });
    await actor.send({ type: "work.leave" });
    release.open();
    await actor.send({ type: "count.add", by: 10 });
    expect(actor.getSnapshot().context.count).toBe(10);
    expect(journal(engine).filter(({ cause }) => cause.kind === "result")).toEqual([]);
  });

  it("of a request made before its state was entered again does not count for the new one (ACT-6)", async () => {
    const results = [gate<{ by: number }>(), gate<{ by: number }>()];
    let calls = 0;
    const engine = await open(place(kind).store, { effects: { work: () => results[calls++]?.passed as Promise<unknown> } });
    const actor = await make(engine);
    await actor.send({ type: "work.start", by: 1 });
    await actor.send({ type: "work.again", by: 2 });
    expect(engine.effects().map((row) => [row.key, JSON.parse(row.params)])).toEqual([["counter/a:3:0", { by: 2 }]]);
    results[0]?.open({ by: 100 });
    await actor.send({ type: "count.add", by: 1 });
    expect(actor.getSnapshot().value).toBe("working");
    results[1]?.open({ by: 7 });
    expect((await actor.waitFor((snapshot) => snapshot.matches("idle"))).context.count).toBe(8);
  });

  it("that the machine takes no notice of ends its request all the same, and is in the journal", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine, "a", -1);
    await actor.send({ type: "silent.start" });
    for await (const entry of actor.watch({ after: 2 })) {
      expect(entry).toMatchObject({ seq: 3, event: { type: "silent.done" }, facts: [], actions: [] });
      break;
    }
    expect([actor.getSnapshot().context.log, engine.effects(), engine.verify().ok]).toEqual([[], [], true]);
  });

  it("that poisons its actor sets that actor aside, and nobody else (ACT-10)", async () => {
    const engine = await open(place(kind).store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    const waiting = rejection(a.waitFor(() => false));
    await a.send({ type: "poison.start" });
    expect(await waiting).toMatchObject({ code: "actor_quarantined" });
    expect(a.row()).toMatchObject({ seq: 2, quarantine: { code: "event_poisoned" } });
    expect(JSON.parse(a.row().quarantine?.event ?? "")).toMatchObject({ type: "poison.done", output: null });
    expect(await a.send({ type: "count.add", by: 1 })).toMatchObject({ kind: "refused", code: "actor_quarantined" });
    expect(await b.send({ type: "count.add", by: 1 })).toMatchObject({ kind: "accepted" });
    expect(engine.list({ quarantined: true }).map((row) => row.address)).toEqual(["counter/a"]);
    expect(engine.verify().ok).toBe(true);
  });
});

describe("a notice of a new ownership", () => {
  const seen = thing({ on: { "engine.reopened": {} } }, { schemas: { events: { go: nothing, "engine.reopened": z.looseObject({}) } } });
  /** thing/a under its first owner, and what a second commits by. */
  const handedOver = () => {
    const store = memoryStore();
    commitGroup(committing(store, [seen]), [creation("thing", "a")]);
    return committing(store, [seen]);
  };
  const reopen: Work = { kind: "reopen", actor: "thing/a" };

  it("that its machine takes no notice of counts as told", () => {
    const by = handedOver();
    commitGroup(by, [reopen]);
    expect(by.store.actor("thing/a")).toMatchObject({ seq: 1, epoch: 2 });
  });

  it.each<[string, Work]>([
    ["has ended", { kind: "stop", actor: "thing/a" }],
    ["was set aside", setAside("thing/a")],
  ])("is not told to an actor that %s in its group", (_, before) => {
    const by = handedOver();
    const { entries, settled } = commitGroup(by, [before, reopen]);
    expect([entries.map(({ event }) => JSON.parse(event).type).includes("engine.reopened"), settled[1]]).toMatchObject([
      false,
      { answer: { kind: "ignored" } },
    ]);
    expect(by.store.actor("thing/a")?.epoch).toBe(1);
  });
});

it("what the notice of a release makes another actor fail on sets that one aside, and the notice is taken, also with `discard`", () => {
  const tell = { type: "deliver", params: { to: "sleeper/a", event: { type: "go" } } };
  const waker = thing(
    { id: "waker", on: { "engine.reopened": { actions: tell } } },
    { schemas: { events: { "engine.reopened": z.looseObject({}) } } },
  );
  const stumble = () => {
    throw new Error("woken");
  };
  const sleeper = thing({ id: "sleeper", on: { go: { guard: "stumble" } } }, { schemas: { events: { go: nothing } }, guards: { stumble } });
  const store = memoryStore();
  commitGroup(committing(store, [waker, sleeper]), [creation("waker", "a"), creation("sleeper", "a"), setAside("waker/a")]);
  const { quarantined, released } = commitGroup(committing(store, [waker, sleeper]), [
    { kind: "release", actor: "waker/a", discard: true },
  ]);
  expect([quarantined, released]).toEqual([["sleeper/a"], ["waker/a"]]);
  expect(store.journal("waker/a", { limit: 9 }).map(({ event }) => JSON.parse(event).type)).toEqual(["xstate.init", "engine.reopened"]);
});

it("an outcome that does not fit its machine's schema sets the actor aside, but for an error, which is listed (ACT-10)", () => {
  const demanding = z.strictObject({ effect: z.string(), more: z.string() });
  const job = { params: nothing, done: "job.done", failed: "job.failed", aborted: "job.aborted", delivery: "at_least_once" };
  const machine = thing(
    { on: { go: { actions: "job" } } },
    {
      schemas: { events: { go: nothing, "job.done": demanding, "job.failed": demanding, "job.aborted": demanding }, effects: { job } },
      actions: { job: effect() },
    },
  );
  const error = { code: "c", message: "m" };
  for (const [outcome, states, quarantined] of [
    [{ kind: "failed", error }, ["exhausted"], []],
    [{ kind: "aborted" }, ["open"], ["thing/a"]],
    [{ kind: "done", output: 1 }, ["open"], ["thing/a"]],
  ] as const) {
    const by = committing(memoryStore(), [machine]);
    commitGroup(by, [creation("thing", "a"), sent("thing/a", { type: "go" })]);
    expect(commitGroup(by, [{ kind: "result", effect: "thing/a:2:0", outcome }]).quarantined).toEqual(quarantined);
    expect(by.store.effects({}, { limit: 9 }).map(({ state }) => state)).toEqual(states);
  }
});

describe("damage that somebody found", () => {
  it("sets its actor aside, with the first reason, and is no matter where there is none", () => {
    const by = committing(memoryStore(), [counter]);
    commitGroup(by, [creation("counter", "a", { start: 0 })]);
    const again = { ...setAside("counter/a"), code: "row_missing" } as Work;
    const { settled, quarantined } = commitGroup(by, [setAside("counter/none"), setAside("counter/a"), again]);
    expect(settled).toEqual(Array(3).fill({ ok: true, answer: { kind: "ignored" } }));
    expect(quarantined).toEqual(["counter/a"]);
    expect(by.store.actor("counter/a")?.quarantine).toMatchObject({ code: "journal_damaged", message: "damaged", atMs: 1000 });
    commitGroup(by, [again]);
    expect(by.store.actor("counter/a")?.quarantine).toMatchObject({ code: "journal_damaged" });
  });
});
