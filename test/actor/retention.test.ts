import { describe, expect, it, vi } from "vitest";
import { assign } from "xstate";
import { effect } from "../../machines/action.ts";
import { type Engine, openEngine } from "../../src/actor/engine.ts";
import { engineError } from "../../src/actor/error.ts";
import { PAGE } from "../../src/actor/page.ts";
import type { RetentionPolicy } from "../../src/actor/retention.ts";
import type { ActorRow } from "../../src/actor/store.ts";
import { faultPoints, simulatedClock } from "../../src/testing/index.ts";
import { counter, counterOf, journal, make, open, place, rejection, STORES } from "./counter.ts";
import { nothing, thing } from "./thing.ts";

const HOUR_MS = 3_600_000;
const NOTHING = { actors: 0, keys: 0, deadLetters: 0, blobs: 0 };
const bytes = (text: string) => new TextEncoder().encode(text);
const addresses = (engine: Engine) => engine.list({}, { limit: 1000 }).map(({ address }) => address);

describe.each(STORES)("retention (%s)", (kind) => {
  it("removes nothing that the policy does not name, and nothing unfinished", async () => {
    const clock = simulatedClock();
    const engine = await open(place(kind).store, { clock });
    await (await make(engine, "a")).send({ type: "count.end" });
    await make(engine, "b");
    clock.advance(10 * HOUR_MS);
    expect(await engine.retain({})).toEqual(NOTHING);
    expect(await engine.retain({ finalMs: 0, keysMs: 0, deadLettersMs: 0, blobsMs: HOUR_MS })).toEqual({ ...NOTHING, actors: 1 });
    expect(addresses(engine)).toEqual(["counter/b"]);
    expect(await engine.retain({ finalMs: 0 })).toEqual(NOTHING);
    expect(engine.verify().faults).toEqual([]);
  });

  it("removes final actors by age, machine and state, and their ids are not given out again", async () => {
    const clock = simulatedClock();
    const other = counterOf("1", "other");
    const engine = await open(place(kind).store, { clock, machines: [counter, other] });
    for (const machine of [counter, other])
      for (const id of ["old", "stopped"]) {
        const ref = await engine.create(machine, id, { input: { start: 0 }, keys: [`key of ${machine.id}/${id}`] });
        await (id === "old" ? ref.send({ type: "count.end" }) : ref.stop());
      }
    clock.advance(HOUR_MS);
    await (await make(engine, "young")).send({ type: "count.end" });
    await make(engine, "last");
    expect(await engine.retain({ finalMs: HOUR_MS })).toEqual(NOTHING);
    clock.advance(1);
    expect(await engine.retain({ finalMs: HOUR_MS, machines: ["counter"], states: ["ended"] })).toEqual({ ...NOTHING, actors: 1 });
    expect(addresses(engine)).toEqual(["counter/stopped", "other/old", "other/stopped", "counter/young", "counter/last"]);
    expect(await engine.retain({ finalMs: HOUR_MS, states: ["ended"] })).toEqual({ ...NOTHING, actors: 1 });
    expect(await engine.retain({ finalMs: HOUR_MS, machines: ["nobody"] })).toEqual(NOTHING);
    expect(await engine.retain({ finalMs: HOUR_MS })).toEqual({ ...NOTHING, actors: 2 });
    expect(addresses(engine)).toEqual(["counter/young", "counter/last"]);
    expect(await rejection(make(engine, "old"))).toMatchObject({ code: "actor_deleted" });
    // Its keys belong to nobody any more.
    await engine.create(counter, "heir", { input: { start: 0 }, keys: ["key of counter/old"] });
    expect(engine.verify().faults).toEqual([]);
  });

  it("removes final actors of machines that are not registered any more", async () => {
    const clock = simulatedClock();
    const { store } = place(kind);
    const retired = counterOf("1", "retired");
    const first = await open(store, { clock, machines: [counter, retired] });
    await (await first.create(retired, "a", { input: { start: 0 } })).send({ type: "count.end" });
    await first.create(retired, "b", { input: { start: 0 } });
    await first.close();
    const engine = await open(store, { clock });
    await make(engine, "last");
    clock.advance(1);
    expect(await engine.retain({ finalMs: 0 })).toEqual({ ...NOTHING, actors: 1 });
    expect(addresses(engine)).toEqual(["retired/b", "counter/last"]);
  });

  it("keeps the chains and the order of the rest verifiable, with what was told and created across", async () => {
    const clock = simulatedClock();
    const engine = await open(place(kind).store, { clock });
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    await a.send({ type: "count.tell", to: "counter/b", by: 1 });
    await b.send({ type: "count.tell", to: "counter/a", by: 2 });
    await a.send({ type: "count.create", id: "c", start: 1, keys: ["of c"] });
    await engine.get(counter, "c")?.send({ type: "count.tell", to: "counter/b", by: 3 });
    await engine.get(counter, "c")?.send({ type: "count.end" });
    await a.send({ type: "count.end" });
    await b.send({ type: "count.tell", to: "counter/a", by: 4 });
    await a.send({ type: "count.end" });
    clock.advance(1);
    expect(await engine.retain({ finalMs: 0 })).toMatchObject({ actors: 2 });
    expect(engine.verify()).toMatchObject({ ok: true, faults: [], actors: 1 });
    await b.send({ type: "count.tell", to: "counter/c", by: 5 });
    expect(engine.deadLetters()).toMatchObject([{ receiver: "counter/c", reason: "actor_not_found" }]);
    expect(engine.verify().faults).toEqual([]);
  });

  it("takes a repeated key anew once its answer is gone, and both entries hold", async () => {
    const clock = simulatedClock();
    const engine = await open(place(kind).store, { clock });
    const a = await make(engine);
    const add = () => a.send({ type: "count.add", by: 1 }, { key: "k" });
    const ignored = () => a.send({ type: "never.taken" }, { key: "never" });
    await add();
    await ignored();
    clock.advance(HOUR_MS);
    expect(await engine.retain({ keysMs: HOUR_MS })).toEqual(NOTHING);
    expect(await add()).toMatchObject({ kind: "accepted", seq: 2, repeated: true });
    clock.advance(1);
    expect(await engine.retain({ keysMs: HOUR_MS })).toEqual({ ...NOTHING, keys: 2 });
    expect(engine.verify().faults).toEqual([]);
    expect([await add(), await add()]).toMatchObject([
      { kind: "accepted", seq: 3 },
      { seq: 3, repeated: true },
    ]);
    expect(engine.verify().faults).toEqual([]);
  });

  it("removes old dead letters, not those of an actor that is set aside, and verify knows of it", async () => {
    const clock = simulatedClock();
    const engine = await open(place(kind).store, { clock });
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    await a.send({ type: "count.say", to: b.address, event: { type: "assign.throw" } });
    await a.send({ type: "count.tell", to: "counter/none", by: 1 });
    clock.advance(HOUR_MS);
    await a.send({ type: "count.tell", to: "counter/none", by: 2 });
    clock.advance(1);
    expect(await engine.retain({ deadLettersMs: HOUR_MS })).toEqual({ ...NOTHING, deadLetters: 1 });
    expect(engine.deadLetters().map(({ receiver, reason }) => [receiver, reason])).toEqual([
      ["counter/b", "actor_quarantined"],
      ["counter/none", "actor_not_found"],
    ]);
    expect(engine.verify().faults).toEqual([]);
    await engine.release(b.address, { discard: true });
    expect(engine.deadLetters({ receiver: b.address })).toMatchObject([{ reason: "event_poisoned" }]);
    expect(engine.verify().faults).toEqual([]);
  });

  it("keeps what waits for a parked actor, however old, and the deploy that can ask it delivers it", async () => {
    const clock = simulatedClock();
    const { store } = place(kind);
    const other = counterOf("1", "other");
    const first = await open(store, { clock, machines: [counter, other] });
    await first.create(other, "x", { input: { start: 0 } });
    await first.close();
    const second = await open(store, { clock });
    const a = await make(second, "a");
    await a.send({ type: "count.tell", to: "other/x", by: 5 });
    clock.advance(1000 * HOUR_MS);
    expect(await second.retain({ deadLettersMs: 0 })).toEqual(NOTHING);
    await second.close();
    const engine = await open(store, { clock, machines: [counter, other] });
    expect(journal(engine, "other/x").map(({ event }) => event.type)).toEqual(["xstate.init", "count.added", "engine.reopened"]);
    expect(engine.deadLetters()).toEqual([]);
    expect(engine.verify().faults).toEqual([]);
  });

  it("keeps the dead letter of a sender that was deleted, and verify knows of it", async () => {
    const clock = simulatedClock();
    const engine = await open(place(kind).store, { clock });
    const a = await make(engine, "a");
    await a.send({ type: "count.tell", to: "counter/none", by: 1 });
    await a.send({ type: "count.end" });
    await make(engine, "b");
    clock.advance(1);
    await engine.retain({ finalMs: 0 });
    expect(engine.deadLetters()).toHaveLength(1);
    expect(engine.verify().faults).toEqual([]);
  });

  it("removes blobs that nothing mentions: not in events, facts or requests, nor in a large one, nor in a dead letter", async () => {
    const clock = simulatedClock();
    const engine = await open(place(kind).store, { clock });
    const [a, c] = [await make(engine, "a"), await make(engine, "c")];
    const names = ["event", "request", "large", "letter", "inner", "idle"] as const;
    const digests = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await engine.putBlob(bytes(name))])));
    const say = (event: object) => ({ type: "count.say" as const, to: "stranger/none", event: { type: "count.add", by: 0, ...event } });
    await a.send(say({ digest: `sha256-${digests.event}` }));
    await a.send({ type: "count.create", id: "b", start: 0, keys: [digests.request as string] });
    await a.send(say({ pad: "x".repeat(70_000), digest: digests.large }));
    await a.send(say({ digest: `00${digests.inner}ff` }));
    await c.send(say({ digest: digests.letter }));
    await c.send({ type: "count.end" });
    await make(engine, "last");
    clock.advance(3 * HOUR_MS);
    expect(await engine.retain({ finalMs: 0, blobsMs: 2 * HOUR_MS })).toMatchObject({ actors: 1, blobs: 1 });
    for (const name of names) expect([name, engine.getBlob(digests[name] as string) !== undefined]).toEqual([name, name !== "idle"]);
    expect(engine.verify().faults).toEqual([]);
    clock.advance(HOUR_MS);
    expect(await engine.retain({ deadLettersMs: 0, blobsMs: 2 * HOUR_MS })).toMatchObject({ deadLetters: 4, blobs: 1 });
    expect(engine.getBlob(digests.letter as string)).toBeUndefined();
    expect(engine.verify().faults).toEqual([]);
  });

  it("keeps a blob that only the record of a quarantine mentions", async () => {
    const clock = simulatedClock();
    const fails = () => {
      throw new Error("not taken");
    };
    const job = { params: nothing, done: "job.done", delivery: "at_least_once" };
    const machine = thing(
      { initial: "one", states: { one: { entry: { type: "job", params: {} }, on: { "job.done": { actions: assign(fails) } } } } },
      { schemas: { effects: { job } }, actions: { job: effect() } },
    );
    const { store } = place(kind);
    const engine = await openEngine(store, { machines: [machine], clock, effects: { job: ({ putBlob }) => putBlob(bytes("result")) } });
    await engine.create(machine, "a", { input: {} });
    await expect.poll(() => store.actor("thing/a")?.quarantine?.code).toBe("event_poisoned");
    const digest = JSON.parse(store.actor("thing/a")?.quarantine?.event ?? "{}").output;
    clock.advance(3 * HOUR_MS);
    expect(await engine.retain({ blobsMs: HOUR_MS })).toEqual(NOTHING);
    expect(engine.getBlob(digest)).toEqual(bytes("result"));
    await engine.close();
  });

  it("keeps a blob of the end of an hour for as long as one of its beginning", async () => {
    const clock = simulatedClock();
    const engine = await open(place(kind).store, { clock });
    clock.advance(HOUR_MS - 1000);
    const digest = await engine.putBlob(bytes("late"));
    // The store knows the hour only: by that it would be more than an hour old.
    clock.advance(2000);
    expect(await engine.retain({ blobsMs: HOUR_MS })).toEqual(NOTHING);
    clock.advance(HOUR_MS - 1001);
    expect(await engine.retain({ blobsMs: HOUR_MS })).toEqual(NOTHING);
    clock.advance(1);
    expect(await engine.retain({ blobsMs: HOUR_MS })).toEqual({ ...NOTHING, blobs: 1 });
    expect(engine.getBlob(digest)).toBeUndefined();
  });

  it("keeps a blob that is stored again, or mentioned, while retention runs", async () => {
    const clock = simulatedClock();
    const points = faultPoints();
    const engine = await open(place(kind).store, { clock, probe: points.probe });
    const a = await make(engine, "a");
    const [again, mentioned, idle] = await Promise.all(["again", "mentioned", "idle"].map((text) => engine.putBlob(bytes(text))));
    clock.advance(2 * HOUR_MS);
    const running = engine.retain({ blobsMs: HOUR_MS });
    // In a commit of their own, between the marking and the sweep.
    const meanwhile = [engine.putBlob(bytes("again")), a.send({ type: "count.create", id: "b", start: 0, keys: [mentioned as string] })];
    expect(await running).toMatchObject({ blobs: 1 });
    await Promise.all(meanwhile);
    expect([again, mentioned, idle].map((digest) => engine.getBlob(digest as string) !== undefined)).toEqual([true, true, false]);
  });

  it("commits in small pieces, and goes on after a crash between two", async () => {
    const clock = simulatedClock();
    const { store } = place(kind);
    const points = faultPoints();
    const engine = await open(store, { clock, probe: points.probe });
    const a = await make(engine, "a");
    const count = 600;
    await Promise.all(Array.from({ length: count }, (_, key) => a.send({ type: "never.taken" }, { key: `k${key}` })));
    await Promise.all(Array.from({ length: count }, (_, id) => engine.putBlob(bytes(`blob ${id}`))));
    await Promise.all(Array.from({ length: count }, (_, to) => a.send({ type: "count.tell", to: `counter/n${to}`, by: 0 })));
    const ended = await Promise.all(Array.from({ length: count }, (_, id) => make(engine, `f${id}`)));
    await Promise.all(ended.map((ref) => ref.send({ type: "count.end" })));
    await make(engine, "last");
    clock.advance(3 * HOUR_MS);
    const policy: RetentionPolicy = { finalMs: 0, keysMs: 0, deadLettersMs: 0, blobsMs: HOUR_MS };
    for (const nth of [2, 2, 3, 3]) {
      points.throwAt("commit.inside", new Error("crash"), { nth });
      expect(await rejection(engine.retain(policy))).toMatchObject({ code: "storage_failed" });
      expect(engine.verify().faults).toEqual([]);
    }
    await engine.close();
    const again = await open(store, { clock });
    await again.retain(policy);
    expect([
      store.actors({}, { limit: 9 }).length,
      store.blobs({ limit: 9 }),
      again.deadLetters(),
      store.answer("counter/a", "k0"),
    ]).toEqual([2, [], [], undefined]);
    expect(again.verify().faults).toEqual([]);
  });

  it("removes actors with thousands of entries a few to a commit", async () => {
    const clock = simulatedClock();
    const points = faultPoints();
    const engine = await open(place(kind).store, { clock, probe: points.probe });
    for (const id of ["a", "b", "c"]) {
      const ref = await make(engine, id);
      await Promise.all(Array.from({ length: 2000 }, () => ref.send({ type: "count.add", by: 1 })));
      await ref.send({ type: "count.end" });
    }
    await make(engine, "last");
    clock.advance(1);
    const before = points.count("commit.after");
    expect(await engine.retain({ finalMs: 0 })).toEqual({ ...NOTHING, actors: 3 });
    // 2,002 entries each, 5,000 a commit.
    expect(points.count("commit.after") - before).toBe(2);
    expect(engine.verify().faults).toEqual([]);
  });

  it.each([
    { says: "as many entries as one commit takes", seqs: [2500, 2500], commits: 1 },
    { says: "one entry more", seqs: [2500, 2501], commits: 2 },
    { says: "one actor of more entries than that", seqs: [5001], commits: 1 },
    { says: "such a one between others", seqs: [1, 5001, 1], commits: 3 },
    { says: "as many actors as one commit takes", seqs: Array<number>(500).fill(1), commits: 1 },
    { says: "one actor more", seqs: Array<number>(501).fill(1), commits: 2 },
    { says: "one actor more, each for itself", seqs: Array<number>(501).fill(1), commits: 2, isAlone: true },
  ])("removes $says in $commits commits", async ({ seqs, commits, isAlone }) => {
    const clock = simulatedClock();
    const points = faultPoints();
    const engine = await open(place(kind).store, { clock, probe: points.probe });
    const refs = await Promise.all(seqs.map((_, id) => make(engine, `f${id}`)));
    await Promise.all(refs.map((ref) => ref.send({ type: "count.end" })));
    clock.advance(1);
    const group = engine.list({}, { limit: 1000 }).map((row, index) => ({ ...row, seq: seqs[index] as number }));
    const before = points.count("commit.after");
    // All of it belongs to the first, and nothing to the others.
    const groupOf = ({ id }: { id: string }) => (id === "f0" ? group : []);
    expect(await engine.retain({ finalMs: 0 }, isAlone ? undefined : groupOf)).toEqual({ ...NOTHING, actors: seqs.length });
    expect([points.count("commit.after") - before, addresses(engine)]).toEqual([commits, []]);
  });

  it("keeps a group as a whole of which one is set aside, unfinished or too young, wherever it is in it", async () => {
    const clock = simulatedClock();
    const engine = await open(place(kind).store, { clock });
    for (const id of ["a", "b", "c", "d"]) await (await make(engine, id)).send({ type: "count.end" });
    await engine.setAside("counter/b", "snapshot_damaged", "by hand");
    await make(engine, "unfinished");
    clock.advance(1);
    await (await make(engine, "young")).send({ type: "count.end" });
    const [a, b, c, d, unfinished, young] = engine.list();
    const groups = { a: [a, b], c: [c, unfinished], d: [d, young] } as Record<string, ActorRow[]>;
    expect(await engine.retain({ finalMs: 0 }, ({ id }) => groups[id] ?? [])).toEqual(NOTHING);
    expect(addresses(engine)).toHaveLength(6);
  });

  it("commits nothing where no actor and no blob may go", async () => {
    const clock = simulatedClock();
    const points = faultPoints();
    const engine = await open(place(kind).store, { clock, probe: points.probe });
    const mentioned = await engine.putBlob(bytes("mentioned"));
    await engine.create(counter, "unfinished", { input: { start: 0 }, keys: [mentioned] });
    clock.advance(2 * HOUR_MS);
    await engine.putBlob(bytes("young"));
    const before = points.count("commit.after");
    expect(await engine.retain({ finalMs: 0, blobsMs: HOUR_MS })).toEqual(NOTHING);
    expect(points.count("commit.after")).toBe(before);
  });

  it("asks for the groups of those only that it could let go", async () => {
    const clock = simulatedClock();
    const engine = await open(place(kind).store, { clock, machines: [counter, counterOf("1", "other")] });
    for (const id of ["a", "b", "c"]) await (await make(engine, id)).send({ type: "count.end" });
    await engine.setAside("counter/b", "snapshot_damaged", "by hand");
    await (await make(engine, "stopped")).stop();
    await make(engine, "unfinished");
    clock.advance(1);
    await (await make(engine, "young")).send({ type: "count.end" });
    const asked: string[] = [];
    await engine.retain({ finalMs: 0, states: ["ended"] }, ({ id }) => {
      asked.push(id);
      return [];
    });
    expect(asked).toEqual(["a", "c"]);
  });

  it("goes on in a group of which one went with another group", async () => {
    const clock = simulatedClock();
    const engine = await open(place(kind).store, { clock });
    for (const id of ["a", "b", "c"]) await (await make(engine, id)).send({ type: "count.end" });
    clock.advance(1);
    const rows = engine.list();
    const groupOf = ({ id }: { id: string }) => (id === "a" ? rows.slice(0, 2) : id === "b" ? rows.slice(1) : []);
    expect(await engine.retain({ finalMs: 0 }, groupOf)).toEqual({ ...NOTHING, actors: 3 });
    expect(addresses(engine)).toEqual([]);
  });

  it("removes the actors of one page also where the next one cannot be read", async () => {
    const clock = simulatedClock();
    const { store } = place(kind);
    const engine = await open(store, { clock });
    const ended = Array.from({ length: PAGE + 1 }, async (_, id) => (await make(engine, `n${id}`)).stop());
    await Promise.all(ended);
    clock.advance(1);
    const actors = store.actors.bind(store);
    const read = vi.spyOn(store, "actors").mockImplementation((filter, page) => {
      if (page.after) throw engineError("storage_failed", "the disk is gone");
      return actors(filter, page);
    });
    expect(await rejection(engine.retain({ finalMs: 0 }))).toMatchObject({ code: "storage_failed" });
    read.mockRestore();
    expect(addresses(engine)).toEqual([`counter/n${PAGE}`]);
  });

  it("removes more than a page of keys, dead letters and blobs, a page to a commit, and counts them all", async () => {
    const clock = simulatedClock();
    const points = faultPoints();
    const engine = await open(place(kind).store, { clock, probe: points.probe });
    const a = await make(engine, "a");
    const all = Array.from({ length: PAGE + 1 }, (_, index) => index);
    await Promise.all(all.map((key) => a.send({ type: "never.taken" }, { key: `k${key}` })));
    await Promise.all(all.map((to) => a.send({ type: "count.tell", to: `counter/n${to}`, by: 0 })));
    await Promise.all(all.map((id) => engine.putBlob(bytes(`blob ${id}`))));
    clock.advance(3 * HOUR_MS);
    const before = points.count("commit.after");
    const policy = { keysMs: 0, deadLettersMs: 0, blobsMs: HOUR_MS };
    expect(await engine.retain(policy)).toEqual({ actors: 0, keys: PAGE + 1, deadLetters: PAGE + 1, blobs: PAGE + 1 });
    expect(points.count("commit.after") - before).toBe(6);
    expect(engine.reader.blobs({ limit: 1 })).toEqual([]);
  });

  it("keeps a blob that only the last of more than a page of entries, dead letters or quarantines mentions", async () => {
    const clock = simulatedClock();
    const { store } = place(kind);
    const engine = await open(store, { clock });
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    const [inEntry, inLetter, inQuarantine] = await Promise.all(
      ["entry", "letter", "quarantine"].map((text) => engine.putBlob(bytes(text))),
    );
    const aside = await Promise.all(Array.from({ length: PAGE + 1 }, (_, id) => make(engine, `q${id}`)));
    await Promise.all(
      aside.map(({ address }, index) =>
        engine.setAside(address, "snapshot_damaged", index === PAGE ? `it has ${inQuarantine}` : "it has none"),
      ),
    );
    await Promise.all(Array.from({ length: PAGE }, () => b.send({ type: "count.tell", to: "counter/none", by: 0 })));
    await b.send({ type: "count.say", to: "stranger/none", event: { type: "none", digest: inLetter } });
    await b.send({ type: "count.end" });
    await a.send({ type: "count.create", id: "c", start: 0, keys: [inEntry as string] });
    clock.advance(3 * HOUR_MS);
    expect(await engine.retain({ finalMs: 0, blobsMs: HOUR_MS })).toEqual({ ...NOTHING, actors: 1 });
    expect([inEntry, inLetter, inQuarantine].map((digest) => store.blob(digest as string) !== undefined)).toEqual([true, true, true]);
  });

  it.each<[string, RetentionPolicy]>([
    ["actors", { finalMs: 0 }],
    ["keys", { keysMs: 0 }],
    ["dead letters", { deadLettersMs: 0 }],
    ["blobs", { blobsMs: HOUR_MS }],
  ])("of %s is refused where another owner has the root, and removes nothing", async (_, policy) => {
    const clock = simulatedClock();
    const { store } = place(kind);
    const engine = await open(store, { clock });
    const a = await make(engine, "a");
    await a.send({ type: "count.tell", to: "counter/none", by: 0 }, { key: "k" });
    await a.send({ type: "count.end" });
    const digest = await engine.putBlob(bytes("idle"));
    clock.advance(3 * HOUR_MS);
    store.beginEpoch(clock.now());
    expect(await rejection(engine.retain(policy))).toMatchObject({ code: "not_owner" });
    expect([
      addresses(engine),
      store.answer("counter/a", "k")?.key,
      store.deadLetters({}, { limit: 9 }).length,
      store.blob(digest) !== undefined,
    ]).toEqual([["counter/a"], "k", 1, true]);
  });

  it("removes what belongs together in its order, as a whole, and nothing of it where one of it is unfinished or too young", async () => {
    const clock = simulatedClock();
    const engine = await open(place(kind).store, { clock });
    for (const id of ["a1", "b1", "c1", "a2", "b2", "c2"]) {
      const ref = await make(engine, id);
      if (id !== "b2") await ref.send({ type: "count.end" });
    }
    clock.advance(1);
    await (await make(engine, "a3")).send({ type: "count.end" });
    const groupOf = ({ id }: { id: string }) =>
      id.endsWith("1") ? engine.list().filter((row) => row.id.startsWith(id.slice(0, 1))).reverse() : []; // biome-ignore format: one line says it
    expect(await engine.retain({ finalMs: 0 }, groupOf)).toEqual({ ...NOTHING, actors: 2 });
    expect(addresses(engine)).toEqual(["counter/a1", "counter/b1", "counter/a2", "counter/b2", "counter/a3"]);
    clock.advance(1);
    expect(await engine.retain({ finalMs: 0 }, groupOf)).toEqual({ ...NOTHING, actors: 3 });
    expect(addresses(engine)).toEqual(["counter/b1", "counter/b2"]);
  });

  it("stops where one of a group turns out to be damaged: what is behind it stays, and other groups go", async () => {
    const clock = simulatedClock();
    const { store } = place(kind);
    const first = await open(store, { clock });
    for (const id of ["a", "b", "c", "d"]) await (await make(first, id)).send({ type: "count.end" });
    await make(first, "last");
    await first.close();
    store.write(store.epoch(), (writer) => {
      const row = writer.actor("counter/b");
      if (row) writer.putActor({ ...row, snapshot: "{" });
    });
    const engine = await open(store, { clock });
    clock.advance(1);
    const rows = engine.list();
    const groupOf = ({ id }: { id: string }) => (id === "c" ? rows.slice(0, 3) : id === "d" ? rows.slice(3, 4) : []);
    expect(await engine.retain({ finalMs: 0 }, groupOf)).toEqual({ ...NOTHING, actors: 2 });
    expect(addresses(engine)).toEqual(["counter/b", "counter/c", "counter/last"]);
    expect(engine.list({ quarantined: true })).toMatchObject([{ address: "counter/b" }]);
  });

  it.each<[string, unknown, string]>([
    ["a negative age", { finalMs: -1 }, "finalMs"],
    ["half a millisecond", { keysMs: 0.5 }, "keysMs"],
    ["no number", { deadLettersMs: "1" }, "deadLettersMs"],
    ["an age that never comes", { finalMs: Number.POSITIVE_INFINITY }, "finalMs"],
    ["blobs of a moment ago", { blobsMs: HOUR_MS - 1 }, "blobsMs"],
    ["one machine instead of a list", { finalMs: 0, machines: "counter" }, "machines"],
    ["a part that is misspelt", { finalMS: 0 }, "$"],
    ["no policy", null, "$"],
  ])("refuses %s, says where, and removes nothing", async (_, policy, path) => {
    const clock = simulatedClock();
    const engine = await open(place(kind).store, { clock });
    await (await make(engine, "a")).send({ type: "count.end" });
    await make(engine, "b");
    clock.advance(1);
    expect(await rejection(engine.retain(policy as never))).toMatchObject({ code: "input_invalid", details: { path } });
    expect(addresses(engine)).toHaveLength(2);
  });
});

describe.each(STORES)("the deletion of an actor (%s)", (kind) => {
  it("is for final actors only, once, also within one tick, and events of that tick are answered", async () => {
    const engine = await open(place(kind).store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    expect(await rejection(a.delete())).toMatchObject({ code: "actor_not_final" });
    const code = (promise: Promise<unknown>) =>
      promise.then(
        (answer: any) => answer?.code ?? "done",
        (error) => error.code,
      );
    const asked = [
      a.send({ type: "count.end" }),
      a.delete(),
      a.delete(),
      a.send({ type: "count.add", by: 1 }),
      make(engine, "a"),
      b.send({ type: "count.tell", to: "counter/a", by: 1 }),
    ];
    const [, ...rest] = await Promise.all(asked.map(code));
    expect(rest).toEqual(["done", "actor_not_found", expect.stringMatching(/actor_(final|not_found)/), "actor_deleted", "done"]);
    expect(journal(engine, "counter/a")).toEqual([]);
    expect(engine.verify().faults).toEqual([]);
    expect(await rejection(a.delete())).toMatchObject({ code: "actor_not_found" });
  });

  it("is not for one that is set aside", async () => {
    const engine = await open(place(kind).store);
    const a = await make(engine, "a");
    await a.send({ type: "count.end" });
    await engine.setAside(a.address, "snapshot_damaged", "by hand");
    expect(await rejection(a.delete())).toMatchObject({ code: "actor_quarantined" });
    expect(addresses(engine)).toEqual([a.address]);
  });

  it("hides no other entry that is removed by force", async () => {
    if (kind === "memory") return;
    const { store, file } = place(kind);
    const engine = await open(store);
    for (const id of ["a", "b", "c"]) await (await make(engine, id)).send({ type: "count.add", by: 1 });
    await engine.get(counter, "b")?.send({ type: "count.end" });
    await make(engine, "last");
    await engine.get(counter, "b")?.delete();
    expect(engine.verify().faults).toEqual([]);
    const { default: Database } = await import("better-sqlite3");
    const db = new Database(file as string);
    db.exec("DELETE FROM journal WHERE actor = 'counter/c'; DELETE FROM actors WHERE address = 'counter/c'");
    db.close();
    expect(engine.verify().faults).toMatchObject([{ code: "row_missing", actor: null }]);
  });
});
