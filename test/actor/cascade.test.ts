import { describe, expect, it } from "vitest";
import type { AnyStateMachine } from "xstate";
import { commitGroup } from "../../src/actor/commit.ts";
import type { Rules } from "../../src/actor/rules.ts";
import type { Work } from "../../src/actor/work.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { faultPoints } from "../../src/testing/index.ts";
import { committing, creation, sent } from "./committing.ts";
import { counter, gate, journal, make, open, place, rejection, STORES } from "./counter.ts";

const dead = (letter: object) => [expect.objectContaining(letter)];

describe.each(STORES)("a delivery (%s)", (kind) => {
  it("is folded in by the commit of its sender", async () => {
    const engine = await open(place(kind).store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    const before = engine.reader.lastPosition();
    await a.send({ type: "count.tell", to: b.address, by: 3 });
    expect([a, b].map((actor) => actor.getSnapshot().context.count)).toEqual([3, 3]);
    expect(journal(engine, b.address).at(-1)).toMatchObject({
      event: { type: "count.added", by: 3 },
      cause: { kind: "delivery", from: a.address, seq: 2 },
    });
    expect(engine.reader.lastPosition() - before).toBe(2);
  });

  it("can reach its own sender, after its transition", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    const answer = await actor.send({ type: "count.tell", to: actor.address, by: 1 });
    expect(answer).toMatchObject({ seq: 2, snapshot: { context: { count: 2 } } });
    expect(actor.row().seq).toBe(3);
  });

  it("to nobody becomes a dead letter in the same commit", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    await actor.send({ type: "count.tell", to: "counter/none", by: 1 });
    expect(engine.deadLetters()).toEqual(dead({ receiver: "counter/none", sender: "counter/a", seq: 2, reason: "actor_not_found" }));
    expect(JSON.parse(engine.deadLetters()[0]?.event ?? "")).toEqual({ type: "count.added", by: 1 });
  });

  it("to a machine that is not registered becomes a dead letter", async () => {
    const engine = await open(place(kind).store);
    await (await make(engine)).send({ type: "count.tell", to: "stranger/x", by: 1 });
    expect(engine.deadLetters()).toEqual(dead({ receiver: "stranger/x", reason: "actor_not_found" }));
  });

  it("to a final actor becomes a dead letter", async () => {
    const engine = await open(place(kind).store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    await b.send({ type: "count.end" });
    expect(await a.send({ type: "count.tell", to: b.address, by: 1 })).toMatchObject({ kind: "accepted" });
    expect(engine.deadLetters()).toEqual(dead({ receiver: b.address, reason: "actor_final" }));
  });

  it("to an actor that was set aside becomes a dead letter", async () => {
    const engine = await open(place(kind).store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    await b.send({ type: "poison.start" });
    await rejection(b.waitFor(() => false));
    await a.send({ type: "count.tell", to: b.address, by: 1 });
    expect(engine.deadLetters()).toEqual(dead({ receiver: b.address, reason: "actor_quarantined" }));
  });

  it("that its receiver ignores is recorded as such", async () => {
    const engine = await open(place(kind).store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    await a.send({ type: "count.say", to: b.address, event: { type: "never.taken" } });
    expect(engine.deadLetters({ reason: "delivery_ignored" })).toEqual(dead({ receiver: b.address, sender: a.address, seq: 2 }));
    expect(b.row().seq).toBe(1);
  });

  it("that poisons its receiver sets it aside; the sender goes on, and a dead letter is kept (ACT-10)", async () => {
    const engine = await open(place(kind).store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    const answer = await a.send({ type: "count.say", to: b.address, event: { type: "assign.throw" } });
    expect(answer).toMatchObject({ kind: "accepted", seq: 2 });
    expect(a.getSnapshot().context.log).toEqual(["count.say"]);
    expect(b.row()).toMatchObject({ seq: 1, quarantine: { code: "event_poisoned", event: JSON.stringify({ type: "assign.throw" }) } });
    expect(engine.deadLetters()).toEqual(
      dead({ receiver: b.address, reason: "actor_quarantined", event: JSON.stringify({ type: "assign.throw" }) }),
    );
    expect(engine.verify().ok).toBe(true);
  });

  it("that poisons its receiver leaves what the receiver did before in the same group", async () => {
    const engine = await open(place(kind).store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    await Promise.all([
      b.send({ type: "count.add", by: 5 }),
      a.send({ type: "count.say", to: b.address, event: { type: "assign.throw" } }),
    ]);
    expect(b.row()).toMatchObject({ seq: 2, quarantine: { code: "event_poisoned" } });
    expect(engine.verify()).toMatchObject({ ok: true, faults: [] });
  });

  it("that poisons its receiver starts nothing that the receiver requested in the same group", async () => {
    const points = faultPoints();
    const engine = await open(place(kind).store, { probe: points.probe });
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    await Promise.all([
      b.send({ type: "work.start", by: 5 }),
      a.send({ type: "count.say", to: b.address, event: { type: "assign.throw" } }),
    ]);
    await a.send({ type: "count.add", by: 1 });
    expect([points.count("effect.before"), engine.effects().map((row) => row.state)]).toEqual([0, ["open"]]);
  });

  it("that poisons its receiver interrupts the receiver's handlers", async () => {
    const aborted = gate();
    const work = ({ signal }: { signal: AbortSignal }) =>
      new Promise<never>(() => {
        signal.addEventListener("abort", () => aborted.open());
      });
    const engine = await open(place(kind).store, { effects: { work } });
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    await b.send({ type: "work.start", by: 1 });
    await a.send({ type: "count.say", to: b.address, event: { type: "assign.throw" } });
    await aborted.passed;
    expect(engine.effects().map((row) => row.state)).toEqual(["open"]);
  });

  it("to its own sender that fails there fails the sender's macrostep, and sets nobody aside", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    expect(await rejection(actor.send({ type: "count.say", to: actor.address, event: { type: "assign.throw" } }))).toMatchObject({
      code: "machine_threw",
    });
    expect(actor.row()).toMatchObject({ seq: 1, quarantine: null });
  });

  it.each([
    ["of an unknown type", { type: "count.sub" }],
    ["with a payload that does not fit", { type: "count.added", by: "x" }],
    ["of a type that only the engine makes", { type: "work.done", output: { by: 1 }, effect: "x" }],
  ])("%s is the sender's fault: its macrostep fails, and the receiver is not harmed", async (_, event) => {
    const engine = await open(place(kind).store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    expect(await rejection(a.send({ type: "count.say", to: b.address, event }))).toMatchObject({
      code: "action_invalid",
      details: { actor: a.address },
    });
    expect([a.row().seq, b.row().quarantine]).toEqual([1, null]);
  });

  it("that nobody can say fits, for its receiver was set aside, becomes a dead letter", async () => {
    const engine = await open(place(kind).store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    await b.send({ type: "poison.start" });
    await rejection(b.waitFor(() => false));
    expect(await a.send({ type: "count.say", to: b.address, event: { type: "count.sub" } })).toMatchObject({ kind: "accepted" });
    expect(engine.deadLetters()).toEqual(dead({ receiver: b.address, event: '{"type":"count.sub"}', reason: "actor_quarantined" }));
  });
});

describe.each(STORES)("a cascade (%s)", (kind) => {
  it("that does not end is refused whole, with its bound", async () => {
    const engine = await open(place(kind).store, { cascadeLimit: 10 });
    // Each bounces to the address that its count names: here for ever between the two.
    const [a, b] = [await make(engine, "1", 2), await make(engine, "2", 1)];
    expect(await rejection(a.send({ type: "count.bounce", to: b.address }))).toMatchObject({ code: "cascade_limit" });
    expect([a, b].map((actor) => [actor.row().seq, actor.row().quarantine])).toEqual([
      [1, null],
      [1, null],
    ]);
  });

  it("creates actors in the same commit, with their keys", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    await actor.send({ type: "count.create", id: "b", start: 7, keys: ["k"] });
    expect(engine.get(counter, "b")?.getSnapshot().context.count).toBe(7);
    expect(engine.reader.identity("k")).toBe("counter/b");
    expect(journal(engine, "counter/b")).toMatchObject([
      { seq: 1, event: { input: { start: 7 }, keys: ["k"] }, cause: { kind: "creation", from: "counter/a", seq: 2 } },
    ]);
  });

  it("that would create what exists fails alone with identity_taken", async () => {
    const engine = await open(place(kind).store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    const create = { type: "count.create" as const, id: "b", start: 0, keys: [] };
    const settled = await Promise.allSettled([a.send(create), b.send({ type: "count.add", by: 1 })]);
    expect(settled).toMatchObject([{ reason: { code: "identity_taken" } }, { status: "fulfilled" }]);
    expect([a.row().seq, b.row().seq]).toEqual([1, 2]);
  });

  it("lets one of two win an id in one tick", async () => {
    const engine = await open(place(kind).store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    const sent = [a, b].map((actor) => actor.send({ type: "count.create", id: "c", start: 0, keys: [] }));
    expect(await Promise.allSettled(sent)).toMatchObject([{ status: "fulfilled" }, { reason: { code: "identity_taken" } }]);
  });

  it("creates with an input that fits or not at all", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    expect(await rejection(actor.send({ type: "count.create", id: "", start: 0, keys: [] }))).toMatchObject({ code: "input_invalid" });
    expect(actor.row().seq).toBe(1);
  });
});

describe("a bound", () => {
  const machines = [counter] as unknown as AnyStateMachine[];
  const telling = (to: string) => sent("counter/a", { type: "count.tell", to, by: 1 });

  /** A counter and what it answers to an event, by other rules than usual. */
  function answered(event: Work, rules: (usual: Rules) => Partial<Rules>) {
    const usual = committing(memoryStore(), machines);
    commitGroup(usual, [creation("counter", "a", { start: 0 })]);
    const by = { ...usual, rules: { ...usual.rules, ...rules(usual.rules) } };
    const [settled] = commitGroup(by, [event]).settled;
    return { settled, size: by.store.actor("counter/a")?.snapshot.length ?? 0 };
  }

  it("holds the transitions that one event leads to, to the last one", () => {
    expect(answered(telling("counter/a"), () => ({ cascadeLimit: 2 })).settled).toMatchObject({ ok: true });
    expect(answered(telling("counter/a"), () => ({ cascadeLimit: 1 })).settled).toMatchObject({
      ok: false,
      error: { code: "cascade_limit", details: { actor: "counter/a" } },
    });
  });

  it("holds the snapshot of an actor, and warns of one, to the character", () => {
    const add = sent("counter/a", { type: "count.add", by: 1 });
    const { size } = answered(add, () => ({}));
    const warned: [string, number][] = [];
    const within = (limit: number, warnAt: number) =>
      answered(add, () => ({ size: { limit, warnAt, warn: (actor, length) => void warned.push([actor, length]) } })).settled;
    expect([within(size, size), warned]).toMatchObject([{ ok: true }, []]);
    expect([within(size, size - 1), warned]).toMatchObject([{ ok: true }, [["counter/a", size]]]);
    expect(within(size - 1, size)).toMatchObject({ ok: false, error: { code: "context_too_large", details: { actor: "counter/a" } } });
  });
});

it("an outcome that changes nothing is folded in also where a snapshot of that size would not be allowed any more", () => {
  const usual = committing(memoryStore(), [counter] as unknown as AnyStateMachine[]);
  commitGroup(usual, [creation("counter", "a", { start: -1 }), sent("counter/a", { type: "silent.start" })]);
  const by = { ...usual, rules: { ...usual.rules, size: { ...usual.rules.size, limit: 10 } } };
  const outcome = { kind: "done", output: null } as const;
  expect(commitGroup(by, [{ kind: "result", effect: "counter/a:2:0", outcome }]).settled).toMatchObject([{ ok: true, answer: { seq: 3 } }]);
  expect(commitGroup(by, [sent("counter/a", { type: "count.add", by: 1 })]).settled).toMatchObject([
    { error: { code: "context_too_large" } },
  ]);
});

describe.each(STORES)("what a cascade writes (%s)", (kind) => {
  const machines = [counter] as unknown as AnyStateMachine[];

  it("is of one time and of the ownership that created its actor, which keeps both", () => {
    const { store } = place(kind);
    commitGroup(committing(store, machines), [creation("counter", "a", { start: 0 })]);
    const usual = committing(store, machines);
    const by = { ...usual, rules: { ...usual.rules, now: () => 2000 } };
    const create = { type: "count.create", id: "b", start: 1, keys: ["k"] };
    commitGroup(by, [sent("counter/a", create)]);
    expect(store.actor("counter/a")).toMatchObject({ epoch: 1, createdMs: 1000, updatedMs: 2000, seq: 2 });
    expect(store.actor("counter/b")).toMatchObject({ id: "b", epoch: 2, createdMs: 2000, updatedMs: 2000, seq: 1 });
    expect(store.entries({ limit: 9 }).map(({ actor, seq, atMs }) => [actor, seq, atMs])).toEqual([
      ["counter/a", 1, 1000],
      ["counter/a", 2, 2000],
      ["counter/b", 1, 2000],
    ]);
    expect(store.identities("counter/b")).toEqual(["k"]);
  });

  it.each<[string, object, string]>([
    ["an address that somebody has", { id: "b", keys: [] }, "counter/b exists already"],
    ["an address that somebody reserved", { id: "reserved", keys: [] }, "counter/reserved is owned or reserved by counter/b"],
    ["a key that somebody has", { id: "c", keys: ["own", "k"] }, "the key k belongs to counter/b"],
    ["a key that is the address of somebody", { id: "c", keys: ["counter/b"] }, "the key counter/b belongs to counter/b"],
  ])("is nothing where it would give out %s, and says whose it is", (_, create, problem) => {
    const by = committing(place(kind).store, machines);
    const keyed = { ...creation("counter", "b", { start: 0 }), keys: ["k", "counter/reserved"] } as Work;
    commitGroup(by, [creation("counter", "a", { start: 0 }), keyed]);
    const { settled, entries } = commitGroup(by, [sent("counter/a", { type: "count.create", start: 0, ...create })]);
    const { id } = create as { id: string };
    expect(settled).toMatchObject([
      { ok: false, error: { code: "identity_taken", message: problem, details: { actor: `counter/${id}` } } },
    ]);
    expect([entries, by.store.identity("own")]).toEqual([[], undefined]);
  });

  it("may be an address that its creator reserved", () => {
    const by = committing(place(kind).store, machines);
    commitGroup(by, [{ ...creation("counter", "a", { start: 0 }), keys: ["counter/mine"] } as Work]);
    const create = { type: "count.create", id: "mine", start: 0, keys: [] };
    expect(commitGroup(by, [sent("counter/a", create)]).settled).toMatchObject([{ ok: true }]);
    expect(by.store.actor("counter/mine")).toMatchObject({ seq: 1, quarantine: null });
  });
});
