import { describe, expect, it, onTestFinished, vi } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { effect } from "../../machines/action.ts";
import { Engine, openEngine } from "../../src/actor/engine.ts";
import type { EffectHandler } from "../../src/actor/handler.ts";
import { Outbox } from "../../src/actor/outbox.ts";
import { PAGE } from "../../src/actor/page.ts";
import type { Store, StoreWriter } from "../../src/actor/store.ts";
import { faultPoints } from "../../src/testing/index.ts";
import { counter, counterOf, gate, handlers, journal, make, open, place, rejection, STORES } from "./counter.ts";
import { harbour, sail, ship, ship2, shipOf } from "./ship.ts";

/** A ship of the first version that was changed, and says that it is the same. */
const changed = shipOf({ version: "1", tags: ["changed"] });

/** From now to the end of the test, the process warns of nothing; gives what it would have said since. */
function warnings() {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  onTestFinished(() => void warn.mockRestore());
  const before = warn.mock.calls.length;
  return () => warn.mock.calls.slice(before) as unknown[][];
}

const pending = () => new Promise<never>(() => {});

/** Changes an actor's row without the engine. */
function change(store: Store, address: string, changed: object): void {
  store.write(store.epoch(), (writer: StoreWriter) => {
    const row = writer.actor(address);
    if (row) writer.putActor({ ...row, ...changed });
  });
}

describe.each(STORES)("recovery of more than a page (%s)", (kind) => {
  const MORE = PAGE + 1;

  /** So many actors that took these events under an owner that started no handler. */
  async function crowd(...events: readonly { type: "once.start" | "work.start"; by: number }[]): Promise<Store> {
    const { store } = place(kind);
    const engine = await open(store, { start: false });
    const actors = await Promise.all(Array.from({ length: MORE }, (_, index) => make(engine, String(index))));
    for (const event of events) await Promise.all(actors.map((actor) => actor.send(event)));
    await engine.close();
    return store;
  }

  it("tells every actor of an older epoch", async () => {
    const store = await crowd();
    const engine = await open(store);
    expect(store.actors({ epochBelow: engine.epoch }, { limit: PAGE })).toEqual([]);
    expect(store.actors({}, { after: MORE - 1, limit: 1 })).toMatchObject([{ seq: 2, epoch: 2 }]);
  });

  it("settles every effect that was started", async () => {
    const store = await crowd({ type: "once.start", by: 1 });
    store.write(store.epoch(), (writer) => {
      for (let index = 0; index < MORE; index++) {
        const row = writer.effect(`counter/${index}:2:0`);
        if (row) writer.putEffect({ ...row, state: "started", epoch: 1 });
      }
    });
    const engine = await open(store, { effects: { once: pending } });
    expect(engine.effects()).toEqual([]);
    expect(engine.get(counter, String(MORE - 1))?.getSnapshot().context.log).toEqual(["engine.reopened", "effect.unknown"]);
  });

  it("starts every effect that is open, at the opening and by recover()", async () => {
    const store = await crowd({ type: "work.start", by: 1 });
    const started = vi.spyOn(Outbox.prototype, "start");
    onTestFinished(() => void started.mockRestore());
    const engine = await open(store, { effects: { work: pending } });
    const actors = () => new Set(started.mock.calls.map(([row]) => row.actor)).size;
    expect(actors()).toBe(MORE);
    started.mockClear();
    await engine.recover();
    expect(actors()).toBe(MORE);
  });
});

describe.each(STORES)("recovery at open (%s)", (kind) => {
  it("tells the past, then settles what was started, then starts what is open", async () => {
    const { store } = place(kind);
    // A handler that is delivered at most once is called when its admission is durable.
    const started = Promise.withResolvers<void>();
    const once: EffectHandler = () => {
      started.resolve();
      return pending();
    };
    const first = await open(store, { effects: { work: pending, once } });
    const [a, b] = [await make(first, "a"), await make(first, "b")];
    await Promise.all([a.send({ type: "work.start", by: 1 }), b.send({ type: "once.start", by: 1 })]);
    await started.promise;
    await first.close();
    expect(store.effects({}, { limit: 10 }).map((row) => row.state)).toEqual(["open", "started"]);
    const order: string[] = [];
    const second = await open(store, {
      probe: (point, { entries, effect }) => {
        if (point === "commit.after") for (const entry of entries ?? []) order.push(`${entry.actor} ${JSON.parse(entry.event).type}`);
        if (point === "effect.before") order.push(`${effect?.key} starts`);
      },
    });
    await second.get(counter, "a")?.waitFor((snapshot) => snapshot.matches("idle"));
    expect(order).toEqual([
      "counter/a engine.reopened",
      "counter/b engine.reopened",
      "counter/b effect.unknown",
      "counter/a:2:0 starts",
      "counter/a work.done",
    ]);
  });

  it("starts what the notice itself requested only after all have been told", async () => {
    const nothing = z.strictObject({});
    const schemas = {
      input: nothing,
      context: nothing,
      events: { "engine.reopened": z.strictObject({ epoch: z.int() }), "job.done": z.looseObject({}) },
      facts: {},
      effects: { job: { params: nothing, done: "job.done", delivery: "at_least_once" as const } },
    };
    const eager = setup({ schemas, actions: { job: effect() } }).createMachine({
      id: "eager",
      version: "1",
      context: {},
      on: { "engine.reopened": { actions: "job" } },
    } as never) as unknown as typeof counter;
    const { store } = place(kind);
    const options = { machines: [eager], effects: { job: async () => null }, groupLimit: 1 };
    const first = await openEngine(store, options);
    for (const id of ["a", "b"]) await first.create(eager, id, { input: {} as never });
    await first.close();
    const order: string[] = [];
    const both = Promise.withResolvers<void>();
    const second = await openEngine(store, {
      ...options,
      probe: (point, { entries, effect: row }) => {
        if (point === "commit.after") order.push(...(entries ?? []).map((entry) => `${entry.actor} told`));
        if (point === "effect.before" && order.push(`${row?.actor} starts`) === 4) both.resolve();
      },
    });
    await both.promise;
    await second.close();
    expect(order.slice(0, 4)).toEqual(["eager/a told", "eager/b told", "eager/a starts", "eager/b starts"]);
  });

  it("does not touch what is finished or set aside", async () => {
    const { store } = place(kind);
    const first = await open(store);
    const [a, b] = [await make(first, "a"), await make(first, "b")];
    await a.send({ type: "count.end" });
    await b.send({ type: "poison.start" });
    await rejection(b.waitFor(() => false));
    await first.close();
    const before = [store.actor("counter/a"), store.actor("counter/b"), store.lastPosition()];
    await open(store);
    expect([store.actor("counter/a"), store.actor("counter/b"), store.lastPosition()]).toEqual(before);
  });

  it("does not start the effects of an actor that is set aside", async () => {
    const { store } = place(kind);
    const first = await open(store, { effects: { work: pending } });
    const [a, b] = [await make(first, "a"), await make(first, "b")];
    await b.send({ type: "work.start", by: 1 });
    await a.send({ type: "count.say", to: b.address, event: { type: "assign.throw" } });
    await first.close();
    const points = faultPoints();
    const second = await open(store, { probe: points.probe });
    await second.recover();
    expect([points.count("effect.before"), second.effects().map((row) => row.state)]).toEqual([0, ["open"]]);
  });

  it("tells the actors of each machine once", async () => {
    const { store } = place(kind);
    const machines = [counter, counterOf("1", "other")];
    const first = await open(store, { machines });
    for (const machine of machines) await first.create(machine, "a", { input: { start: 0 } });
    await first.close();
    const engine = await open(store, { machines });
    expect(engine.list().map(({ address, seq }) => [address, seq])).toEqual([
      ["counter/a", 2],
      ["other/a", 2],
    ]);
  });

  it.each<[string, typeof ship, "refuse" | "refold"]>([
    ["is as this program left it", ship, "refuse"],
    ["is as this program left it, also where changes may be accepted", ship, "refold"],
    ["was changed, where that is not accepted", changed, "refuse"],
  ])("does not read an actor whose machine %s", async (_, machine, accepting) => {
    const { store } = place(kind);
    // What is told to the second becomes a dead letter that waits for nothing.
    const told = { type: "tell", to: "ship/b", event: { type: "work", by: 1 } };
    await harbour(store, { a: [], b: [{ type: "wait" }], c: [told] });
    expect(store.deadLetters({}, { limit: 9 })).toMatchObject([{ receiver: "ship/b", reason: "delivery_ignored" }]);
    for (const actor of ["ship/a", "ship/b"]) change(store, actor, { snapshot: "{" });
    warnings();
    const engine = await sail(store, machine, { changed: accepting });
    expect(engine.list({ quarantined: true })).toEqual([]);
    await engine.close();
  });

  it("migrates the actors of an older version, and reads none of its own beside them", async () => {
    const { store } = place(kind);
    const machine = ship2();
    await harbour(store, { a: [] });
    const only = await sail(store, machine, { start: false });
    await only.create(machine, "b", { input: { start: 1 } as never });
    await only.close();
    change(store, "ship/b", { snapshot: "{" });
    const engine = await sail(store, machine);
    expect(engine.list().map(({ address, version, quarantine }) => [address, version, quarantine])).toEqual([
      ["ship/a", "2", null],
      ["ship/b", "2", null],
    ]);
    await engine.close();
  });

  it("tells an actor once per epoch", async () => {
    const { store } = place(kind);
    await make(await open(store));
    const engine = await open(store);
    expect(journal(engine).map(({ event }) => event)).toMatchObject([{}, { type: "engine.reopened", epoch: 2 }]);
    expect(store.actors({ epochBelow: engine.epoch }, { limit: 10 })).toEqual([]);
  });

  it("does not write to an actor whose machine has no such event", async () => {
    const nothing = z.strictObject({});
    const quiet = setup({ schemas: { input: nothing, context: nothing, events: {}, facts: {} } }).createMachine({
      id: "quiet",
      version: "1",
      context: {},
    });
    const { store } = place(kind);
    const first = await openEngine(store, { machines: [quiet] });
    await first.create(quiet, "a", { input: {} as never });
    await first.close();
    const second = await openEngine(store, { machines: [quiet] });
    expect(second.list()).toMatchObject([{ seq: 1, epoch: 1 }]);
    await second.close();
  });

  it("sets a damaged snapshot aside alone, and starts", async () => {
    const { store } = place(kind);
    const first = await open(store);
    await make(first, "a");
    await make(first, "b");
    await first.close();
    change(store, "counter/a", { snapshot: '{"status":"active","value":"nowhere"' });
    const engine = await open(store);
    expect(engine.list({ quarantined: true })).toMatchObject([{ address: "counter/a", quarantine: { code: "snapshot_damaged" } }]);
    expect(await engine.get(counter, "b")?.send({ type: "count.add", by: 1 })).toMatchObject({ kind: "accepted" });
    expect(await engine.get(counter, "a")?.send({ type: "count.add", by: 1 })).toMatchObject({
      kind: "refused",
      code: "actor_quarantined",
    });
  });

  it("sets a snapshot in a state that the machine has not aside alone", async () => {
    const { store } = place(kind);
    const first = await open(store);
    await make(first, "a");
    await first.close();
    const row = store.actor("counter/a");
    change(store, "counter/a", { snapshot: row?.snapshot.replace('"idle"', '"nowhere"') });
    const engine = await open(store);
    expect(engine.list({ quarantined: true })).toMatchObject([{ quarantine: { code: "snapshot_damaged" } }]);
  });

  it.each([
    ["1.10", "1.9"],
    ["2", "1.9.9"],
    ["1.0.1", "1"],
  ])("refuses a root with unfinished work of version %s where the program has %s, before anything is written", async (newer, older) => {
    const { store } = place(kind);
    const machine = counterOf(newer);
    const first = await openEngine(store, { machines: [machine], effects: handlers, closeGraceMs: 0 });
    await first.create(machine, "a", { input: { start: 0 } });
    await first.close();
    const before = [store.actor("counter/a"), store.epoch(), store.lastPosition()];
    const error = await rejection(openEngine(store, { machines: [counterOf(older)], effects: handlers }));
    expect(error).toMatchObject({ code: "machine_version_newer", details: { machine: "counter" } });
    expect([store.actor("counter/a"), store.epoch(), store.lastPosition()]).toEqual(before);
  });

  it("does not take a damaged row for newer work, whoever else has work of that version", async () => {
    const { store } = place(kind);
    const [newer, other] = [counterOf("2"), counterOf("2", "other")];
    const ours = await open(store);
    await make(ours);
    await ours.close();
    const theirs = await open(store, { machines: [newer, other], start: false });
    await (await theirs.create(newer, "b", { input: { start: 0 } })).send({ type: "count.end" });
    await theirs.create(other, "c", { input: { start: 0 } });
    await theirs.close();
    change(store, "counter/a", { version: "2" });
    const engine = await open(store);
    expect(engine.list({ quarantined: true })).toMatchObject([{ address: "counter/a", quarantine: { code: "snapshot_damaged" } }]);
  });

  it("does not mind finished work of a newer version", async () => {
    const { store } = place(kind);
    const newer = counterOf("2");
    const first = await openEngine(store, { machines: [newer], effects: handlers, closeGraceMs: 0 });
    await (await first.create(newer, "a", { input: { start: 0 } })).send({ type: "count.end" });
    await first.close();
    expect((await open(store)).epoch).toBe(2);
  });

  it("refuses an actor of an older version alone, and leaves it as it is", async () => {
    const { store } = place(kind);
    const first = await open(store, { effects: { work: pending } });
    await (await make(first)).send({ type: "work.start", by: 1 });
    await first.close();
    const newer = counterOf("2");
    const points = faultPoints();
    const second = await openEngine(store, { machines: [newer], effects: handlers, probe: points.probe });
    const [old, fresh] = [second.get(newer, "a"), await second.create(newer, "b", { input: { start: 0 } })];
    expect(await old?.send({ type: "count.add", by: 1 })).toMatchObject({ kind: "refused", code: "machine_version_unknown" });
    expect(() => old?.getSnapshot()).toThrow(expect.objectContaining({ code: "machine_version_unknown" }));
    await fresh.send({ type: "count.tell", to: "counter/a", by: 1 });
    await fresh.send({ type: "count.end" });
    expect(second.deadLetters()).toMatchObject([{ receiver: "counter/a", reason: "machine_version_unknown" }]);
    expect([old?.row().seq, old?.row().quarantine, points.count("effect.before")]).toEqual([2, null, 0]);
    await second.close();
    const again = await open(store);
    // Its own work, and what it was told meanwhile.
    expect((await again.get(counter, "a")?.waitFor((snapshot) => snapshot.matches("idle")))?.context.count).toBe(2);
  });

  it("does not mind unfinished work of a machine that is not registered", async () => {
    const { store } = place(kind);
    const stranger = counterOf("7", "stranger");
    const first = await openEngine(store, { machines: [stranger], effects: handlers, closeGraceMs: 0 });
    await first.create(stranger, "a", { input: { start: 0 } });
    await first.close();
    const engine = await open(store);
    expect(engine.list()).toMatchObject([{ address: "stranger/a", seq: 1, quarantine: null }]);
  });

  it.each([1, 2, 3])("that dies at its commit %i converges at the next", async (nth) => {
    const { store } = place(kind);
    const first = await open(store, { effects: { once: pending, work: pending } });
    const [a, b] = [await make(first, "a"), await make(first, "b")];
    await Promise.all([a.send({ type: "once.start", by: 1 }), b.send({ type: "work.start", by: 2 })]);
    await a.send({ type: "count.add", by: 0 });
    await first.close();
    const points = faultPoints();
    points.throwAt("commit.inside", new Error("crash"), { nth });
    const options = { machines: [counter], effects: handlers, probe: points.probe };
    const opened = await openEngine(store, options).catch((error: unknown) => error);
    if (opened instanceof Engine) await opened.close();
    else expect(opened).toMatchObject({ code: "storage_failed" });
    const last = await open(store);
    const done = await last.get(counter, "b")?.waitFor((snapshot) => snapshot.context.count > 0);
    expect(done?.context.count).toBe(2);
    expect(
      last
        .get(counter, "a")
        ?.getSnapshot()
        .context.log.filter((type) => type === "effect.unknown"),
    ).toHaveLength(1);
    expect(last.verify()).toMatchObject({ ok: true });
  });

  it("that fails leaves nothing at work, and gives the root up", async () => {
    const { store } = place(kind);
    const first = await open(store, { effects: { work: pending } });
    await (await make(first)).send({ type: "work.start", by: 1 });
    await first.close();
    const points = faultPoints();
    let released = 0;
    points.throwAt("commit.inside", new Error("crash"));
    const release = () => {
      released++;
    };
    const error = await rejection(openEngine(store, { machines: [counter], effects: handlers, probe: points.probe, release }));
    expect([error.code, released, points.count("effect.before")]).toEqual(["storage_failed", 1, 0]);
  });

  it("fails where the ownership is lost during it, and starts no handler", async () => {
    const { store } = place(kind);
    const first = await open(store, { effects: { work: pending } });
    await (await make(first)).send({ type: "work.start", by: 1 });
    await first.close();
    const points = faultPoints();
    points.callAt("commit.before", () => store.beginEpoch(Date.now()));
    const error = await rejection(openEngine(store, { machines: [counter], effects: handlers, probe: points.probe }));
    expect([error.code, points.count("effect.before")]).toEqual(["not_owner", 0]);
  });
});

describe.each(STORES)("recover() in a living process (%s)", (kind) => {
  it("disturbs neither a handler that runs nor a result that waits to be written again", async () => {
    const points = faultPoints();
    const release = gate();
    let runs = 0;
    const effects = {
      work: async () => {
        runs++;
        return { by: 1 };
      },
      once: () => release.passed.then(() => ({ by: 10 })),
    };
    const engine = await open(place(kind).store, { probe: points.probe, effects });
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    await b.send({ type: "once.start", by: 10 });
    await points.reached("effect.before");
    points.throwAt("commit.inside", new Error("disk"), {
      where: ({ entries }) => entries?.some((entry) => entry.event.includes("work.done")) ?? false,
    });
    const lost = (async () => {
      for await (const watched of a.watchAll()) if (watched.kind === "lost") return;
    })();
    await a.send({ type: "work.start", by: 1 });
    await lost;
    expect(
      engine
        .effects()
        .map((row) => row.state)
        .sort(),
    ).toEqual(["open", "started"]);
    await engine.recover();
    await a.waitFor((snapshot) => snapshot.matches("idle"));
    release.open();
    expect((await b.waitFor((snapshot) => snapshot.matches("idle"))).context).toEqual({ count: 10, log: ["once.done"] });
    expect([runs, journal(engine).filter(({ event }) => event.type === "engine.reopened")]).toEqual([1, []]);
  });
});

describe.each(STORES)("a warning of what is parked (%s)", (kind) => {
  /** The actors that an opening of this machine names, and the code of each warning. */
  async function warned(store: Store, machine: typeof ship) {
    const said = warnings();
    await (await sail(store, machine)).close();
    return said()
      .map(([text, options]) => [/\((.*)\)/.exec(String(text))?.[1], (options as { code?: string } | undefined)?.code])
      .sort();
  }

  it("names an unfinished actor of each version and of each definition, and no other", async () => {
    const { store } = place(kind);
    warnings();
    await harbour(store, { ended: [{ type: "end" }], a: [] });
    await harbour(store, { b: [], c: [] }, changed);
    await harbour(store, { d: [] }, shipOf({ version: "2" }));
    const code = "HOLDFAST_PARKED";
    expect(await warned(store, shipOf({ version: "3" }))).toEqual(["ship/a", "ship/b", "ship/d"].map((actor) => [actor, code]));
  });

  it("is not given where all can go on", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [] });
    expect(await warned(store, ship)).toEqual([]);
  });
});
