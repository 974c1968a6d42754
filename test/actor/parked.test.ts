import { describe, expect, it, vi } from "vitest";
import { type Engine, openEngine, registerAll } from "../../src/actor/engine.ts";
import type { Store } from "../../src/actor/store.ts";
import { checkUpgrade } from "../../src/actor/upgrade.ts";
import { faultPoints, simulatedClock } from "../../src/testing/index.ts";
import { journal, place, rejection, STORES } from "./counter.ts";
import { all, harbour, moved, NEW, sail, ship, ship2, shipOf } from "./ship.ts";

const ref = (engine: Engine, machine: typeof ship, id: string) => engine.get(machine, id) as NonNullable<ReturnType<Engine["get"]>>;
const send = (engine: Engine, machine: typeof ship, id: string, event: object) => ref(engine, machine, id).send(event as never);
const types = (engine: Engine, actor: string) => journal(engine, actor).map(({ event }) => event.type);

/** A change of the definition that changes nothing of what it does, and one that does. */
const tagged = shipOf({ version: "1", tags: ["quiet"] });
const louder = shipOf({ version: "1", tags: ["loud"], told: (n) => ({ n: n + 1 }) });

describe.each(STORES)("a machine that was changed under the same version (%s)", (kind) => {
  it("parks its unfinished actors as machine_changed, alone, and leaves their rows", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [{ type: "work", by: 1 }] });
    const before = all(store, "ship/a");
    const points = faultPoints();
    const engine = await sail(store, tagged, { probe: points.probe });
    expect(await send(engine, tagged, "a", { type: "add", by: 1 })).toMatchObject({ kind: "refused", code: "machine_changed" });
    const fresh = await engine.create(tagged, "b", { input: { start: 1 } as never });
    expect(await fresh.send({ type: "add", by: 1 } as never)).toMatchObject({ kind: "accepted" });
    await engine.recover();
    // Only the handler of another starts.
    const started = points.reached("effect.before");
    await fresh.send({ type: "work", by: 1 } as never);
    expect((await started).effect?.actor).toBe("ship/b");
    expect([all(store, "ship/a"), points.count("effect.before")]).toEqual([before, 1]);
    await engine.close();
  });

  it("tells those who look at a parked actor or wait for it, and says at the opening that there are any", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [] });
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const engine = await sail(store, tagged);
    const said = warn.mock.calls.map(([text]) => String(text));
    warn.mockRestore();
    expect(said).toEqual([expect.stringContaining("ship, version 1, are parked as machine_changed (ship/a)")]);
    const actor = ref(engine, tagged, "a");
    expect(actor.can({ type: "add", by: 1 } as never)).toBe(false);
    expect(await rejection(actor.waitFor(() => false))).toMatchObject({ code: "machine_changed" });
    const told = Promise.withResolvers<unknown>();
    actor.subscribe({ error: told.resolve });
    expect(await told.promise).toMatchObject({ code: "machine_changed" });
    await engine.close();
  });

  it("is accepted with `refold` where its journals give the same facts, requests and snapshots", async () => {
    const { store } = place(kind);
    await harbour(store, {
      a: [
        { type: "add", by: 1 },
        { type: "work", by: 2 },
      ],
    });
    const engine = await sail(store, tagged, { changed: "refold", effects: { job: async () => 1 } });
    await ref(engine, tagged, "a").waitFor((snapshot: any) => snapshot.matches("rest"));
    expect(types(engine, "ship/a")).toEqual(["xstate.init", "add", "work", "job.done"]);
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
    // It is of the new definition now, so nobody needs to ask again.
    const again = await sail(store, tagged);
    expect(await send(again, tagged, "a", { type: "add", by: 1 })).toMatchObject({ kind: "accepted" });
    await again.close();
  });

  it("is accepted with `refold` with another policy of a delay, which its timers take over", async () => {
    const { store } = place(kind);
    const policed = (soon?: string) => shipOf({ version: "1", schemas: soon === undefined ? {} : { delays: { soon } } });
    await harbour(store, { a: [{ type: "wait" }] }, policed("restart"));
    const due = () => store.timers({ actor: "ship/a" }, { limit: 9 }).map((row) => [row.delay, row.policy, row.dueMs]);
    const startMs = simulatedClock().now();
    const restart = async (machine: typeof ship, lateMs: number) => {
      const engine = await sail(store, machine, { changed: "refold", clock: simulatedClock(startMs + lateMs) });
      expect([await send(engine, machine, "a", { type: "add", by: 1 }), engine.verify().faults]).toMatchObject([{ kind: "accepted" }, []]);
      await engine.close();
      return due()[0];
    };
    expect(await restart(policed("restart"), 300)).toEqual(["soon", "restart", startMs + 1300]);
    expect(await restart(policed("remaining"), 500)).toEqual(["soon", "remaining", startMs + 1500]);
    const reports = [...checkUpgrade(store, registerAll([policed()]), (transition) => transition(), "refold")];
    expect(reports).toMatchObject([{ actor: "ship/a", verdict: "same" }]);
    expect(await restart(policed(), 600)).toEqual(["soon", "absolute", startMs + 1000]);
    expect(await restart(policed(), 700)).toEqual(["soon", "absolute", startMs + 1000]);
  });

  it("is accepted with `refold` as it is stored, also where a timer's row is damaged: verify tells of that", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [{ type: "wait" }] });
    const [armed] = store.timers({ actor: "ship/a" }, { limit: 9 });
    const later = (armed?.dueMs ?? 0) + 1;
    store.write(store.epoch(), (writer) => {
      const row = writer.timers({ actor: "ship/a" }, { limit: 9 })[0];
      if (row) writer.putTimer({ ...row, dueMs: later });
    });
    const engine = await sail(store, tagged, { changed: "refold", clock: simulatedClock() });
    expect(await send(engine, tagged, "a", { type: "add", by: 1 })).toMatchObject({ kind: "accepted" });
    expect(engine.timers()[0]?.dueMs).toBe(later);
    expect(engine.verify().faults).toMatchObject([{ code: "journal_damaged", actor: "ship/a" }]);
    await engine.close();
  });

  it("parks with `refold` those whose journals give something else, and no others", async () => {
    const { store } = place(kind);
    // What c was sent last changes nothing but what it states.
    await harbour(store, { a: [{ type: "add", by: 1 }], b: [], c: [{ type: "add", by: 0 }] });
    const rows = () => ["ship/a", "ship/c"].map((actor) => all(store, actor));
    const before = rows();
    const engine = await sail(store, louder, { changed: "refold" });
    const answers = ["a", "b", "c"].map((id) => send(engine, louder, id, { type: "add", by: 1 }));
    expect(await Promise.all(answers)).toMatchObject([{ code: "machine_changed" }, { kind: "accepted" }, { code: "machine_changed" }]);
    expect(rows()).toEqual(before);
    await engine.close();
  });

  it("is no change for rows that were written before definitions were recorded", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [{ type: "work", by: 1 }] });
    store.write(store.epoch(), (writer) => {
      const row = writer.actor("ship/a");
      if (row) writer.putActor({ ...row, definition: "" });
    });
    const engine = await sail(store, tagged, { effects: { job: async () => 1 } });
    await ref(engine, tagged, "a").waitFor((snapshot: any) => snapshot.matches("rest"));
    expect(store.actor("ship/a")?.definition).not.toBe("");
    await engine.close();
  });

  it("does not matter to a final actor", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [{ type: "end" }] });
    const engine = await sail(store, tagged);
    expect(await send(engine, tagged, "a", { type: "add", by: 1 })).toMatchObject({ code: "actor_final" });
    await engine.close();
  });
});

/** `ship/a` is parked under another program, and is told three things there. */
async function told(store: Store, parking: typeof ship, events: readonly object[]): Promise<void> {
  await harbour(store, { a: [{ type: "work", by: 1 }] });
  const engine = await sail(store, parking);
  const sender = await engine.create(parking, "s", { input: { start: 1 } as never });
  for (const event of events) await sender.send({ type: "tell", to: "ship/a", event } as never);
  await engine.close();
}

const add = (by: number) => ({ type: "add", by });
const unmigrated = shipOf({ ...NEW, version: "2" });
const failing = ship2(() => {
  throw new Error("not yet");
});

describe.each(STORES)("what a parked actor is told (%s)", (kind) => {
  it.each([
    ["machine_version_unknown", unmigrated, ship2()],
    ["migration_failed", failing, ship2()],
    ["machine_changed", tagged, ship],
    [
      "machine_version_unknown",
      unmigrated,
      shipOf({ ...NEW, version: "3", migrations: { 1: { ...moved, to: "3" }, 2: { to: "3", migrate: (s) => s } } }),
    ],
  ])(
    "is a dead letter for %s, and delivered in order, before anything else, by the deploy that can ask it",
    async (reason, parking, next) => {
      const { store } = place(kind);
      await told(store, parking, [add(2), add(3), { type: "none" }]);
      expect(store.deadLetters({}, { limit: 9 }).map((row) => [row.receiver, row.reason])).toEqual(Array(3).fill(["ship/a", reason]));
      const commits: string[][] = [];
      const probe = (point: string, { entries = [] }: any) =>
        void (point === "commit.after" && commits.push(entries.map(({ actor, event }: any) => `${actor} ${JSON.parse(event).type}`)));
      const first = await rejection(
        sail(store, next, { probe }).then((engine) => engine.close().then(() => Promise.reject({ message: "done" }))),
      );
      expect(first.message).toBe("done");
      // An event that no schema has cannot be taken: it sets the actor aside, as it would have when it was sent.
      expect(store.actor("ship/a")?.quarantine).toMatchObject({ code: "event_poisoned" });
      expect(store.deadLetters({}, { limit: 9 })).toHaveLength(3);
      const engine = await sail(store, next);
      await engine.release("ship/a", { discard: true });
      expect(types(engine, "ship/a").filter((type) => type === "add")).toHaveLength(2);
      expect(engine.deadLetters().map((row) => row.reason)).toEqual(["event_poisoned"]);
      expect(engine.verify().faults).toEqual([]);
      await engine.close();
    },
  );

  it("is delivered in the commit that migrates it, and no effect of it starts before", async () => {
    const { store } = place(kind);
    await told(store, failing, [add(2), add(3)]);
    const order: string[] = [];
    const probe = (point: string, { entries = [], effect }: any) => {
      const names = entries.filter(({ actor }: any) => actor === "ship/a").map(({ event }: any) => JSON.parse(event).type);
      if (point === "commit.after" && names.length > 0) order.push(names.join(" "));
      if (point === "effect.before") order.push(effect.key);
    };
    const machine = ship2();
    const engine = await sail(store, machine, { probe, effects: { job: async () => 1 } });
    await ref(engine, machine, "a").waitFor((snapshot: any) => snapshot.matches("rest"));
    expect(order).toEqual(["engine.migrated add add", "ship/a:2:0", "job.done"]);
    expect([engine.deadLetters(), engine.verify().faults]).toEqual([[], []]);
    await engine.close();
  });

  it("is delivered once, also where the deploy dies while it does so", async () => {
    for (const nth of [1, 2]) {
      const { store } = place(kind);
      await told(store, failing, [add(2), add(3)]);
      const points = faultPoints();
      points.throwAt("commit.inside", new Error("crash"), { nth });
      await sail(store, ship2(), { groupLimit: 1, probe: points.probe }).then(
        (engine) => engine.close(),
        () => undefined,
      );
      const engine = await sail(store, ship2());
      expect(types(engine, "ship/a")).toEqual(["xstate.init", "work", "engine.migrated", "add", "add"]);
      expect(engine.verify().faults).toEqual([]);
      await engine.close();
    }
  });

  it("stays a dead letter, with its reason, where it is ignored after all", async () => {
    const { store } = place(kind);
    await told(store, unmigrated, [{ type: "wait" }]);
    const engine = await sail(store, ship2());
    expect(engine.deadLetters()).toMatchObject([{ receiver: "ship/a", reason: "delivery_ignored" }]);
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });

  it("is held against the schema of its event, which nobody could do when it was sent", async () => {
    const { store } = place(kind);
    await told(store, unmigrated, [{ type: "rest", more: 1 }]);
    const engine = await sail(store, ship2());
    expect(store.actor("ship/a")?.quarantine).toMatchObject({ code: "event_poisoned", message: expect.stringContaining("rest") });
    expect(types(engine, "ship/a")).toEqual(["xstate.init", "work", "engine.migrated"]);
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });

  it("sets it aside alone where what it is told is damaged", async () => {
    const { store } = place(kind);
    await told(store, unmigrated, [add(2)]);
    store.write(store.epoch(), (writer) => {
      for (const { position, ...letter } of writer.deadLetters({}, { limit: 9 })) {
        writer.deleteDeadLetter(position);
        writer.putDeadLetter({ ...letter, event: "{" });
      }
    });
    const engine = await sail(store, ship2());
    expect(engine.list({ quarantined: true })).toMatchObject([{ address: "ship/a", quarantine: { code: "event_poisoned" } }]);
    expect(store.deadLetters({}, { limit: 9 })).toHaveLength(1);
    await engine.close();
  });

  it("waits on under a program that still cannot ask it", async () => {
    const { store } = place(kind);
    await told(store, unmigrated, [add(2)]);
    const before = store.deadLetters({}, { limit: 9 });
    await (await sail(store, failing)).close();
    expect(store.deadLetters({}, { limit: 9 })).toEqual(before);
  });
});

describe.each(STORES)("what a parked actor is told, at an opening that only acts (%s)", (kind) => {
  const JOB = "ship/a:2:0";
  const deeds: Record<string, [(engine: Engine, machine: typeof ship) => Promise<unknown>, string[]]> = {
    "a result by hand": [(engine) => engine.resolve(JOB, { output: 1 }), ["job.done"]],
    "another try": [(engine) => engine.retry(JOB), []],
    "an event": [(engine, machine) => send(engine, machine, "a", { type: "end" }), ["end"]],
    "a delivery": [(engine, machine) => send(engine, machine, "s", { type: "tell", to: "ship/a", event: { type: "end" } }), ["end"]],
  };
  it.each(Object.keys(deeds))("is delivered before %s, and starts nothing", async (name) => {
    const [deed, follows] = deeds[name] as (typeof deeds)[string];
    // By a deploy that migrates it, and by one that goes back.
    for (const [machine, migrated] of [
      [ship2(), ["engine.migrated"]],
      [ship, []],
    ] as const) {
      const { store } = place(kind);
      const first = await sail(store, ship, { effects: { job: () => Promise.reject({ message: "no", retryable: false }) } });
      for (const id of ["a", "s"]) await first.create(ship, id, { input: { start: 1 } as never });
      await send(first, ship, "a", { type: "work", by: 1 });
      await expect.poll(() => first.effects().map(({ key, state }) => [key, state])).toEqual([[JOB, "exhausted"]]);
      await first.close();
      const parking = await sail(store, unmigrated);
      const sender = await parking.create(unmigrated, "t", { input: { start: 1 } as never });
      for (const by of [2, 3]) await sender.send({ type: "tell", to: "ship/a", event: add(by) } as never);
      // A root whose newer machines have ended may be opened by the older program.
      await sender.send({ type: "end" } as never);
      await parking.close();
      const engine = await openEngine(store, { machines: [machine], start: false });
      await deed(engine, machine);
      expect(types(engine, "ship/a")).toEqual(["xstate.init", "work", ...migrated, "add", "add", ...follows]);
      expect([engine.deadLetters(), engine.verify().faults]).toEqual([[], []]);
      await engine.close();
    }
  });
});

describe.each(STORES)("the version in a row (%s)", (kind) => {
  it("refuses the whole open where it is newer and its journal says so too, and nothing is changed", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [{ type: "wait" }] }, unmigrated);
    const before = [all(store, "ship/a"), store.epoch(), store.lastPosition()];
    expect(await rejection(sail(store, ship))).toMatchObject({ code: "machine_version_newer", details: { machine: "ship" } });
    expect([all(store, "ship/a"), store.epoch(), store.lastPosition()]).toEqual(before);
  });

  it("is damage where its journal does not say so, and stops nobody else", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [add(1)], b: [] });
    store.write(store.epoch(), (writer) => {
      const row = writer.actor("ship/a");
      if (row) writer.putActor({ ...row, version: "99" });
    });
    const engine = await sail(store, ship);
    expect(await send(engine, ship, "a", add(1))).toMatchObject({ code: "actor_quarantined" });
    expect(await send(engine, ship, "b", add(1))).toMatchObject({ kind: "accepted" });
    await engine.release("ship/a");
    expect(await send(engine, ship, "a", add(1))).toMatchObject({ kind: "accepted", seq: 3 });
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });
});
