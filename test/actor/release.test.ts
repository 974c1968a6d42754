import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { assign } from "xstate";
import { z } from "zod";
import { effect } from "../../machines/action.ts";
import type { Engine } from "../../src/actor/engine.ts";
import { HoldfastError } from "../../src/actor/error.ts";
import { makeEntry } from "../../src/actor/journal.ts";
import { TIMERS_LIMIT } from "../../src/actor/request.ts";
import type { ActorRow, PlacedDeadLetterRow, Store, StoreWriter } from "../../src/actor/store.ts";
import { faultPoints, simulatedClock } from "../../src/testing/index.ts";
import { appendRow } from "../../src/testing/store-row.ts";
import { journal, make, open, place, rejection, STORES } from "./counter.ts";
import { flushed, held } from "./held.ts";
import { all, harbour, sail, ship, ship2, shipOf } from "./ship.ts";
import { inState, nothing, thing } from "./thing.ts";
import { makeTimed, openTimed, WAIT_MS } from "./timed.ts";

const ref = (engine: Engine, machine: typeof ship, id: string) => engine.get(machine, id) as NonNullable<ReturnType<Engine["get"]>>;
const types = (engine: Engine, actor = "ship/a") => journal(engine, actor).map(({ event }) => event.type);
const add = (by: number) => ({ type: "add", by });
const throws = (): never => {
  throw new Error("a broken action");
};

/** Ships of version 1 that break on what they are told, or on results and timers. The repaired one is `ship`. */
const deaf = shipOf({ version: "1", told: throws });
const clumsy = shipOf({ version: "1", note: throws });

const START_MS = 1_767_225_600_000;
const ways = {
  "a result": async (store: Store) => {
    await harbour(store, { a: [{ type: "work", by: 1 }], b: [] });
    const engine = await sail(store, clumsy, { effects: { job: async () => 1 } });
    await rejection(ref(engine, clumsy, "a").waitFor(() => false));
    await engine.close();
  },
  "a timer": async (store: Store) => {
    await harbour(store, { a: [{ type: "wait" }], b: [] });
    const engine = await sail(store, clumsy, { clock: simulatedClock(START_MS + 1000) });
    await rejection(ref(engine, clumsy, "a").waitFor(() => false));
    await engine.close();
  },
  "a delivery": async (store: Store) => {
    await harbour(store, { a: [{ type: "work", by: 1 }], b: [] });
    const engine = await sail(store, deaf);
    await ref(engine, deaf, "b").send({ type: "tell", to: "ship/a", event: add(1) } as never);
    await engine.close();
  },
};
const WAYS = Object.keys(ways) as (keyof typeof ways)[];

/** What ship/a was given after its creation and its first event, in order. */
const taken = (engine: Engine) =>
  journal(engine, "ship/a")
    .slice(2)
    .map(({ event }) => event.by);

describe.each(STORES)("an actor that was set aside (%s)", (kind) => {
  it.each(WAYS)("by %s is released after its machine was repaired, and what poisoned it is taken", async (way) => {
    const { store } = place(kind);
    await ways[way](store);
    expect(store.actor("ship/a")?.quarantine).toMatchObject({ code: "event_poisoned" });
    const engine = await sail(store, ship, { clock: simulatedClock(START_MS + 1000), effects: { job: async () => 1 } });
    await engine.release("ship/a");
    const rest = (snapshot: any) => snapshot.matches("rest");
    const done = await ref(engine, ship, "a").waitFor(rest);
    expect((done as any).context.count).toBe(way === "a delivery" ? 102 : 101);
    expect(types(engine).at(-1)).toMatch(way === "a timer" ? /xstate.after/ : /job.done/);
    expect([store.actor("ship/a")?.quarantine, engine.deadLetters(), engine.verify().faults]).toEqual([null, [], []]);
    await engine.close();
  });

  it.each(WAYS)("by %s is released under a new version, through its migration", async (way) => {
    const { store } = place(kind);
    await ways[way](store);
    const before = [store.actor("ship/a"), store.journal("ship/a", { limit: 9 }).map(({ event }) => JSON.parse(event).type)];
    const machine = ship2();
    const engine = await sail(store, machine, { clock: simulatedClock(START_MS + 1000), effects: { job: async () => 1 } });
    expect([store.actor("ship/a"), types(engine)]).toEqual(before);
    await engine.release("ship/a");
    await ref(engine, machine, "a").waitFor((snapshot: any) => snapshot.matches("rest"));
    expect(types(engine)).toContain("engine.migrated");
    expect([engine.deadLetters(), engine.verify().faults]).toEqual([[], []]);
    await engine.close();
  });

  it("is not released by a version that has no way from its own, and nothing is written", async () => {
    const { store } = place(kind);
    await ways["a delivery"](store);
    const before = [all(store, "ship/a"), store.deadLetters({}, { limit: 9 })];
    const engine = await sail(store, ship2(throws));
    expect(await rejection(engine.release("ship/a"))).toMatchObject({ code: "migration_failed" });
    await engine.close();
    const other = await sail(store, shipOf({ version: "2" }));
    expect(await rejection(other.release("ship/a"))).toMatchObject({ code: "machine_version_unknown" });
    expect([all(store, "ship/a"), store.deadLetters({}, { limit: 9 })]).toEqual(before);
    await other.close();
  });

  it("is not released while its journal gives something else", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [add(1)], b: [] });
    const first = await sail(store, deaf);
    await ref(first, deaf, "b").send({ type: "tell", to: "ship/a", event: add(1) } as never);
    await first.close();
    const before = all(store, "ship/a");
    const engine = await sail(store, shipOf({ version: "1", told: (n) => ({ n: n + 1 }) }));
    for (const discard of [false, true])
      expect(await rejection(engine.release("ship/a", { discard }))).toMatchObject({ code: "fold_mismatch" });
    expect(all(store, "ship/a")).toEqual(before);
    await engine.close();
  });

  it("because its snapshot is damaged gets it anew from its journal, with its effects and timers", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [add(1), { type: "work", by: 4 }], b: [{ type: "wait" }] });
    const [sound, timers] = [all(store, "ship/a"), store.timers({}, { limit: 9 })];
    store.write(store.epoch(), (writer) => {
      for (const address of ["ship/a", "ship/b"]) {
        const row = writer.actor(address);
        if (row) writer.putActor({ ...row, snapshot: "{" });
      }
      const effect = writer.effect("ship/a:3:0");
      if (effect) writer.putEffect({ ...effect, params: '{"by":5}' });
      writer.deleteTimer(timers[0]?.key ?? "");
    });
    const engine = await sail(store, ship);
    for (const id of ["a", "b"]) expect(await ref(engine, ship, id).send(add(1) as never)).toMatchObject({ code: "actor_quarantined" });
    await engine.release("ship/a");
    await engine.release("ship/b");
    const [row, ...rows] = sound as [object];
    expect(all(store, "ship/a")).toEqual([{ ...row, epoch: 2 }, ...rows]);
    expect(
      engine
        .timers()
        .map(({ key }) => key)
        .sort(),
    ).toEqual(timers.map(({ key }) => key).sort());
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });
});

/** What is written to, of which the row of this actor cannot be read. */
function unreadable(writer: StoreWriter, address: string): StoreWriter {
  return new Proxy(writer, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (name !== "actor") return typeof value === "function" ? value.bind(target) : value;
      return (given: string) => {
        if (given === address) throw new HoldfastError("storage_failed", "the disk is gone");
        return writer.actor(given);
      };
    },
  });
}

describe.each(STORES)("what waits for an actor that was set aside (%s)", (kind) => {
  /** `ship/a` is set aside, and is told these things. */
  async function waiting(store: Store, events: readonly object[]): Promise<void> {
    await ways["a delivery"](store);
    const engine = await sail(store, deaf);
    for (const event of events) await ref(engine, deaf, "b").send({ type: "tell", to: "ship/a", event } as never);
    await engine.close();
  }
  /** Breaks on a sum of 50 to 99 only. */
  const touchy = shipOf({ version: "1", told: (n) => (n >= 50 && n < 100 ? throws() : { n }) });

  it("is delivered in its order, in one commit, before anything else", async () => {
    const { store } = place(kind);
    await waiting(store, [add(2), add(3)]);
    const engine = await sail(store, ship);
    const a = ref(engine, ship, "a");
    const [, later] = await Promise.all([engine.release("ship/a"), a.send(add(4) as never)]);
    expect(later).toMatchObject({ kind: "accepted", seq: 6 });
    expect(taken(engine)).toEqual([1, 2, 3, 4]);
    expect([engine.deadLetters(), engine.verify().faults]).toEqual([[], []]);
    await engine.close();
  });

  it("keeps it set aside where it still cannot be taken, and nothing is written", async () => {
    const { store } = place(kind);
    await waiting(store, [add(60), add(3)]);
    const before = [all(store, "ship/a"), store.deadLetters({}, { limit: 9 }), store.lastPosition()];
    const engine = await sail(store, touchy);
    expect(await rejection(engine.release("ship/a"))).toMatchObject({ code: "machine_threw" });
    expect([all(store, "ship/a"), store.deadLetters({}, { limit: 9 }), store.lastPosition()]).toEqual(before);
    await engine.close();
  });

  it("is left out with `discard` where it cannot be taken, listed, and the rest is delivered", async () => {
    const { store } = place(kind);
    await waiting(store, [add(60), { type: "none" }, add(3)]);
    const engine = await sail(store, touchy);
    await engine.release("ship/a", { discard: true });
    expect(taken(engine)).toEqual([1, 3]);
    expect(engine.deadLetters().map(({ receiver, reason, event }) => [receiver, reason, JSON.parse(event).by])).toEqual([
      ["ship/a", "event_poisoned", 60],
      ["ship/a", "event_poisoned", undefined],
    ]);
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });

  it("that is ignored, or comes after its end, stays listed with that reason", async () => {
    const { store } = place(kind);
    await waiting(store, [{ type: "wait" }, { type: "end" }, add(1)]);
    const engine = await sail(store, ship);
    await engine.release("ship/a");
    expect(engine.deadLetters().map(({ reason }) => reason)).toEqual(["delivery_ignored", "actor_final"]);
    expect([store.actor("ship/a")?.status, engine.effects(), engine.verify().faults]).toEqual(["final", [], []]);
    await engine.close();
  });

  it("that stays listed is dated no earlier than it was, also where the clock went back", async () => {
    const { store } = place(kind);
    await waiting(store, [{ type: "wait" }]);
    const before = store.deadLetters({}, { limit: 9 }).map(({ atMs }) => atMs);
    const engine = await sail(store, ship, { clock: simulatedClock(START_MS - 5000) });
    await engine.release("ship/a");
    expect(engine.deadLetters().map(({ reason, atMs }) => [reason, atMs])).toEqual([["delivery_ignored", before.at(-1)]]);
    await engine.close();
  });

  it("that makes another actor fail sets that one aside, and is taken all the same", async () => {
    const { store } = place(kind);
    await waiting(store, [{ type: "tell", to: "ship/b", event: add(60) }, add(1)]);
    const engine = await sail(store, touchy);
    await engine.release("ship/a", { discard: true });
    expect(types(engine).slice(2)).toEqual(["add", "tell", "add"]);
    expect(store.actor("ship/b")?.quarantine).toMatchObject({ code: "event_poisoned" });
    expect(engine.deadLetters()).toMatchObject([{ receiver: "ship/b", reason: "actor_quarantined" }]);
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });

  it("that makes its actor tell itself what it cannot take is refused with the release, and left out with `discard`", async () => {
    const { store } = place(kind);
    await waiting(store, [{ type: "tell", to: "ship/a", event: add(60) }, add(3)]);
    const before = [all(store, "ship/a"), store.deadLetters({}, { limit: 9 })];
    const engine = await sail(store, touchy);
    expect(await rejection(engine.release("ship/a"))).toMatchObject({ code: "machine_threw" });
    expect([all(store, "ship/a"), store.deadLetters({}, { limit: 9 })]).toEqual(before);
    await engine.release("ship/a", { discard: true });
    expect(taken(engine)).toEqual([1, 3]);
    expect(engine.deadLetters()).toMatchObject([{ receiver: "ship/a", sender: "ship/b", reason: "event_poisoned" }]);
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });

  it.each([
    ["that its schema has not", (event: string) => event.replace("add", "sub"), "event_unknown"],
    ["that does not fit its schema", (event: string) => event.replace("3", '"3"'), "event_invalid"],
    ["that is no JSON", () => "{", "event_unknown"],
  ])("%s fails the release with its code and its actor, and is left out with `discard`", async (_, damage, code) => {
    const { store } = place(kind);
    await waiting(store, [add(3)]);
    store.write(store.epoch(), (writer) => {
      const { position, ...letter } = writer.deadLetters({}, { limit: 9 }).at(-1) as PlacedDeadLetterRow;
      writer.deleteDeadLetter(position);
      writer.putDeadLetter({ ...letter, event: damage(letter.event) });
    });
    const engine = await sail(store, ship);
    expect(await rejection(engine.release("ship/a"))).toMatchObject({ code, details: { actor: "ship/a" } });
    await engine.release("ship/a", { discard: true });
    expect(taken(engine)).toEqual([1]);
    expect(engine.deadLetters()).toMatchObject([{ receiver: "ship/a", reason: "event_poisoned" }]);
    await engine.close();
  });

  it("is not left out because the store fails, and can be delivered later", async () => {
    const { store } = place(kind);
    await waiting(store, [{ type: "tell", to: "ship/b", event: add(2) }]);
    const before = [all(store, "ship/a"), store.deadLetters({}, { limit: 9 })];
    let fails = true;
    const clock = simulatedClock(START_MS + 1000);
    const failing: Store = new Proxy(store, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (name !== "write") return typeof value === "function" ? value.bind(target) : value;
        return (epoch: number, body: Parameters<Store["write"]>[1]) =>
          store.write(epoch, (writer) => body(fails ? unreadable(writer, "ship/b") : writer));
      },
    });
    const engine = await sail(failing, ship, { clock, start: false });
    expect(await rejection(engine.release("ship/a", { discard: true }))).toMatchObject({ code: "storage_failed" });
    expect([all(store, "ship/a"), store.deadLetters({}, { limit: 9 })]).toEqual(before);
    fails = false;
    await engine.release("ship/a");
    expect(types(engine).slice(2)).toEqual(["add", "tell"]);
    await engine.close();
  });

  it("is delivered also where it was sent in the group of the release, or after a first release in it", async () => {
    const { store } = place(kind);
    await waiting(store, []);
    const engine = await sail(store, ship);
    const [a, b] = [ref(engine, ship, "a"), ref(engine, ship, "b")];
    const tell = (by: number) => b.send({ type: "tell", to: "ship/a", event: add(by) } as never);
    const again = (promise: Promise<unknown>) =>
      promise.then(
        () => "released",
        ({ code }) => code,
      );
    const answers = await Promise.all([
      b.send(add(9) as never).then(({ kind: answer }) => answer),
      tell(2),
      again(engine.release("ship/a")),
      a.send(add(3) as never),
      again(engine.release("ship/a")),
      tell(4),
    ]);
    expect([answers[0], answers[2], answers[4]]).toEqual(["accepted", "released", "actor_not_quarantined"]);
    expect(taken(engine)).toEqual([1, 2, 3, 4]);
    expect([engine.deadLetters(), engine.verify().faults]).toEqual([[], []]);
    await engine.close();
  });

  it("is delivered where it is set aside and released in one group", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [add(1)], b: [] });
    let broken = true;
    const moody = shipOf({ version: "1", told: (n) => (broken && n > 40 ? throws() : { n }) });
    const engine = await sail(store, moody);
    const tell = (by: number) => ref(engine, moody, "b").send({ type: "tell", to: "ship/a", event: add(by) } as never);
    const mend = ref(engine, moody, "b").send(add(0) as never);
    const [, , , , refused] = await Promise.all([
      mend,
      ref(engine, moody, "a").send(add(5) as never),
      tell(40),
      tell(1),
      rejection(engine.release("ship/a")),
    ]);
    expect(refused).toMatchObject({ code: "machine_threw" });
    broken = false;
    await Promise.all([ref(engine, moody, "b").send(add(1) as never), engine.release("ship/a"), tell(2)]);
    expect(taken(engine)).toEqual([5, 40, 1, 2]);
    expect([engine.deadLetters(), engine.verify().faults]).toEqual([[], []]);
    await engine.close();
  });
});

describe.each(STORES)("a release (%s)", (kind) => {
  const quarantine = { code: "event_poisoned", message: "by hand", atMs: 1 };
  /** Changes the row of `ship/a` without the engine. */
  const change = (store: Store, changed: object): void =>
    store.write(store.epoch(), (writer) => {
      const row = writer.actor("ship/a");
      if (row) writer.putActor({ ...row, ...changed });
    });

  it.each<[string, string, string | number, string]>([
    ["says that it is of another machine", "machine", "boat", "snapshot_damaged"],
    ["says that it has another id", "id", "z", "snapshot_damaged"],
    ["is behind its journal", "seq", 1, "row_missing"],
    ["is further on than its journal", "seq", 7, "row_missing"],
    ["has not the hash of its last entry", "hash", "0", "snapshot_damaged"],
  ])("of an actor whose row %s is refused, and nothing is written", async (_, column, value, code) => {
    const { store, file } = place(kind);
    await harbour(store, { a: [add(1)] });
    change(store, { ...(file === undefined ? { [column]: value } : {}), quarantine });
    if (file !== undefined) {
      // What a row is found by no store changes.
      const db = new Database(file);
      db.prepare(`UPDATE actors SET ${column} = ? WHERE address = 'ship/a'`).run(value);
      db.close();
    }
    const before = all(store, "ship/a");
    const engine = await sail(store, ship);
    for (const discard of [false, true]) expect(await rejection(engine.release("ship/a", { discard }))).toMatchObject({ code });
    expect(all(store, "ship/a")).toEqual(before);
    await engine.close();
  });

  it("of an actor whose machine is not registered is refused", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [] });
    change(store, { quarantine });
    const engine = await sail(store, thing({}));
    expect(await rejection(engine.release("ship/a"))).toMatchObject({ code: "machine_unknown" });
    await engine.close();
  });

  it("of an actor whose journal comes to no state is refused", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [] });
    const { hash } = store.actor("ship/a") as ActorRow;
    const content = { atMs: START_MS, version: "2", cause: '{"kind":"engine"}', facts: "[]", actions: "[]" };
    const entry = makeEntry(hash, "ship/a", 2, { ...content, event: '{"type":"engine.discarded"}' });
    store.write(store.epoch(), (writer) => appendRow(writer, entry));
    change(store, { version: "2", seq: 2, hash: entry.hash, quarantine });
    const engine = await sail(store, ship2());
    expect(await rejection(engine.release("ship/a"))).toMatchObject({ code: "machine_version_unknown" });
    await engine.close();
  });

  it("takes times and epoch of an actor from its journal, and nothing from a row that has them wrong", async () => {
    const { store } = place(kind);
    const clock = simulatedClock();
    const first = await sail(store, ship, { clock });
    const a = await first.create(ship, "a", { input: { start: 1 } as never });
    clock.advance(5);
    await a.send(add(1) as never);
    await first.close();
    const sound = store.actor("ship/a");
    change(store, { createdMs: 7, updatedMs: 8, epoch: 99, quarantine });
    const engine = await sail(store, ship, { clock });
    await engine.release("ship/a");
    expect(store.actor("ship/a")).toEqual({ ...sound, epoch: engine.epoch });
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });

  it("of an actor that a newer version has brought on is refused, whatever its row says", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [add(1)] });
    await (await sail(store, ship2())).close();
    change(store, { version: "1", quarantine });
    const before = all(store, "ship/a");
    const engine = await sail(store, ship);
    expect(await rejection(engine.release("ship/a"))).toMatchObject({ code: "machine_version_unknown" });
    expect(all(store, "ship/a")).toEqual(before);
    await engine.close();
  });

  it("sets an absolute timer by its entry, and the others as their rows have them, which may have been put off", async () => {
    const { store } = place(kind);
    const delays = { fixed: 1000, short: 2000, long: 3000 };
    const after = Object.fromEntries(Object.keys(delays).map((name) => [name, { target: "two" }]));
    const waits = inState({ after }, { delays, schemas: { delays: { short: "remaining", long: "remaining" } } });
    const engine = await open(store, { machines: [waits], clock: simulatedClock() });
    const { address } = await engine.create(waits, "a", { input: {} as never });
    const due = () => engine.timers().map(({ delay, dueMs }) => [delay, dueMs - START_MS]);
    await engine.setAside(address, "event_poisoned", "by hand");
    store.write(store.epoch(), (writer) => {
      for (const timer of engine.timers()) writer.putTimer({ ...timer, dueMs: timer.dueMs + timer.delayMs });
    });
    await engine.release(address);
    expect(due().sort()).toEqual([["fixed", 1000], ["long", 6000], ["short", 4000]]); // biome-ignore format: pairs
    expect(engine.verify().faults).toEqual([]);
  });

  it("with `discard` touches no other effect and no timer of an actor that an effect has poisoned", async () => {
    const { store } = place(kind);
    const job = { params: z.strictObject({ name: z.string() }), done: "job.done", delivery: "at_least_once" };
    const two = inState(
      {
        entry: ["good", "bad"].map((name) => ({ type: "job", params: { name } })),
        after: { long: { target: "two" } },
        on: { "job.done": { actions: assign(throws) } },
      },
      { schemas: { effects: { job } }, delays: { long: 1000 }, actions: { job: effect() } },
    );
    const { handler, called } = held();
    const engine = await open(store, { machines: [two], clock: simulatedClock(), effects: { job: handler } as never });
    const a = await engine.create(two, "a", { input: {} as never });
    (await called(2)).resolve(1);
    await rejection(a.waitFor(() => false));
    await engine.release(a.address, { discard: true });
    expect(engine.effects().map(({ params, state }) => [JSON.parse(params).name, state])).toEqual([
      ["good", "open"],
      ["bad", "exhausted"],
    ]);
    expect([types(engine, a.address), engine.timers().length]).toEqual([["xstate.init"], 1]);
  });

  it("with `discard` counts the timer that it ends no more", async () => {
    const { store } = place(kind);
    const clock = simulatedClock();
    const engine = await openTimed(store, clock);
    const a = await makeTimed(engine, "a", { type: "poisoned" }, { type: "remind.many", count: TIMERS_LIMIT - 1 });
    clock.advance(WAIT_MS);
    await rejection(a.waitFor(() => false));
    const [, answer] = await Promise.all([engine.release(a.address, { discard: true }), a.send({ type: "remind.once" } as never)]);
    expect(answer).toMatchObject({ kind: "accepted" });
  });

  it("with `discard` leaves an at-most-once effect that poisons unknown", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [] });
    const engine = await sail(store, clumsy, { effects: { once: async () => 1 } });
    const a = ref(engine, clumsy, "a");
    await a.send({ type: "once", by: 1 } as never);
    await rejection(a.waitFor(() => false));
    await engine.release("ship/a", { discard: true });
    expect(engine.effects().map(({ key, state }) => [key, state])).toEqual([["ship/a:2:0", "unknown"]]);
    await engine.close();
  });

  it("with `discard` ends the timer that poisons, in an entry that the fold holds", async () => {
    const { store } = place(kind);
    await ways["a timer"](store);
    const clock = simulatedClock(START_MS + 2000);
    const engine = await sail(store, clumsy, { clock });
    await engine.release("ship/a", { discard: true });
    expect(journal(engine, "ship/a").at(-1)).toMatchObject({
      event: { type: "engine.discarded" },
      cause: { kind: "timer", timer: "ship/a:2:0" },
      facts: [],
      actions: [],
    });
    expect(engine.timers().map(({ key, state }) => [key, state])).toEqual([["ship/a:2:1", "armed"]]);
    expect(store.actor("ship/a")?.quarantine).toBeNull();
    // The other one goes on, and fires.
    clock.advance(3000);
    await ref(engine, clumsy, "a").waitFor((snapshot: any) => snapshot.matches("rest"));
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });

  it("with `discard` leaves the effect that poisons listed, for a person to settle", async () => {
    const { store } = place(kind);
    await ways["a result"](store);
    const engine = await sail(store, clumsy, { effects: { job: async () => 1 } });
    await engine.release("ship/a", { discard: true });
    expect([engine.effects().map(({ state }) => state), store.actor("ship/a")?.quarantine]).toEqual([["exhausted"], null]);
    await engine.close();
    const mended = await sail(store, ship, { effects: { job: async () => 1 } });
    await mended.retry("ship/a:2:0");
    await ref(mended, ship, "a").waitFor((snapshot: any) => snapshot.matches("rest"));
    expect(mended.verify().faults).toEqual([]);
    await mended.close();
  });

  it("tells the machine that the outcome of an effect that was started is unknown", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [], b: [] });
    const points = faultPoints();
    const first = await sail(store, deaf, { probe: points.probe });
    const started = points.reached("effect.before");
    await ref(first, deaf, "a").send({ type: "once", by: 1 } as never);
    await started;
    await ref(first, deaf, "b").send({ type: "tell", to: "ship/a", event: add(1) } as never);
    await first.close();
    const engine = await sail(store, ship);
    expect(engine.effects().map(({ state }) => state)).toEqual(["started"]);
    await engine.release("ship/a");
    expect(types(engine)).toEqual(["xstate.init", "once", "add", "effect.unknown"]);
    expect([engine.effects(), engine.verify().faults]).toEqual([[], []]);
    await engine.close();
  });

  it("settles nothing of another actor", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [], b: [{ type: "once", by: 1 }] });
    store.write(store.epoch(), (writer) => {
      const row = writer.effect("ship/b:2:0");
      if (row) writer.putEffect({ ...row, state: "started" });
    });
    const engine = await sail(store, ship, { start: false });
    await engine.setAside("ship/a", "snapshot_damaged", "damaged");
    await engine.release("ship/a");
    expect(engine.effects()).toMatchObject([{ key: "ship/b:2:0", state: "started" }]);
    await engine.close();
  });

  it("in the group that set the actor aside leaves its at-most-once handler at work, and never starts it again", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [], b: [] });
    const touchy = shipOf({ version: "1", told: (n) => (n >= 50 && n < 100 ? throws() : { n }) });
    const once = held();
    const engine = await sail(store, touchy, { effects: { once: once.handler } });
    const a = ref(engine, touchy, "a");
    await a.send({ type: "once", by: 1 } as never);
    const handler = await once.called(1);
    // Touched by nothing else since it was admitted: what is remembered of it says what its row says.
    await Promise.all([
      ref(engine, touchy, "b").send({ type: "tell", to: "ship/a", event: add(60) } as never),
      engine.release("ship/a", { discard: true }),
    ]);
    await flushed();
    expect([once.calls.length, handler.call.signal.aborted]).toEqual([1, false]);
    expect(engine.effects()).toMatchObject([{ key: "ship/a:2:0", state: "started" }]);
    handler.resolve(1);
    await a.waitFor((snapshot: any) => snapshot.matches("rest"));
    expect(types(engine)).toEqual(["xstate.init", "once", "job.done"]);
    expect([once.calls.length, engine.effects(), engine.verify().faults]).toEqual([1, [], []]);
    await engine.close();
  });

  it("with `discard` leaves out the notice that poisons in an entry, and the notice counts as told", async () => {
    const { store } = place(kind);
    let isHurt = true;
    const deep = thing(
      {
        initial: "one",
        on: {
          "step.on": { actions: { type: "deliver", params: { to: "thing/a", event: { type: "more" } } } },
          more: { actions: "stumble" },
          "engine.reopened": { actions: "wake" },
        },
        states: { one: {} },
      },
      {
        schemas: { events: { "step.on": nothing, more: nothing, "engine.reopened": z.looseObject({}) } },
        actions: { stumble: assign(() => (isHurt ? throws() : {})), wake: assign(throws) },
      },
    );
    const first = await open(store, { machines: [deep] });
    for (const id of ["a", "b"]) await first.create(deep, id, { input: {} as never });
    const poison = (engine: Engine) => ref(engine, deep, "b").send({ type: "step.on" } as never);
    await poison(first);
    await first.close();
    // The other is poisoned by the opening itself.
    const engine = await open(store, { machines: [deep] });
    for (const actor of ["thing/a", "thing/b"]) expect(await rejection(engine.release(actor))).toMatchObject({ code: "machine_threw" });
    await engine.release("thing/a", { discard: true });
    await engine.release("thing/b", { discard: true });
    const notice = { event: { type: "engine.discarded", event: { type: "engine.reopened", epoch: 2 } }, cause: { kind: "engine" } };
    expect(journal(engine, "thing/a").slice(1)).toMatchObject([notice]);
    expect(journal(engine, "thing/b").slice(2)).toMatchObject([notice]);
    expect(engine.list().map(({ epoch, quarantine }) => [epoch, quarantine])).toEqual(Array(2).fill([2, null]));
    await poison(engine);
    expect(store.actor("thing/a")?.quarantine).toMatchObject({ code: "event_poisoned" });
    isHurt = false;
    await engine.release("thing/a");
    expect(types(engine, "thing/a").slice(1)).toEqual(["engine.discarded", "more"]);
    expect(engine.verify().faults).toEqual([]);
  });

  it("works for an event of any length, of which the record of a quarantine keeps the beginning only", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [{ type: "work", by: 1 }], b: [] });
    // Its 4,096th character is the first half of one that has two.
    const output = "🙂".repeat(50_000);
    const results = ["", "."].map((before) => async () => before + output);
    for (const job of results) {
      const engine = await sail(store, clumsy, { effects: { job } });
      if (job === results[1]) await engine.release("ship/a").catch(() => undefined);
      await rejection(ref(engine, clumsy, "a").waitFor(() => false));
      const { event = "", source } = store.actor("ship/a")?.quarantine ?? {};
      expect([event.length, event.isWellFormed(), event.slice(0, 28), source]).toEqual([
        4096,
        true,
        expect.stringContaining('{"type":"job.done","output":'),
        "ship/a:2:0",
      ]);
      await engine.close();
    }
    const engine = await sail(store, ship, { effects: { job: async () => output } });
    await engine.release("ship/a");
    await ref(engine, ship, "a").waitFor((snapshot: any) => snapshot.matches("rest"));
    expect(journal(engine, "ship/a").at(-1)?.cause).toEqual({ kind: "result", effect: "ship/a:2:0" });
    expect([store.actor("ship/a")?.quarantine, engine.verify().faults]).toEqual([null, []]);
    await engine.close();
  });

  it("tells an actor of the ownership that began while it was set aside, once, after its letters", async () => {
    const { store } = place(kind);
    const first = await open(store);
    const [a, b] = [await make(first, "a"), await make(first, "b")];
    await a.send({ type: "count.say", to: b.address, event: { type: "assign.throw" } });
    await a.send({ type: "count.tell", to: b.address, by: 3 });
    await first.close();
    const engine = await open(store);
    expect(journal(engine, "counter/b").map(({ event }) => event.type)).toEqual(["xstate.init"]);
    await engine.release("counter/b", { discard: true });
    expect(journal(engine, "counter/b").map(({ event }) => event.type)).toEqual(["xstate.init", "count.added", "engine.reopened"]);
    expect(engine.verify().faults).toEqual([]);
  });

  it("of an actor that is not there, healthy, final or parked is refused, with the code", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [], d: [{ type: "end" }] });
    const before = all(store, "ship/a");
    const engine = await sail(store, ship);
    for (const [actor, code] of [
      ["ship/none", "actor_not_found"],
      ["ship/a", "actor_not_quarantined"],
      ["ship/d", "actor_not_quarantined"],
      ["", "actor_not_found"],
    ])
      expect(await rejection(engine.release(actor as string))).toMatchObject({ code });
    await engine.close();
    const parked = await sail(store, shipOf({ version: "2" }));
    expect(await rejection(parked.release("ship/a"))).toMatchObject({ code: "actor_not_quarantined" });
    expect(all(store, "ship/a")).toEqual(before);
    await parked.close();
  });

  it("that is refused does not bring an actor of an older version to its machine's own", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [add(1)] });
    const before = all(store, "ship/a");
    const engine = await sail(store, ship2(), { start: false });
    expect(await rejection(engine.release("ship/a"))).toMatchObject({ code: "actor_not_quarantined" });
    expect(all(store, "ship/a")).toEqual(before);
    await engine.close();
    await (await sail(store, ship)).close();
  });

  it("that is refused leaves no trace of what was tried", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [add(1)] });
    store.write(store.epoch(), (writer) => {
      const row = writer.actor("ship/a");
      if (row) writer.putActor({ ...row, snapshot: "{" });
    });
    await (await sail(store, ship2())).close();
    const before = all(store, "ship/a");
    expect(before).toMatchObject([{ quarantine: { code: "snapshot_damaged" } }, {}, {}, {}]);
    // The journal of an older version cannot be folded: what it came to is lost with its snapshot.
    const engine = await sail(store, ship2(), { clock: simulatedClock(START_MS + 5) });
    expect(await rejection(engine.release("ship/a"))).toMatchObject({ code: "snapshot_damaged" });
    expect(all(store, "ship/a")).toEqual(before);
    await engine.close();
  });

  it("that cannot be committed changes nothing, and can be asked for again", async () => {
    const { store } = place(kind);
    await ways["a delivery"](store);
    const before = [all(store, "ship/a"), store.deadLetters({}, { limit: 9 })];
    const points = faultPoints();
    const engine = await sail(store, ship, { probe: points.probe });
    points.throwAt("commit.inside", new Error("disk"));
    expect(await rejection(engine.release("ship/a"))).toMatchObject({ code: "storage_failed" });
    expect([all(store, "ship/a"), store.deadLetters({}, { limit: 9 })]).toEqual(before);
    await engine.release("ship/a");
    expect(types(engine)).toEqual(["xstate.init", "work", "add"]);
    await engine.close();
  });
});
