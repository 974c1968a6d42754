/**
 * What users of XState have reported, as tests: first what XState does by itself, then the same machine (or, where it must be written
 * another way, its counterpart) on the engine. If XState repairs one of them, its first half fails and says so.
 */

import { describe, expect, it } from "vitest";
import { type AnyStateMachine, assign, createActor, createMachine, fromPromise, SimulatedClock, type SnapshotFrom } from "xstate";
import { z } from "zod";
import { open, place, STORES } from "./counter.ts";
import { flushed, held } from "./held.ts";
import { nothing, thing } from "./thing.ts";
import { DAY_MS, pass, SECOND_MS, settableClock } from "./timed.ts";

/** What a user stores and reads again. */
const throughJson = <T>(value: T): T => JSON.parse(JSON.stringify(value));

/** An actor of plain XState, persisted, put through JSON and started again. */
function restored(before: AnyStateMachine, after: AnyStateMachine, options: object = {}) {
  const first = createActor(before, options).start();
  const snapshot = throughJson(first.getPersistedSnapshot());
  first.stop();
  return createActor(after, { ...options, snapshot } as never).start();
}

/** Creates an actor in one process, which ends when its promise `load` is at work, if it has one; gives it in the next. */
async function reopened(
  kind: (typeof STORES)[number],
  before: AnyStateMachine,
  after: AnyStateMachine,
  { downMs = 0, load }: { downMs?: number; load?: ReturnType<typeof held> } = {},
) {
  const effects = load ? { load: load.handler } : {};
  const { store } = place(kind);
  const clock = settableClock();
  const first = await open(store, { machines: [before], clock, effects });
  const { address } = await first.create(before, "a", { input: {} });
  await load?.called(1);
  await first.close();
  await pass(clock, downMs);
  const engine = await open(store, { machines: [after], clock, effects });
  await flushed();
  const actor = engine.get(after, "a");
  if (!actor) throw new Error(`${address} is gone`);
  return { engine, actor, clock, store };
}

const note = (word: string) => assign({ log: ({ context }: any) => [...(context.log ?? []), word] } as never);
const stateOf = (snapshot: unknown) => (snapshot as SnapshotFrom<AnyStateMachine>).value;

describe("statelyai/xstate #5331: delays are not restored with a snapshot", () => {
  /** Three timers of ten seconds, which differ in what a restart does to them. */
  const waiting = thing(
    {
      id: "waiting",
      type: "parallel",
      states: Object.fromEntries(
        ["absolute", "remaining", "restart"].map((delay) => [
          delay,
          { initial: "on", states: { on: { after: { [delay]: "off" } }, off: { entry: note(delay) } } },
        ]),
      ),
    },
    {
      delays: { absolute: 10 * SECOND_MS, remaining: 10 * SECOND_MS, restart: 10 * SECOND_MS },
      schemas: { delays: { absolute: "absolute", remaining: "remaining", restart: "restart" } },
    },
  );

  it("by itself, a restored `after` never fires", () => {
    const clock = new SimulatedClock();
    const actor = restored(waiting, waiting, { clock, input: {} });
    clock.increment(365 * DAY_MS);
    expect((actor.getSnapshot() as any).context.log).toBeUndefined();
  });

  it.each(STORES)("here it fires once, and its policy says when: as planned, with the time that was left, or anew (%s)", async (kind) => {
    const { engine, actor, clock } = await reopened(kind, waiting, waiting, { downMs: 9 * SECOND_MS });
    // It was set by the last commit before the downtime, so all of its ten seconds were left.
    expect(engine.timers().map(({ delay, dueMs }) => [delay, dueMs - clock.now()])).toEqual([
      ["absolute", SECOND_MS],
      ["remaining", 10 * SECOND_MS],
      ["restart", 10 * SECOND_MS],
    ]);
    await pass(clock, SECOND_MS);
    expect(actor.getSnapshot().context.log).toEqual(["absolute"]);
    await pass(clock, 9 * SECOND_MS);
    expect(actor.getSnapshot().context.log).toEqual(["absolute", "remaining", "restart"]);
    await pass(clock, DAY_MS);
    expect([actor.getSnapshot().context.log.length, engine.timers(), engine.verify().faults]).toEqual([3, [], []]);
  });
});

describe("statelyai/xstate #5077 and #5057: what has children cannot be persisted again after a JSON round trip", () => {
  const childOptions = { id: "child", initial: "on", states: { on: { on: { go: "off" } }, off: {} } };

  it("by itself, a spawned machine cannot be persisted, or not twice", () => {
    const child = createMachine(childOptions);
    const parent = createMachine({ context: ({ spawn }: any) => ({ child: spawn(child, { id: "child" }) }) } as never);
    const actor = createActor(parent).start();
    expect(() => actor.getPersistedSnapshot()).toThrow("An inline child actor cannot be persisted.");
    // What a production build lets pass, the first time.
    const inline = { __unsafeAllowInlineActors: true } as never;
    const persist = (of: typeof actor) => (of.getPersistedSnapshot as (options: never) => unknown)(inline);
    const snapshot = throughJson(persist(actor));
    expect(() => persist(createActor(parent, { snapshot } as never).start())).toThrow();
  });

  it.each(STORES)("here a child is a durable actor of its own, which its parent creates and tells by its address (%s)", async (kind) => {
    const child = thing(childOptions);
    const parent = thing({
      id: "parent",
      entry: [{ type: "createActor", params: { machine: "child", id: "a" } }],
      on: { more: { actions: { type: "deliver", params: { to: "child/a", event: { type: "go" } } } } },
    });
    const { store } = place(kind);
    const machines = [parent, child];
    await (await open(store, { machines })).create(parent, "a", { input: {} });
    for (let owner = 0; owner < 3; owner++) {
      const engine = await open(store, { machines });
      expect(engine.get(child, "a")?.matches("on")).toBe(true);
      await engine.close();
    }
    const engine = await open(store, { machines });
    await engine.get(parent, "a")?.send({ type: "more" });
    expect([engine.get(child, "a")?.matches("off"), engine.verify().faults]).toEqual([true, []]);
  });

  it.each(STORES)("here an invoked promise is a child that persists the same, however often (%s)", async (kind) => {
    const machine = thing(
      { id: "invoking", initial: "on", states: { on: { invoke: { id: "child", src: "load", onDone: "off" } }, off: {} } },
      { actors: { load: fromPromise(async () => "never asked") } },
    );
    const load = held();
    const { engine, actor, store } = await reopened(kind, machine, machine, { load });
    await load.called(2);
    const stored = JSON.parse(actor.row().snapshot);
    let snapshot = stored;
    for (let round = 0; round < 3; round++) {
      snapshot = throughJson(machine.getPersistedSnapshot(machine.restoreSnapshot(snapshot, { system: {} } as never) as never));
      expect(Object.keys(snapshot.children)).toEqual(["child"]);
    }
    expect(throughJson(machine.getPersistedSnapshot(actor.getSnapshot()))).toEqual(stored);
    await engine.close();
    const third = await open(store, { machines: [machine], effects: { load: load.handler } });
    (await load.called(3)).resolve("done");
    await third.get(machine, "a")?.waitFor((now) => now.matches("off"));
    expect(third.verify().faults).toEqual([]);
  });
});

describe("delays over 2^31 ms", () => {
  const month = thing(
    { id: "month", initial: "waiting", states: { waiting: { after: { month: "over" } }, over: {} } },
    { delays: { month: 30 * DAY_MS } },
  );

  it("by itself, XState asks Node for a wait that it cannot hold, and that ends at once", () => {
    const asked: number[] = [];
    const clock = { setTimeout: (_: () => void, ms: number) => asked.push(ms), clearTimeout: () => {} };
    createActor(month, { clock, input: {} } as never).start();
    expect(asked).toEqual([30 * DAY_MS]);
    expect(30 * DAY_MS).toBeGreaterThan(2 ** 31 - 1);
  });

  it.each(STORES)("here it ends on its day, in waits that Node can hold (%s)", async (kind) => {
    const clock = settableClock();
    const engine = await open(place(kind).store, { machines: [month], clock });
    const actor = await engine.create(month, "a", { input: {} });
    await pass(clock, 0);
    clock.set(30 * DAY_MS - 1);
    await pass(clock, 0);
    expect(actor.matches("waiting")).toBe(true);
    await pass(clock, 60 * SECOND_MS);
    expect([actor.matches("over"), Math.max(...clock.asked) < 2 ** 31]).toEqual([true, true]);
  });
});

describe("a leaf state that became compound in a new version", () => {
  const AFTER = "xstate.after.patience.order.packing.picking";
  const options = { schemas: { events: { go: nothing } }, delays: { patience: 10 * SECOND_MS } };
  const before = thing({ id: "order", initial: "packing", states: { packing: { on: { go: "sent" } }, sent: {} } }, options);
  const packing = {
    initial: "picking",
    states: { picking: { entry: note("picking"), after: { patience: "late" } }, late: { entry: note("late") } },
    on: { go: "sent" },
  };
  const config = { id: "order", version: "2", initial: "packing", states: { packing, sent: {} } };
  const migrations = {
    "1": {
      to: "2",
      migrate: (stored: any) => ({
        ...stored,
        value: { packing: "picking" },
        context: { ...stored.context, log: ["migrated"] },
        timers: [{ id: AFTER, event: { type: AFTER }, delay: "patience", delayMs: 10 * SECOND_MS }],
      }),
    },
  };
  const after = thing(config, { ...options, schemas: { ...options.schemas, migrations } });

  it("by itself, it is restored into its initial child without entry actions and without its timer", () => {
    const clock = new SimulatedClock();
    const actor = restored(before, after, { clock, input: {} });
    clock.increment(DAY_MS);
    expect([stateOf(actor.getSnapshot()), (actor.getSnapshot() as any).context]).toEqual([{ packing: "picking" }, {}]);
  });

  it.each(STORES)("here a migration says where its actors are, and what waits for them there (%s)", async (kind) => {
    const { engine, actor, clock } = await reopened(kind, before, after, { downMs: DAY_MS });
    expect([actor.getSnapshot().value, actor.row().version]).toEqual([{ packing: "picking" }, "2"]);
    expect(engine.timers().map(({ id, dueMs }) => [id, dueMs - clock.now()])).toEqual([[AFTER, 10 * SECOND_MS]]);
    await pass(clock, 10 * SECOND_MS);
    expect([actor.getSnapshot().value, actor.getSnapshot().context.log]).toEqual([{ packing: "late" }, ["migrated", "late"]]);
    expect(engine.verify().faults).toEqual([]);
  });

  it.each(STORES)("here, without a migration, its actors are parked, and are not put where nobody sent them (%s)", async (kind) => {
    const { engine, actor, store } = await reopened(kind, before, thing(config, options));
    expect(await actor.send({ type: "go" })).toMatchObject({ kind: "refused", code: "machine_version_unknown" });
    expect([store.actor("order/a")?.state, engine.list({ quarantined: true })]).toEqual(["packing", []]);
  });
});

describe("a state that was removed", () => {
  const before = thing({ id: "order", initial: "checking", states: { checking: { on: { go: "sent" } }, sent: {} } });
  const config = { id: "order", version: "2", initial: "sent", states: { sent: { on: { more: "paid" } }, paid: {} } };
  const migrations = { "1": { to: "2", migrate: (stored: any) => ({ ...stored, value: "sent" }) } };

  it("by itself, its snapshot cannot be restored", () => {
    const snapshot = throughJson(createActor(before, { input: {} }).getPersistedSnapshot());
    const actor = createActor(thing(config), { snapshot } as never);
    const errors: unknown[] = [];
    actor.subscribe({ error: (error) => errors.push(error) });
    actor.start();
    expect([actor.getSnapshot().status, errors]).toMatchObject(["error", [{ message: "State 'checking' does not exist on 'order'" }]]);
  });

  it.each(STORES)("here a migration says where its actors are now (%s)", async (kind) => {
    const { engine, actor } = await reopened(kind, before, thing(config, { schemas: { migrations } }));
    expect(await actor.send({ type: "more" })).toMatchObject({ kind: "accepted" });
    expect([actor.getSnapshot().value, engine.verify().faults]).toEqual(["paid", []]);
  });

  it.each(STORES)("here, without a migration, its actors alone are parked, and the program that knows them goes on (%s)", async (kind) => {
    const after = thing(config);
    const { engine, actor, store } = await reopened(kind, before, after);
    expect(await actor.send({ type: "more" })).toMatchObject({ kind: "refused", code: "machine_version_unknown" });
    expect(() => actor.getSnapshot()).toThrow(expect.objectContaining({ code: "machine_version_unknown" }));
    const other = await engine.create(after, "b", { input: {} });
    expect(await other.send({ type: "more" })).toMatchObject({ kind: "accepted" });
    expect([actor.row().seq, actor.row().quarantine]).toEqual([1, null]);
    await other.stop();
    await engine.close();
    const old = await open(store, { machines: [before] });
    expect(await old.get(before, "a")?.send({ type: "go" })).toMatchObject({ kind: "accepted" });
  });
});

describe("a restart while an invoked promise runs", () => {
  const charging = (charge: unknown, effects: object = {}) =>
    thing(
      {
        id: "charging",
        initial: "charging",
        states: {
          charging: {
            invoke: { id: "charge", src: "load", onDone: { target: "charged", actions: note("charged") }, onError: "failed" },
            on: { "effect.unknown": "asking" },
          },
          charged: {},
          failed: {},
          asking: {},
        },
      },
      {
        actors: { load: charge },
        schemas: { events: { "effect.unknown": z.strictObject({ effect: z.string(), name: z.string() }) }, effects },
      },
    );

  it("by itself, it is run again, with nothing by which the two runs could be told to be one", () => {
    const inputs: unknown[] = [];
    const charge = fromPromise(({ input }) => {
      inputs.push(input);
      return new Promise(() => {});
    });
    const machine = charging(charge);
    restored(machine, machine, { input: {} });
    expect(inputs).toEqual([undefined, undefined]);
  });

  it.each(STORES)("here it is run again under the same key, and its outcome counts once (%s)", async (kind) => {
    const load = held();
    const machine = charging(fromPromise(async () => "never asked"));
    const { engine, actor } = await reopened(kind, machine, machine, { load });
    const [first, second] = [await load.called(1), await load.called(2)];
    expect([first.call.key, second.call.key, first.call.signal.aborted]).toEqual(["charging/a:1:0", "charging/a:1:0", true]);
    second.resolve(1);
    first.resolve(2);
    await actor.waitFor((snapshot) => snapshot.matches("charged"));
    await flushed();
    expect([actor.getSnapshot().context.log, load.calls.length, engine.effects(), engine.verify().faults]).toEqual([
      ["charged"],
      2,
      [],
      [],
    ]);
  });

  it.each(STORES)("here it is not run again where it may run once only: its machine decides (%s)", async (kind) => {
    const load = held();
    const machine = charging(
      fromPromise(async () => "never asked"),
      { load: { params: z.any(), delivery: "at_most_once" } },
    );
    const { engine, actor } = await reopened(kind, machine, machine, { load });
    expect([load.calls.length, actor.getSnapshot().value, engine.effects(), engine.verify().faults]).toEqual([1, "asking", [], []]);
  });
});
