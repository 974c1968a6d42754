import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AnyStateMachine } from "xstate";
import type { Answer } from "../../src/actor/answer.ts";
import { commitGroup, type Probe } from "../../src/actor/commit.ts";
import type { Draft } from "../../src/actor/draft.ts";
import { engineError } from "../../src/actor/error.ts";
import type { Store } from "../../src/actor/store.ts";
import type { Work } from "../../src/actor/work.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { faultPoints, purityTrap } from "../../src/testing/index.ts";
import { committing, creation, sent, setAside } from "./committing.ts";
import { counter, gate, handlers, make, open, place, rejection, STORES } from "./counter.ts";
import { timed } from "./timed.ts";
import { withWriters } from "./wrapped.ts";

describe.each(STORES)("a handler (%s)", (kind) => {
  it("does not start before the commit that requested it (ACT-1)", async () => {
    const points = faultPoints();
    const { store } = place(kind);
    const order: string[] = [];
    const work = async () => {
      order.push(`handler, with the journal at ${store.lastPosition()}`);
      return { by: 1 };
    };
    const engine = await open(store, { probe: points.probe, effects: { work } });
    const actor = await make(engine);
    points.callAt("commit.inside", () => order.push("inside"));
    points.callAt("commit.after", () => order.push("after"));
    await actor.send({ type: "work.start", by: 1 });
    await actor.waitFor((snapshot) => snapshot.matches("idle"));
    expect(order).toEqual(["inside", "after", "handler, with the journal at 2"]);
  });

  it.each(["commit.before", "commit.inside"] as const)("does not start where that commit fails (%s, ACT-1)", async (point) => {
    const points = faultPoints();
    let ran = 0;
    const work = async () => {
      ran++;
      return { by: 1 };
    };
    const engine = await open(place(kind).store, { probe: points.probe, effects: { work } });
    const actor = await make(engine);
    points.throwAt(point, new Error("disk"));
    expect(await rejection(actor.send({ type: "work.start", by: 1 }))).toMatchObject({ code: "storage_failed" });
    await actor.send({ type: "count.add", by: 1 });
    expect([ran, points.count("effect.before"), engine.effects()]).toEqual([0, 0, []]);
  });
});

describe.each(STORES)("a writer whose epoch is over (%s)", (kind) => {
  it("is refused with not_owner, and nothing is written (ACT-2)", async () => {
    const { store } = place(kind);
    const stale = await open(store);
    const actor = await make(stale);
    const epoch = store.beginEpoch(Date.now());
    expect(await actor.send({ type: "count.add", by: 1 })).toMatchObject({ kind: "refused", code: "not_owner" });
    expect(await rejection(make(stale, "b"))).toMatchObject({ code: "not_owner" });
    expect(await rejection(stale.putBlob(new Uint8Array([1])))).toMatchObject({ code: "not_owner" });
    expect([store.epoch(), store.lastPosition(), stale.list().length]).toEqual([epoch, 1, 1]);
  });

  it("loses its handlers: their work is the next owner's (ACT-2)", async () => {
    const aborted = gate<unknown>();
    const { store } = place(kind);
    const work = ({ signal }: { signal: AbortSignal }) =>
      new Promise<never>(() => {
        signal.addEventListener("abort", () => aborted.open(signal.reason));
      });
    const stale = await open(store, { effects: { work } });
    const actor = await make(stale);
    await actor.send({ type: "work.start", by: 1 });
    store.beginEpoch(Date.now());
    await actor.send({ type: "count.add", by: 1 });
    expect(await aborted.passed).toMatchObject({ code: "closed" });
    expect(stale.effects().map((row) => row.state)).toEqual(["open"]);
  });

  it("cannot report what its handlers gave (ACT-2)", async () => {
    const { store } = place(kind);
    const release = gate();
    const stale = await open(store, { effects: { work: () => release.passed.then(() => ({ by: 9 })) } });
    await (await make(stale)).send({ type: "work.start", by: 1 });
    const next = await open(store, { effects: { work: () => new Promise(() => {}) } });
    release.open();
    const actor = next.get(counter, "a");
    await actor?.send({ type: "count.add", by: 1 });
    expect(actor?.getSnapshot()).toMatchObject({ value: "working", context: { count: 1 } });
  });
});

describe.each(STORES)("a storage error (%s)", (kind) => {
  it.each(["commit.before", "commit.inside"] as const)("at %s rejects its whole group and leaves nothing of it (ACT-7)", async (point) => {
    const points = faultPoints();
    const engine = await open(place(kind).store, { probe: points.probe });
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    const cause = new Error("disk full");
    points.throwAt(point, cause);
    const group = [
      a.send({ type: "count.add", by: 1 }, { key: "k" }),
      b.send({ type: "count.tell", to: "counter/a", by: 1 }),
      make(engine, "c"),
    ];
    for (const result of await Promise.allSettled(group))
      expect(result).toMatchObject({ status: "rejected", reason: { code: "storage_failed", retryable: true, cause } });
    expect([a, b].map((actor) => [actor.row().seq, actor.getSnapshot().context.count])).toEqual([
      [1, 0],
      [1, 0],
    ]);
    expect([engine.get(counter, "c"), engine.reader.answer("counter/a", "k"), engine.reader.lastPosition()]).toEqual([
      undefined,
      undefined,
      2,
    ]);
  });

  it("leaves an engine that goes on as if it had not been (ACT-7)", async () => {
    const points = faultPoints();
    const engine = await open(place(kind).store, { probe: points.probe });
    const actor = await make(engine);
    await actor.send({ type: "count.add", by: 1 });
    points.throwAt("commit.inside", new Error("disk full"));
    await rejection(actor.send({ type: "count.add", by: 10 }, { key: "k" }));
    expect(await actor.send({ type: "count.add", by: 10 }, { key: "k" })).toMatchObject({
      kind: "accepted",
      seq: 3,
      snapshot: { context: { count: 11 } },
    });
    expect(engine.verify()).toMatchObject({ ok: true });
  });

  it("while a delivery is taken rejects the group and sets nobody aside", async () => {
    const unreadable = new Set<string>();
    const engine = await open(failingReads(place(kind).store, unreadable), { cacheLimit: 0 });
    // The first tells the second, and the second tells the actor that its count names.
    const [first, second, last] = [await make(engine, "1", 3), await make(engine, "2", 3), await make(engine, "3", 9)];
    unreadable.add(last.address);
    const group = [second.send({ type: "count.add", by: 0 }), first.send({ type: "count.bounce", to: second.address })];
    for (const result of await Promise.allSettled(group)) expect(result).toMatchObject({ reason: { code: "storage_failed" } });
    unreadable.clear();
    expect([first, second, last].map((actor) => [actor.row().seq, actor.row().quarantine])).toEqual(Array(3).fill([1, null]));
    expect(await first.send({ type: "count.bounce", to: second.address })).toMatchObject({ kind: "accepted" });
  });

  it("while a result is taken loses that result and sets nobody aside", async () => {
    const unreadable = new Set<string>();
    const engine = await open(failingReads(place(kind).store, unreadable), { cacheLimit: 0 });
    // Its result is told to the actor that its count names.
    const [actor] = [await make(engine, "1", 2), await make(engine, "2")];
    unreadable.add("counter/2");
    await actor.send({ type: "silent.start" });
    for await (const watched of actor.watchAll()) if (watched.kind === "lost") break;
    unreadable.clear();
    expect([actor.row().quarantine, engine.effects().map((row) => row.state)]).toEqual([null, ["open"]]);
    await engine.recover();
    await actor.waitFor(({ context }) => context.log.includes("silent.done"));
  });
});

/** A store whose writers cannot read some actors. */
function failingReads(store: Store, unreadable: ReadonlySet<string>): Store {
  return withWriters(store, (writer) => ({
    actor: (address) => {
      if (unreadable.has(address)) throw engineError("storage_failed", "I/O");
      return writer.actor(address);
    },
  }));
}

describe.each(STORES)("a fold (%s)", (kind) => {
  it("gives the stored facts, requests and snapshot (ACT-4)", async () => {
    const engine = await open(place(kind).store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b", 3)];
    await a.send({ type: "count.tell", to: b.address, by: 2 });
    await a.send({ type: "work.start", by: 4 });
    await a.waitFor((snapshot) => snapshot.matches("idle"));
    await b.send({ type: "once.start", by: 5 });
    await b.waitFor((snapshot) => snapshot.matches("idle"));
    await b.send({ type: "count.end" });
    expect(engine.verify()).toEqual({ ok: true, actors: 2, entries: 9, unfolded: {}, faults: [] });
  });

  it("of a machine that reads the time does not; the purity trap finds it before (ACT-4)", async () => {
    const { store } = place(kind);
    const trapped = await open(store, { enclose: purityTrap });
    const actor = await make(trapped);
    expect(await rejection(actor.send({ type: "clock.read" }))).toMatchObject({
      code: "machine_threw",
      cause: { message: expect.stringContaining("Date.now") },
    });
    expect(actor.row().seq).toBe(1);
    expect(await actor.send({ type: "count.add", by: 1 })).toMatchObject({ kind: "accepted" });
  });
});

const machines = [counter, timed] as unknown as AnyStateMachine[];
const counting = (id: string) => creation("counter", id, { start: 0 });
const adding = (id: string): Work => sent(`counter/${id}`, { type: "count.add", by: 1 });

describe.each(STORES)("the cache (%s)", (kind) => {
  it("holds the actors that were used last, up to its limit", () => {
    const by = committing(place(kind).store, machines, { cacheLimit: 2 });
    const remembered = (...works: Work[]) => {
      commitGroup(by, works);
      return [...by.cache.keys()];
    };
    for (const id of ["a", "b"]) remembered(counting(id));
    expect(remembered(counting("c"))).toEqual(["counter/b", "counter/c"]);
    expect(remembered(adding("b"))).toEqual(["counter/c", "counter/b"]);
    expect(remembered(adding("a"))).toEqual(["counter/b", "counter/a"]);
    expect(remembered(counting("d"), counting("e"), counting("f"))).toEqual(["counter/e", "counter/f"]);
  });

  it("that may hold nobody remembers nobody, and actors are read each time", () => {
    const by = committing(place(kind).store, machines, { cacheLimit: 0 });
    commitGroup(by, [counting("a")]);
    expect([commitGroup(by, [adding("a")]).settled, by.cache.size]).toMatchObject([
      [{ ok: true, answer: { kind: "accepted", seq: 2 } }],
      0,
    ]);
  });

  it("does not hold who has ended or was set aside", () => {
    const by = committing(place(kind).store, machines);
    commitGroup(by, [counting("a"), counting("b"), counting("c")]);
    commitGroup(by, [sent("counter/a", { type: "count.end" }), setAside("counter/b")]);
    expect([...by.cache.keys()]).toEqual(["counter/c"]);
  });

  it.each(["commit.before", "commit.inside"] as const)("holds nobody behind a commit that failed at %s", (point) => {
    const points = faultPoints();
    const by = committing(place(kind).store, machines, { probe: points.probe });
    commitGroup(by, [counting("a")]);
    points.throwAt(point, new Error("disk"));
    expect(() => commitGroup(by, [adding("a")])).toThrow("disk");
    expect([by.cache.size, by.draft]).toEqual([0, undefined]);
    expect(commitGroup(by, [adding("a")]).settled).toMatchObject([{ answer: { seq: 2, snapshot: { context: { count: 1 } } } }]);
  });
});

it("the cache never decides: an actor that was written behind the engine's back is read again", () => {
  const { store, file } = place("sqlite");
  const by = committing(store, machines);
  commitGroup(by, [counting("a")]);
  const other = new Database(file as string);
  other.exec("UPDATE actors SET snapshot = '{'");
  other.close();
  expect(commitGroup(by, [adding("a")]).settled).toMatchObject([{ answer: { kind: "refused", code: "actor_quarantined" } }]);
});

it.each([0, 10])("each entry is linked to the one before it of its actor, also where %i actors are remembered", (cacheLimit) => {
  const { store, file } = place("sqlite");
  const by = committing(store, machines, { cacheLimit });
  commitGroup(by, [counting("a"), counting("b"), adding("a")]);
  commitGroup(by, [adding("b"), adding("a"), adding("b"), adding("a")]);
  commitGroup(by, [counting("c"), adding("a")]);
  const other = new Database(file as string, { readonly: true });
  onTestFinished(() => void other.close());
  const links = other.prepare("SELECT actor, position, before FROM journal ORDER BY position").all() as Record<string, unknown>[];
  expect(links.map(({ actor, position, before }) => `${actor} ${position} ${before}`)).toEqual([
    ...["counter/a 1 0", "counter/b 2 0", "counter/a 3 1"],
    ...["counter/b 4 2", "counter/a 5 3", "counter/b 6 4", "counter/a 7 5"],
    ...["counter/c 8 0", "counter/a 9 7"],
  ]);
});

it("each fault point of a commit is given the entries that are at hand there", () => {
  const told: [string, string[] | undefined][] = [];
  const probe: Probe = (point, { entries }) => void told.push([point, entries?.map(({ actor, seq }) => `${actor} ${seq}`)]);
  commitGroup(committing(memoryStore(), machines, { probe }), [counting("a"), adding("a")]);
  const entries = ["counter/a 1", "counter/a 2"];
  expect(told).toEqual([
    ["commit.before", undefined],
    ["commit.inside", entries],
    ["commit.after", entries],
  ]);
});

it.each([
  ["9e18", Number.MAX_SAFE_INTEGER],
  ["-9e18", Number.MIN_SAFE_INTEGER],
])("a row with the number %s, which no store takes, is set aside with the nearest that one takes", (number, kept) => {
  const { store, file } = place("sqlite");
  const by = committing(store, machines);
  commitGroup(by, [counting("a"), counting("b")]);
  const other = new Database(file as string);
  other.exec(`UPDATE actors SET created_ms = CAST(${number} AS INTEGER) WHERE id = 'a'`);
  other.close();
  expect(commitGroup(by, [adding("a"), adding("b")]).settled).toMatchObject([
    { answer: { kind: "refused", code: "actor_quarantined" } },
    { answer: { kind: "accepted" } },
  ]);
  expect(store.actor("counter/a")).toMatchObject({ createdMs: kept, quarantine: { code: "snapshot_damaged" } });
});

describe.each(STORES)("what a commit says that it changed (%s)", (kind) => {
  const nothing = { opened: [], closed: [], aborted: [], timers: [], timersEnded: false, quarantined: [], released: [], deleted: [] };

  it("is each thing of a group, once, and nothing of another group", () => {
    const by = committing(place(kind).store, machines);
    const changed = (...works: Work[]) => {
      const { settled, entries, ...others } = commitGroup(by, works);
      return [settled.map(({ ok }) => ok), entries.map(({ actor, seq }) => `${actor} ${seq}`), others];
    };
    expect(changed(counting("a"), creation("timed", "t"))).toEqual([[true, true], ["counter/a 1", "timed/t 1"], nothing]);
    expect(changed(sent("counter/a", { type: "work.start", by: 1 }), sent("timed/t", { type: "absolute" }))).toMatchObject([
      [true, true],
      ["counter/a 2", "timed/t 2"],
      { ...nothing, opened: [{ key: "counter/a:2:0", state: "open" }], timers: [{ key: "timed/t:2:0", state: "armed" }] },
    ]);
    expect(changed(adding("a"))).toEqual([[true], ["counter/a 3"], nothing]);
    expect(changed(sent("counter/a", { type: "work.abort" }), sent("counter/a", { type: "guard.throw" }))).toEqual([
      [true, false],
      ["counter/a 4"],
      { ...nothing, aborted: ["counter/a:2:0"] },
    ]);
    expect(changed(sent("counter/a", { type: "work.leave" }), sent("timed/t", { type: "leave" }))).toEqual([
      [true, true],
      ["counter/a 5", "timed/t 3"],
      { ...nothing, closed: ["counter/a:2:0"], timersEnded: true },
    ]);
    expect(changed(setAside("counter/a"))).toEqual([...[[true], [], { ...nothing, quarantined: ["counter/a"] }]]);
    commitGroup(by, [sent("timed/t", { type: "end" })]);
    const deletion = (draft: Draft): Answer => {
      draft.deleted.add("timed/t");
      return { kind: "ignored" };
    };
    expect(changed({ kind: "row", apply: deletion })).toEqual([[true], [], { ...nothing, deleted: ["timed/t"] }]);
    expect(changed({ kind: "release", actor: "counter/a", discard: false })).toEqual([[true], [], { ...nothing, released: ["counter/a"] }]);
  });

  it("is not what was asked for by who was then set aside", () => {
    const by = committing(place(kind).store, machines);
    commitGroup(by, [counting("a"), creation("timed", "t")]);
    const { opened, timers, quarantined } = commitGroup(by, [
      ...[sent("counter/a", { type: "work.start", by: 1 }), sent("timed/t", { type: "absolute" })],
      ...[setAside("counter/a"), setAside("timed/t")],
    ]);
    expect([opened, timers, quarantined]).toEqual([[], [], ["counter/a", "timed/t"]]);
    expect(by.store.actor("counter/a")).toMatchObject({ seq: 2, state: "working", quarantine: { code: "journal_damaged" } });
  });
});

it("the tests' handlers name each effect of the machine", () => {
  expect(Object.keys(handlers).sort()).toEqual(
    Object.keys((counter as unknown as { schemas: { effects: object } }).schemas.effects).sort(),
  );
});
