import { describe, expect, it } from "vitest";
import { assign } from "xstate";
import { z } from "zod";
import { effect } from "../../machines/action.ts";
import { type CheckGround, checkActor } from "../../src/actor/actor-check.ts";
import { type Fault, fold } from "../../src/actor/fold.ts";
import { register } from "../../src/actor/registration.ts";
import type { ActorRow, EffectRow, PlacedJournalRow, Store, StoreReader, StoreWriter, TimerRow } from "../../src/actor/store.ts";
import { simulatedClock } from "../../src/testing/index.ts";
import { open, place } from "./counter.ts";
import { thing } from "./thing.ts";

const job = { params: z.strictObject({ n: z.number() }), done: "job.done", delivery: "at_least_once" };

/** Waits with an effect and two timers, of which one counts the time without an owner; `more` ends it. */
const waiting = (version: string, migrations: object = {}) =>
  thing(
    {
      version,
      context: { n: 0 },
      initial: "one",
      states: {
        one: {
          entry: { type: "job", params: { n: 1 } },
          after: { soon: "two", late: "two" },
          on: { go: { actions: assign({ n: ({ context }: any) => context.n + 1 }) }, more: "two" },
        },
        two: { type: "final" },
      },
    },
    {
      schemas: { effects: { job }, delays: { late: "restart" }, migrations },
      actions: { job: effect() },
      delays: { soon: 1000, late: 2000 },
    },
  );
const machine = waiting("1");
const later = waiting("2", { 1: { to: "2", migrate: (stored: any) => ({ ...stored, context: { n: 10 } }) } });
const enclose = <T>(transition: () => T): T => transition();
const key = "thing/a:1:0";

async function opened(store: Store, version: typeof machine) {
  return open(store, { machines: [version], effects: { job: () => new Promise(() => {}) }, clock: simulatedClock() });
}

/** A sound actor with an identity, two entries, an effect and two timers. */
async function sound() {
  const { store } = place();
  const engine = await opened(store, machine);
  const actor = await engine.create(machine, "a", { input: {}, keys: ["order/1"] });
  await actor.send({ type: "go" } as never);
  const row = store.actor(actor.address) as ActorRow;
  const ground: CheckGround = { reader: store, registrations: new Map([["thing", register(machine)]]), enclose, unknown: "fault" };
  const tamper = (act: (writer: StoreWriter) => void) => store.write(store.epoch(), act);
  return { store, engine, actor, row, ground, tamper };
}

const told = (faults: Iterable<Fault>) => [...faults].map(({ code, actor, seq }) => [code, actor, seq]);

/** The store, but for what this says of it. */
const lying = (store: Store, about: Partial<StoreReader>): StoreReader =>
  new Proxy(store, { get: (from, part) => about[part as "epoch"] ?? (from[part as "epoch"] as () => number).bind?.(from) });

/** Its journal, each entry of which is changed. */
const journalOf = (store: Store, change: (entry: PlacedJournalRow) => Partial<PlacedJournalRow>) =>
  lying(store, { journal: (actor, page) => store.journal(actor, page).map((entry) => ({ ...entry, ...change(entry) })) });

describe("a sound actor", () => {
  it("has no fault, by its machine or by its chain alone", async () => {
    const { row, ground } = await sound();
    expect(told(checkActor(row, ground))).toEqual([]);
    expect(told(checkActor(row, { ...ground, registrations: new Map(), unknown: "skip" }))).toEqual([]);
  });

  it("has no fault where its journal was folded before, and is not read again", async () => {
    const { store, row, ground } = await sound();
    const known = fold(
      { registration: register(machine), actor: row.address, reader: store, enclose },
      store.journal(row.address, { limit: 9 }),
    );
    const turned = journalOf(store, ({ seq }) => ({ position: -seq }));
    expect(told(checkActor(row, { ...ground, reader: turned }, known))).toEqual([]);
    expect(told(checkActor(row, ground, { ...known, seq: 1 }))).toEqual([["row_missing", row.address, 2]]);
  });

  it("has no fault where a timer that does not count the time without an owner was put off", async () => {
    const { store, row, ground, tamper } = await sound();
    const late = store.timers({}, { limit: 9 }).find(({ delay }) => delay === "late") as TimerRow;
    tamper((writer) => writer.putTimer({ ...late, dueMs: late.dueMs + 1 }));
    expect(told(checkActor(row, ground))).toEqual([]);
  });

  it("has no fault where a later version of its machine has gone on with it", async () => {
    const { store, engine, actor, ground } = await sound();
    await engine.close();
    await opened(store, later);
    const row = store.actor(actor.address) as ActorRow;
    expect([row.version, row.seq]).toEqual(["2", 3]);
    expect(told(checkActor(row, ground))).toEqual([]);
    expect(told(checkActor(row, { ...ground, registrations: new Map([["thing", register(later)]]) }))).toEqual([]);
  });
});

describe("an actor has a fault, and its place is named, where its row says", () => {
  it.each<[string, (row: ActorRow) => Partial<ActorRow>, string, number | null]>([
    ["another id", () => ({ id: "z" }), "snapshot_damaged", null],
    ["an epoch that has not come", ({ epoch }) => ({ epoch: epoch + 1 }), "snapshot_damaged", null],
    ["a lower revision", () => ({ seq: 1 }), "row_missing", 2],
    ["a higher revision", () => ({ seq: 3 }), "row_missing", 3],
    ["another hash", ({ hash }) => ({ hash: hash.replace(/^./, "x") }), "snapshot_damaged", 2],
    ["another version", () => ({ version: "2" }), "snapshot_damaged", 2],
    ["that it was created at another time", ({ createdMs }) => ({ createdMs: createdMs + 1 }), "snapshot_damaged", 1],
    ["that it was changed at another time", ({ updatedMs }) => ({ updatedMs: updatedMs + 1 }), "snapshot_damaged", 1],
    ["a snapshot that is no JSON", () => ({ snapshot: "{" }), "snapshot_damaged", 2],
    ["another snapshot", ({ snapshot }) => ({ snapshot: snapshot.replace('"n":1', '"n":2') }), "snapshot_damaged", 2],
    ["another status", () => ({ status: "final" as const }), "snapshot_damaged", 2],
    ["another state", () => ({ state: "two" }), "snapshot_damaged", 2],
  ])("%s", async (_, change, code, seq) => {
    const { row, ground } = await sound();
    expect(told(checkActor({ ...row, ...change(row) }, ground))).toEqual([[code, row.address, seq]]);
  });

  it("a machine that nobody knows", async () => {
    const { row, ground } = await sound();
    expect(told(checkActor(row, { ...ground, registrations: new Map() }))).toEqual([["machine_unknown", row.address, null]]);
  });

  it("the version of its machine, and its entries another: its rows are not held against a fold that there is not", async () => {
    const { row, ground } = await sound();
    const wrong = { ...row, version: "2" };
    const registrations = new Map([["thing", register(later)]]);
    expect(told(checkActor(wrong, { ...ground, registrations }))).toEqual([["snapshot_damaged", row.address, 2]]);
  });
});

describe("an actor has a fault where its journal", () => {
  it("was changed, also where its machine is not known", async () => {
    const { store, row, ground } = await sound();
    const reader = journalOf(store, ({ seq }) => (seq === 2 ? { facts: "[1]" } : {}));
    const fault = [["journal_damaged", row.address, 2]];
    expect(told(checkActor(row, { ...ground, reader }))).toEqual(fault);
    expect(told(checkActor(row, { ...ground, reader, registrations: new Map(), unknown: "skip" }))).toEqual(fault);
  });

  it.each([
    ["before", -1],
    ["at", 0],
  ])("has an entry %s the place of the one that it follows", async (_, further) => {
    const { store, row, ground } = await sound();
    const reader = journalOf(store, ({ seq }) => ({ position: seq === 1 ? 7 : 7 + further }));
    expect(told(checkActor(row, { ...ground, reader }))).toEqual([["journal_damaged", row.address, 2]]);
  });

  it("has no entry, and its row says so", async () => {
    const { store, row, ground } = await sound();
    const reader = lying(store, { journal: () => [] });
    const fault = [["row_missing", row.address, 1]];
    const born = { ...row, seq: 0, hash: "", version: "" };
    expect(told(checkActor(born, { ...ground, reader }))).toEqual(fault);
    expect(told(checkActor(born, { ...ground, reader, registrations: new Map(), unknown: "skip" }))).toEqual(fault);
  });

  it("is that of one that was deleted", async () => {
    const { store, row, actor, ground, tamper } = await sound();
    await actor.send({ type: "more" } as never);
    await actor.delete();
    tamper((writer) => writer.putActor(row));
    expect(store.actor(row.address)?.seq).toBe(2);
    expect(told(checkActor(row, ground))).toEqual([
      ["row_unexpected", row.address, null],
      ["row_missing", row.address, 2],
    ]);
  });
});

describe("an actor has a fault where beside it", () => {
  it("its identity is another's", async () => {
    const { store, row, ground } = await sound();
    const reader = lying(store, { identity: () => "thing/b" });
    expect(told(checkActor(row, { ...ground, reader }))).toEqual([["row_missing", row.address, 1]]);
  });

  const effectOf = (store: Store) => store.effect(key) as EffectRow;
  const timerOf = (store: Store) => store.timers({}, { limit: 9 }).find(({ delay }) => delay === "soon") as TimerRow;

  it.each<[string, (writer: StoreWriter, store: Store) => void, string, number]>([
    ["it has one too many", (writer) => writer.putIdentity("order/2", "thing/a"), "row_unexpected", 1],
    ["its effect is missing", (writer) => writer.deleteEffect(key), "row_missing", 2],
    ["its effect is another", (writer, store) => writer.putEffect({ ...effectOf(store), name: "nap" }), "journal_damaged", 2],
    ["its effect has other params", (writer, store) => writer.putEffect({ ...effectOf(store), params: "{}" }), "journal_damaged", 2],
    ["its effect has another scope", (writer, store) => writer.putEffect({ ...effectOf(store), scope: "" }), "journal_damaged", 2],
    ["its effect is a child's", (writer, store) => writer.putEffect({ ...effectOf(store), child: "kid" }), "journal_damaged", 2],
    ["there is one effect more", (writer, store) => writer.putEffect({ ...effectOf(store), key: "thing/a:2:0" }), "row_unexpected", 2],
    ["its timer is missing", (writer, store) => writer.deleteTimer(timerOf(store).key), "row_missing", 2],
    ["its timer has another id", (writer, store) => writer.putTimer({ ...timerOf(store), id: "mine" }), "journal_damaged", 2],
    ["its timer has another event", (writer, store) => writer.putTimer({ ...timerOf(store), event: "{}" }), "journal_damaged", 2],
    ["its timer is of another delay", (writer, store) => writer.putTimer({ ...timerOf(store), delay: "late" }), "journal_damaged", 2],
    ["its timer waits longer", (writer, store) => writer.putTimer({ ...timerOf(store), delayMs: 1 }), "journal_damaged", 2],
    ["its timer is due at another time", (writer, store) => writer.putTimer({ ...timerOf(store), dueMs: 1 }), "journal_damaged", 2],
    ["its timer has another policy", (writer, store) => writer.putTimer({ ...timerOf(store), policy: "remaining" }), "journal_damaged", 2],
    ["there is one timer more", (writer, store) => writer.putTimer({ ...timerOf(store), key: "thing/a:2:0" }), "row_unexpected", 2],
  ])("%s", async (_, spoil, code, seq) => {
    const { store, row, ground, tamper } = await sound();
    tamper((writer) => spoil(writer, store));
    expect(told(checkActor(row, ground))).toEqual([[code, row.address, seq]]);
  });
});
