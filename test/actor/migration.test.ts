import { describe, expect, it, onTestFinished } from "vitest";
import { assign, fromPromise, raise } from "xstate";
import type { StoredActor } from "../../src/actor/declaration.ts";
import { DELAY_LIMIT_MS, TIME_LIMIT_MS } from "../../src/actor/delay.ts";
import { type Engine, openEngine } from "../../src/actor/engine.ts";
import { HoldfastError } from "../../src/actor/error.ts";
import { PAYLOAD_LIMIT } from "../../src/actor/journal.ts";
import type { Store } from "../../src/actor/store.ts";
import { faultPoints, purityTrap, simulatedClock } from "../../src/testing/index.ts";
import { journal, place, rejection, STORES } from "./counter.ts";
import { all, asleep, harbour, moved, NEW, sail, ship, ship2, shipOf } from "./ship.ts";
import { nothing, thing } from "./thing.ts";

const NOW_MS = 1_767_225_600_000;

/** A chain: version 2 renames everything, version 3 counts in tens. */
const ship3 = shipOf({
  ...NEW,
  version: "3",
  migrations: {
    1: moved,
    2: { to: "3", migrate: (stored: StoredActor<any>) => ({ ...stored, context: { total: stored.context.total * 10 } }) },
  },
});
const FLEET = { a: [{ type: "wait" }], b: [{ type: "work", by: 2 }], c: [{ type: "call" }], d: [{ type: "end" }], e: [] };

const at = (engine: Engine, machine: typeof ship, id: string) => engine.get(machine, id) as NonNullable<ReturnType<Engine["get"]>>;
const types = (engine: Engine, actor: string) => journal(engine, actor).map(({ event }) => event.type);

describe.each(STORES)("a migration (%s)", (kind) => {
  it("leads through the whole chain in one entry, with snapshot, timers, effects and invocations", async () => {
    const { store } = place(kind);
    await harbour(store, FLEET);
    const before = { timers: store.timers({}, { limit: 9 }), effects: store.effects({}, { limit: 9 }) };
    const engine = await sail(store, ship3);
    expect(at(engine, ship3, "a").getSnapshot()).toMatchObject({ value: "sleeping", context: { total: 10 } });
    expect(types(engine, "ship/b")).toEqual(["xstate.init", "work", "engine.migrated"]);
    expect(journal(engine, "ship/b")[2]).toMatchObject({ event: { from: "1" }, cause: { kind: "engine" }, facts: [], actions: [] });
    expect(store.actor("ship/b")).toMatchObject({ version: "3", seq: 3, state: "busy" });
    expect(engine.timers().map((row) => [row.key, row.id, row.dueMs])).toEqual(
      before.timers.map((row) => [row.key, row.id.replace("waiting", "sleeping"), row.dueMs]),
    );
    expect(engine.effects().map(({ key, name, params, child, scope }) => [key, name, params, child, scope])).toEqual([
      [before.effects[0]?.key, "job", '{"by":2}', null, "ship.busy"],
      [before.effects[1]?.key, "fetch", '{"n":1}', "caller", "ship.calling"],
    ]);
    expect(engine.verify()).toMatchObject({ ok: true, faults: [] });
    await engine.close();
    // The next owner finds nothing to migrate.
    const again = await sail(store, ship3);
    expect(types(again, "ship/b")).toEqual(["xstate.init", "work", "engine.migrated"]);
    await again.close();
  });

  it("is done for all unfinished actors before any effect starts, and their timers and effects end in the new states", async () => {
    const { store } = place(kind);
    await harbour(store, FLEET);
    const order: string[] = [];
    const clock = simulatedClock();
    const options = {
      clock,
      effects: {
        job: async ({ params }: any) => order.push(`job ${params.by}`),
        fetch: async ({ params }: any) => order.push(`fetch ${params.n}`),
      },
      probe: (point: string, { entries = [] }: any) => {
        if (point === "commit.after") for (const { actor, event } of entries) order.push(`${actor} ${JSON.parse(event).type}`);
      },
    };
    const engine = await sail(store, ship3, options);
    await Promise.all(["b", "c"].map((id) => at(engine, ship3, id).waitFor((snapshot: any) => snapshot.matches("rest"))));
    clock.advance(1000);
    await at(engine, ship3, "a").waitFor((snapshot: any) => snapshot.matches("rest"));
    expect(order.slice(0, 4)).toEqual(["a", "b", "c", "e"].map((id) => `ship/${id} engine.migrated`));
    expect(order.slice(4).sort()).toEqual(
      ["fetch 1", "job 2", "ship/a xstate.after.soon.ship.sleeping", "ship/b job.done", "ship/c xstate.done.actor.caller"].sort(),
    );
    expect(["a", "b", "c"].map((id) => (at(engine, ship3, id).getSnapshot() as any).context.total)).toEqual([110, 110, 10]);
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });

  it("may change, drop and add timers and effects", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [{ type: "wait" }], b: [{ type: "work", by: 2 }], c: [{ type: "call" }] });
    const machine = ship2((stored) => {
      const old = moved.migrate(stored);
      if (old.value === "sleeping") {
        const [soon, later] = old.timers.map((timer) => ({ ...timer, dueMs: (timer.dueMs ?? 0) + 7 }));
        const { key: _, ...fresh } = later as NonNullable<typeof later>;
        return { ...old, timers: [soon, { ...fresh, dueMs: fresh.dueMs + 9 }] };
      }
      if (old.value === "busy") return { ...old, effects: old.effects.map((one) => ({ ...one, params: { by: 50 } })) };
      return { ...old, effects: [{ name: "job", params: { by: 3 }, scope: "" }] };
    });
    const [soon, later] = store.timers({}, { limit: 9 });
    const engine = await sail(store, machine);
    expect(engine.timers().map(({ key, dueMs }) => [key, dueMs])).toEqual([
      [soon?.key, (soon?.dueMs ?? 0) + 7],
      ["ship/a:3:1", (later?.dueMs ?? 0) + 16],
    ]);
    expect(store.timer(later?.key ?? "")).toBeUndefined();
    expect(engine.effects().map(({ key, name, params, child }) => [key, name, params, child])).toEqual([
      ["ship/b:2:0", "job", '{"by":50}', null],
      ["ship/c:3:0", "job", '{"by":3}', null],
    ]);
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });

  it("gives new effects and new timers keys of its entry, each its own", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [{ type: "wait" }] });
    const machine = ship2((stored) => {
      const old = moved.migrate(stored);
      const effects = [1, 2].map((by) => ({ name: "job", params: { by }, scope: "" }));
      return { ...old, effects, timers: old.timers.map(({ key: _, ...fresh }) => fresh) };
    });
    const engine = await sail(store, machine);
    expect(engine.effects().map(({ key }) => key)).toEqual(["ship/a:3:0", "ship/a:3:1"]);
    expect(engine.timers().map(({ key }) => key)).toEqual(["ship/a:3:2", "ship/a:3:3"]);
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });

  it("sets a timer that it gives no time from now on, for its whole delay, and never later than a time can be", async () => {
    for (const nowMs of [NOW_MS, TIME_LIMIT_MS - 500]) {
      const { store } = place(kind);
      await harbour(store, { a: [{ type: "wait" }] });
      const machine = ship2((stored) => {
        const old = moved.migrate(stored);
        return { ...old, timers: old.timers.map(({ dueMs: _, ...timer }) => timer) };
      });
      const engine = await sail(store, machine, { clock: simulatedClock(nowMs) });
      expect(engine.timers().map(({ delayMs, dueMs }) => [delayMs, dueMs])).toEqual(
        [1000, 5000].map((delayMs) => [delayMs, Math.min(nowMs + delayMs, TIME_LIMIT_MS)]),
      );
      await engine.close();
    }
  });

  it("brings an at-most-once effect that was started over as unknown, to the new version", async () => {
    const { store } = place(kind);
    const points = faultPoints();
    const first = await sail(store, ship, { probe: points.probe });
    const ref = await first.create(ship, "a", { input: { start: 1 } as never });
    const started = points.reached("effect.before");
    await ref.send({ type: "once", by: 1 } as never);
    await started;
    await first.close();
    const machine = ship2();
    const engine = await sail(store, machine);
    expect(types(engine, "ship/a").slice(2)).toEqual(["engine.migrated", "effect.unknown"]);
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });

  it("never touches a final actor, and no read writes", async () => {
    const { store } = place(kind);
    await harbour(store, FLEET);
    const machine = ship2();
    // One that is not migrated at open: it comes to be read only.
    const before = ["a", "d"].map((id) => all(store, `ship/${id}`));
    const position = store.lastPosition();
    const { migrate } = await import("../../src/actor/migration.ts");
    const { checkUpgrade } = await import("../../src/actor/upgrade.ts");
    const { registerAll } = await import("../../src/actor/engine.ts");
    const { verify } = await import("../../src/actor/verify.ts");
    const registrations = registerAll([machine]);
    const enclose = <T>(act: () => T) => act();
    expect(migrate).toBeTypeOf("function");
    expect([...checkUpgrade(store, registrations, enclose)].map(({ verdict }) => verdict)).toEqual(Array(4).fill("migratable"));
    expect(verify(store, registrations, enclose).faults).toEqual([]);
    expect([["a", "d"].map((id) => all(store, `ship/${id}`)), store.lastPosition()]).toEqual([before, position]);
    const engine = await sail(store, machine);
    expect(all(store, "ship/d")).toEqual(before[1]);
    const after = [all(store, "ship/a"), store.lastPosition()];
    expect(await at(engine, machine, "d").send({ type: "add", by: 1 } as never)).toMatchObject({ kind: "refused", code: "actor_final" });
    at(engine, machine, "a").getSnapshot();
    engine.list();
    engine.verify();
    expect([all(store, "ship/a"), store.lastPosition(), all(store, "ship/d")]).toEqual([...after, before[1]]);
    await engine.close();
  });

  it.each([1, 2, 3, 4])("that dies at commit %i converges, and each actor is migrated once", async (nth) => {
    const { store } = place(kind);
    await harbour(store, FLEET);
    const machine = ship2();
    const points = faultPoints();
    points.throwAt("commit.inside", new Error("crash"), { nth });
    expect(await rejection(sail(store, machine, { groupLimit: 1, probe: points.probe }))).toMatchObject({ code: "storage_failed" });
    const engine = await sail(store, machine);
    for (const id of ["a", "b", "c", "e"]) expect(types(engine, `ship/${id}`).filter((type) => type === "engine.migrated")).toHaveLength(1);
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });

  it("may not ask for the time", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [] });
    const machine = ship2((stored) => ({ ...moved.migrate(stored), context: { total: Date.now() % 10 } }));
    const engine = await sail(store, machine, { enclose: purityTrap });
    expect(await at(engine, machine, "a").send({ type: "add", by: 1 } as never)).toMatchObject({
      code: "migration_failed",
      message: expect.stringContaining("Date.now"),
    });
    await engine.close();
  });
});

/** It works in two regions, one of which remembers a room; it rings by delayed raises and calls the same logic twice. */
const mill = (version: string, migrate: (stored: StoredActor<any>) => unknown = (stored) => stored) => {
  const events = ["more", "leave", "back", "call", "ring.once", "ring.named", "rung"];
  const rooms = { first: { on: { more: "second" } }, second: {}, memory: { type: "history" } };
  return thing(
    {
      id: "mill",
      version,
      type: "parallel",
      on: { "ring.once": { actions: "once" }, "ring.named": { actions: "named" }, rung: { actions: "note" } },
      states: {
        left: {
          initial: "room",
          states: {
            room: { initial: "first", on: { leave: "out" }, states: rooms },
            out: { on: { back: "room.memory" } },
            ended: { type: "final" },
          },
        },
        right: {
          initial: "idle",
          states: {
            idle: { on: { call: "calling" } },
            calling: { invoke: ["one", "two", "three"].map((id) => ({ id, src: id === "three" ? "peek" : "fetch", input: { id } })) },
            ended: { type: "final" },
          },
        },
      },
    },
    {
      schemas: {
        events: Object.fromEntries(events.map((type) => [type, nothing])),
        ...(version === "1" ? {} : { migrations: { 1: { to: version, migrate } } }),
      },
      delays: { soon: 1000 },
      actors: { fetch: fromPromise(async () => 1), peek: fromPromise(async () => 1) },
      actions: {
        once: raise({ type: "rung" }, { delay: "soon" } as never),
        named: raise({ type: "rung" }, { delay: "soon", id: "bell" } as never),
        note: assign({ hasRung: true }),
      },
    },
  );
};

/** A mill of version 1 that took these events, and then one of version 2. */
async function grind(store: Store, types: readonly string[], migrate?: (stored: StoredActor<any>) => unknown, options: object = {}) {
  const [one, effects] = [mill("1"), { ...asleep, peek: asleep.fetch }];
  const first = await openEngine(store, { machines: [one], effects, closeGraceMs: 0, clock: simulatedClock() });
  const ref = await first.create(one, "a", { input: {} as never });
  for (const type of types) await ref.send({ type } as never);
  const before = { timers: first.timers(), effects: first.effects() };
  await first.close();
  const two = mill("2", migrate);
  const clock = simulatedClock();
  const engine = await openEngine(store, { machines: [two], effects, closeGraceMs: 0, clock, ...options });
  onTestFinished(() => engine.close());
  return { engine, before, clock, actor: at(engine, two, "a") };
}

describe.each(STORES)("a migration of what has more in it (%s)", (kind) => {
  it("keeps what history states remember", async () => {
    const { actor, engine } = await grind(place(kind).store, ["more", "leave"]);
    await actor.send({ type: "back" } as never);
    expect(actor.getSnapshot().value).toEqual({ left: { room: "second" }, right: "idle" });
    expect(engine.verify().faults).toEqual([]);
  });

  it.each([
    { ended: "one region", value: { left: "ended", right: "idle" }, answer: { kind: "accepted" } },
    { ended: "the other", value: { left: "out", right: "ended" }, answer: { kind: "accepted" } },
    { ended: "each region", value: { left: "ended", right: "ended" }, answer: { kind: "refused", code: "migration_failed" } },
  ])("that ends $ended is taken unless that ends the actor", async ({ value, answer }) => {
    const { actor } = await grind(place(kind).store, [], (stored) => ({ ...stored, value }));
    expect(await actor.send({ type: "rung" } as never)).toMatchObject(answer);
  });

  it("keeps timers that are no state's, with and without a name, and they fire", async () => {
    const { actor, engine, before, clock } = await grind(place(kind).store, ["ring.once", "ring.once", "ring.named"]);
    const keys = (rows: readonly { key: string; id: string }[]) => rows.map(({ key, id }) => [key, id]).sort();
    expect(keys(engine.timers())).toEqual(keys(before.timers));
    clock.advance(1000);
    await actor.waitFor((snapshot: any) => snapshot.context.hasRung);
    await expect.poll(() => engine.timers()).toEqual([]);
    expect(engine.verify().faults).toEqual([]);
  });

  it.each<[string, readonly object[], string, string?]>([
    ["the same name twice", [{ id: "bell" }, { id: "bell" }], "timers.1.id"],
    ["an event that the machine never raises", [{}, { event: { type: "more" } }], "timers.1.id"],
    ["another delay", [{ id: "bell" }, { delay: "late" }], "timers.1.id", "rung"],
    ["an event that does not fit", [{}, { id: "bell", event: { type: "rung", more: 1 } }], "timers.1.event", "bell"],
  ])("that gives such timers %s is refused, and says where and of which", async (_, given, path, which = "") => {
    const fresh = { id: "", event: { type: "rung" }, delay: "soon", delayMs: 1000 };
    const { actor } = await grind(place(kind).store, [], (stored) => ({ ...stored, timers: given.map((one) => ({ ...fresh, ...one })) }));
    const failure = { code: "migration_failed", details: { actor: "mill/a", path }, message: expect.stringContaining(which) };
    expect(() => actor.getSnapshot()).toThrow(expect.objectContaining(failure));
  });

  it("leaves each of two that invoke the same logic the child that it was, and gives a new one the other", async () => {
    const children = async (migrate?: (stored: StoredActor<any>) => unknown) => {
      const { engine, before } = await grind(place(kind).store, ["call"], migrate);
      expect(before.effects.map(({ child }) => child)).toEqual(["one", "two", "three"]);
      expect(engine.verify().faults).toEqual([]);
      return Object.fromEntries(engine.effects().map(({ key, child }) => [key, child]));
    };
    const [one, two, three] = ["mill/a:2:0", "mill/a:2:1", "mill/a:2:2"] as const;
    expect(await children()).toEqual({ [one]: "one", [two]: "two", [three]: "three" });
    const turned = (stored: StoredActor<any>) => ({ ...stored, effects: [...stored.effects].reverse() });
    expect(await children(turned)).toEqual({ [one]: "one", [two]: "two", [three]: "three" });
    const renewed = ({ effects: [, kept, other], ...stored }: StoredActor<any>) => {
      const { key: _, ...fresh } = kept as NonNullable<typeof kept>;
      return { ...stored, effects: [kept, fresh, other] };
    };
    expect(await children(renewed)).toEqual({ [two]: "two", "mill/a:3:1": "one", [three]: "three" });
  });

  it("that has one of them invoked more often than its state does is refused", async () => {
    const { actor } = await grind(place(kind).store, ["call"], (stored) => {
      const { key: _, ...fresh } = stored.effects[0] as NonNullable<(typeof stored.effects)[0]>;
      return { ...stored, effects: [...stored.effects, fresh] };
    });
    expect(() => actor.getSnapshot()).toThrow(
      expect.objectContaining({ code: "migration_failed", details: { actor: "mill/a", path: "effects.3.scope" } }),
    );
  });
});

it("a migration whose entry has as many characters as one may have is taken, and not with one more", async () => {
  const sizes = (pad: number) => (stored: StoredActor<any>) => ({ ...stored, context: { pad: "x".repeat(pad) } });
  const options = { contextLimit: 2 * PAYLOAD_LIMIT, contextWarning: 2 * PAYLOAD_LIMIT };
  const small = await grind(place().store, [], sizes(0), options);
  const most = PAYLOAD_LIMIT - JSON.stringify(journal(small.engine, "mill/a").at(-1)?.event).length;
  for (const [pad, answer] of [
    [most, { kind: "accepted" }],
    [most + 1, { kind: "refused", code: "migration_failed" }],
  ] as const) {
    const { actor } = await grind(place().store, [], sizes(pad), options);
    expect(await actor.send({ type: "leave" } as never)).toMatchObject(answer);
  }
});

describe.each(STORES)("an actor whose migration fails (%s)", (kind) => {
  const timer = (more: object) => (stored: StoredActor<any>) => {
    const old = moved.migrate(stored);
    return { ...old, timers: [{ ...old.timers[0], ...more }] };
  };
  const effect = (more: object) => (stored: StoredActor<any>) => ({
    ...moved.migrate(stored),
    effects: [{ name: "job", params: { by: 1 }, scope: "", ...more }],
  });
  const part = (more: object) => (stored: StoredActor<any>) => ({ ...moved.migrate(stored), ...more });
  it.each<[string, (stored: StoredActor<any>) => unknown, string, string?]>([
    [
      "throws",
      () => {
        throw new Error("no way");
      },
      "$",
    ],
    [
      "throws an error of the engine's own",
      () => {
        throw new HoldfastError("closed", "no way");
      },
      "$",
    ],
    [
      "changes what it was given",
      (stored: any) => {
        stored.context.count = 2;
        return stored;
      },
      "$",
    ],
    ["gives nothing", () => undefined, "$"],
    ["gives a value that contains itself", part({ value: endless() }), "$"],
    ["gives something that throws when it is read", part({ value: throwing() }), "$"],
    ["gives a context that throws when it is read", part({ context: throwing() }), "$"],
    ["gives a context that contains itself", part({ context: endless() }), "context"],
    ["gives a state that is not there", part({ value: "nowhere" }), "value"],
    ["gives a value that is none", part({ value: 5 }), "value"],
    ["gives a value with something else in it", part({ value: { rest: 5 } }), "value"],
    ["gives a final state", part({ value: "ended" }), "value"],
    ["gives a context of the old form", part({ context: { count: 1 } }), "context.total"],
    ["gives a context that is no JSON", part({ context: { total: new Date(0) } }), "context"],
    ["gives a history that is none", part({ historyValue: 5 }), "historyValue"],
    ["gives a history of states that are not there", part({ historyValue: { "ship.h": [{ id: "ship.none" }] } }), "historyValue"],
    ["gives a history of one state that is not there", part({ historyValue: { ship: [{ id: "ship.none" }] } }), "historyValue"],
    ["gives a history that the machine has not", part({ historyValue: { "ship.none": [{ id: "ship.rest" }] } }), "historyValue"],
    ["gives a history of states without names", part({ historyValue: { ship: [{}] } }), "historyValue.ship.0.id"],
    ["gives a timer an event without a type", timer({ event: {} }), "timers.0.event.type"],
    ["gives an effect that is not there", effect({ name: "none" }), "effects.0.name"],
    ["gives params that do not fit", effect({ params: { by: "x" } }), "effects.0.params"],
    ["gives an effect of a state that is not active", effect({ scope: "ship.busy" }), "effects.0.scope"],
    [
      "gives invoked logic where nothing invokes it",
      effect({ name: "fetch", params: {}, scope: "ship.sleeping" }),
      "effects.0.scope",
      "ship.sleeping",
    ],
    ["gives an effect the key of another", effect({ key: "ship/b:2:0" }), "effects"],
    ["gives too many effects", part({ effects: Array(1001).fill({ name: "job", params: { by: 1 }, scope: "" }) }), "effects"],
    ["gives a timer a delay that is not there", timer({ delay: "never" }), "timers.0.id"],
    ["gives a timer of a state that is not active", timer({ id: "xstate.after.soon.ship.rest" }), "timers.0.id"],
    ["gives a timer another event", timer({ event: { type: "add", by: 1 } }), "timers.0.event"],
    ["gives a timer no time", timer({ dueMs: -1 }), "timers.0.dueMs"],
    ["gives a timer a longer delay than any may be", timer({ delayMs: DELAY_LIMIT_MS + 1 }), "timers.0.delayMs"],
    [
      "gives a timer twice",
      (stored) => {
        const old = moved.migrate(stored);
        return { ...old, timers: [...old.timers, ...old.timers] };
      },
      "timers",
    ],
    ["gives more than a snapshot may have", part({ context: { total: 1, [`x${"x".repeat(3000)}`]: 1 } }), "context"],
  ])("because it %s is parked alone, says where, and its row stays as it is", async (_, migrate, path, where = "") => {
    const { store } = place(kind);
    await harbour(store, { a: [{ type: "wait" }], b: [{ type: "work", by: 2 }] });
    const before = all(store, "ship/a");
    const loose = { context: (await import("zod")).z.looseObject({ total: (await import("zod")).z.int() }) };
    const machine = ship2((stored) => (stored.value === "waiting" ? migrate(stored) : moved.migrate(stored)), { schemas: loose });
    const engine = await sail(store, machine, { contextLimit: 2500 });
    expect(await at(engine, machine, "a").send({ type: "rest" } as never)).toMatchObject({ kind: "refused", code: "migration_failed" });
    if (!_.includes("more than"))
      expect(() => at(engine, machine, "a").getSnapshot()).toThrow(
        expect.objectContaining({
          ...{ code: "migration_failed", details: expect.objectContaining({ actor: "ship/a", path }) },
          message: expect.stringContaining(where),
        }),
      );
    expect(all(store, "ship/a")).toEqual(before);
    expect(await at(engine, machine, "b").send({ type: "add", by: 1 } as never)).toMatchObject({ kind: "accepted", seq: 4 });
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
    // A deploy that does it right finds the actor as it was left.
    const right = await sail(store, ship2());
    expect(types(right, "ship/a")).toEqual(["xstate.init", "wait", "engine.migrated"]);
    await right.close();
  });

  it("because it throws is told of with what it threw, and because of what it gives with nothing", async () => {
    const thrown = new Error("no way");
    for (const [machine, cause] of [
      [
        ship2(() => {
          throw thrown;
        }),
        thrown,
      ],
      [ship2(part({ value: 5 })), undefined],
    ] as const) {
      const { store } = place(kind);
      await harbour(store, { a: [] });
      const engine = await sail(store, machine);
      const failure = await rejection(Promise.resolve().then(() => at(engine, machine, "a").getSnapshot()));
      expect([failure.code, failure.cause]).toEqual(["migration_failed", cause]);
      await engine.close();
    }
  });

  it("because its snapshot has ended, whatever its row says, is parked, also where the migration gives another state", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [{ type: "end" }] });
    store.write(store.epoch(), (writer) => {
      const row = writer.actor("ship/a");
      if (row) writer.putActor({ ...row, status: "active" });
    });
    const machine = ship2((stored) => ({ ...moved.migrate(stored), value: "rest" }));
    const engine = await sail(store, machine);
    expect(await at(engine, machine, "a").send({ type: "rest" } as never)).toMatchObject({ kind: "refused", code: "migration_failed" });
    await engine.close();
  });

  it("is parked as machine_version_unknown where nothing leads on, and nobody else is", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [] });
    await harbour(store, { b: [] }, shipOf({ ...NEW, version: "2" }));
    const before = all(store, "ship/a");
    const machine = shipOf({ ...NEW, version: "3", migrations: { 2: { to: "3", migrate: (stored) => stored } } });
    const engine = await sail(store, machine);
    expect(await at(engine, machine, "a").send({ type: "rest" } as never)).toMatchObject({ code: "machine_version_unknown" });
    expect(await at(engine, machine, "b").send({ type: "add", by: 1 } as never)).toMatchObject({ kind: "accepted", seq: 3 });
    expect(all(store, "ship/a")).toEqual(before);
    await engine.close();
  });

  it("keeps its due timer for a deploy that can take it", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [{ type: "wait" }] });
    const clock = simulatedClock(1_767_225_600_000 + 1000);
    const parked = await sail(store, shipOf({ ...NEW, version: "2" }), { clock });
    await expect.poll(() => parked.timers()[0]?.state).toBe("parked");
    await parked.close();
    const machine = ship2();
    const engine = await sail(store, machine, { clock });
    await at(engine, machine, "a").waitFor((snapshot: any) => snapshot.matches("rest"));
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });
});

function endless(): object {
  const value: Record<string, unknown> = {};
  value.a = value;
  return value;
}

function throwing(): object {
  return Object.defineProperty({}, "a", {
    enumerable: true,
    get: () => {
      throw new Error("not to be read");
    },
  });
}
