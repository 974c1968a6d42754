import { describe, expect, it } from "vitest";
import { type AnyMachineSnapshot, type AnyStateMachine, assign, emit, enqueueActions, setup } from "xstate";
import { z } from "zod";
import { effect, engineActions } from "../../machines/action.ts";
import { register } from "../../src/actor/registration.ts";
import { settleEffects } from "../../src/actor/request.ts";
import type { EffectRow } from "../../src/actor/store.ts";
import { dehydrate, type EngineEvent, hydrate, refusalOf, start, stateName, take } from "../../src/actor/transition.ts";
import { counter } from "./counter.ts";

const stamp = { at: 1, seq: 1, id: "thing/a:1" };
const plain = <T>(transition: () => T): T => transition();
const nothing = z.strictObject({});

const thrown = (act: () => unknown): { code?: string; message: string; details?: { path?: string } } => {
  try {
    act();
  } catch (error) {
    return error as { message: string };
  }
  throw new Error("expected it to throw");
};

describe("a transition of a counter", () => {
  const registration = register(counter);
  const initial = start(registration, { start: 1 }, stamp, plain).snapshot;
  const taken = (event: EngineEvent) => take(registration, initial, event, stamp, plain);

  it("states its facts and its requests in order, and executes nothing", () => {
    const outcome = taken({ type: "count.tell", to: "counter/b", by: 2 });
    expect(outcome.requests).toEqual([{ type: "deliver", to: "counter/b", event: { type: "count.added", by: 2 } }]);
    expect(taken({ type: "count.add", by: 2 }).facts).toEqual([{ type: "count.changed", count: 3 }]);
  });

  it("says whether it took notice", () => {
    expect(taken({ type: "never.taken" }).taken).toBe(false);
    expect(taken({ type: "count.add", by: 0 }).taken).toBe(true);
  });

  it.each([
    ["a guard", "guard.throw", "machine_threw"],
    ["an assign", "assign.throw", "machine_threw"],
    ["the params of an action", "params.throw", "machine_threw"],
  ])("turns what %s throws into a coded error", (_, type, code) => {
    expect(thrown(() => taken({ type }))).toMatchObject({ code });
  });

  it("refuses a context that does not fit, with the path", () => {
    expect(thrown(() => taken({ type: "context.spoil" }))).toMatchObject({
      code: "context_invalid",
      details: { machine: "counter", path: "count" },
    });
  });

  it("refuses a fact that does not fit, with the path", () => {
    expect(thrown(() => taken({ type: "fact.spoil" }))).toMatchObject({
      code: "fact_invalid",
      details: { machine: "counter", path: "count" },
    });
  });

  it("cannot change the snapshot that it starts from", () => {
    expect(thrown(() => taken({ type: "context.mutate" }))).toMatchObject({ code: "machine_threw" });
    expect(initial.context).toEqual({ count: 1, log: [] });
  });
});

/** A machine with one odd thing in it. */
function odd(
  state: object,
  options: { context?: object; actions?: object; guards?: object; facts?: object; effects?: object; refusal?: () => unknown } = {},
) {
  const job = { params: z.looseObject({}), done: "job.done", delivery: "at_least_once" };
  const machine = setup({
    schemas: {
      input: nothing,
      context: z.looseObject({}),
      events: { go: nothing, more: nothing, "job.done": z.looseObject({}) },
      facts: options.facts ?? {},
      effects: options.effects ?? { job },
      ...(options.refusal ? { refusal: options.refusal } : {}),
    },
    actions: { ...engineActions, job: effect(), ...options.actions },
    guards: options.guards ?? {},
  } as never).createMachine({ id: "thing", version: "1", context: options.context ?? {}, ...state } as never) as unknown as AnyStateMachine;
  return register(machine);
}

describe("a transition of parallel states", () => {
  it("says where it takes no notice of an event", () => {
    const registration = odd({ type: "parallel", states: { left: { on: { go: {} } }, right: {} } });
    const { snapshot } = start(registration, {}, stamp, plain);
    const outcome = take(registration, snapshot, { type: "more" }, stamp, plain);
    expect([outcome.taken, outcome.snapshot === snapshot]).toEqual([false, true]);
  });

  it("takes them in the order in which a restart finds them, not in that in which they were entered", () => {
    const note = (word: string) => assign({ log: ({ context }: { context: { log: string[] } }) => [...context.log, word] } as never);
    const region = (word: string) => ({
      initial: "in",
      states: { in: { on: { [word]: "again" } }, again: { always: { guard: "isReady", target: "out", actions: word } }, out: {} },
    });
    const registration = odd(
      {
        context: { log: [] },
        type: "parallel",
        states: { left: region("go"), right: region("more") },
        on: { "job.done": { actions: "ready" } },
      },
      {
        actions: { go: note("left"), more: note("right"), ready: note("ready") },
        guards: { isReady: ({ context }: { context: { log: string[] } }) => context.log.includes("ready") },
      },
    );
    const run = (between: (snapshot: AnyMachineSnapshot) => AnyMachineSnapshot) => {
      let { snapshot } = start(registration, {}, stamp, plain);
      for (const type of ["more", "go", "job.done"]) ({ snapshot } = take(registration, between(snapshot), { type }, stamp, plain));
      return snapshot.context;
    };
    expect(run((snapshot) => snapshot)).toEqual(run((snapshot) => hydrate(registration, dehydrate(registration, snapshot))));
  });
});

describe("a transition is refused where a machine", () => {
  const go = (registration: ReturnType<typeof odd>) => {
    const { snapshot } = start(registration, {}, stamp, plain);
    return take(registration, snapshot, { type: "go" }, stamp, plain);
  };
  const on = (actions: unknown) => ({ on: { go: { actions } } });

  it.each<[string, object, object, string]>([
    ["keeps a Date in its context", on(assign({ at: () => new Date(0) } as never)), {}, "context_invalid"],
    ["keeps NaN in its context", on(assign({ n: Number.NaN } as never)), {}, "context_invalid"],
    ["keeps a Map in its context", on(assign({ n: () => new Map() } as never)), {}, "context_invalid"],
    ["emits a fact without a schema", on(emit(() => ({ type: "odd.stated" }))), {}, "fact_invalid"],
    ["emits nothing", on(emit(() => null as never)), {}, "fact_invalid"],
    ["emits a fact named like a method of all objects", on(emit(() => ({ type: "constructor" }))), {}, "fact_invalid"],
    [
      "emits a fact that is not plain JSON",
      on(emit(() => ({ type: "odd", x: undefined }) as never)),
      { facts: { odd: z.looseObject({}) } },
      "fact_invalid",
    ],
    ["delivers without an address", on({ type: "deliver", params: () => ({ event: { type: "x" } }) }), {}, "action_invalid"],
    ["delivers what has no type", on({ type: "deliver", params: () => ({ to: "a/b", event: {} }) }), {}, "action_invalid"],
    ["creates without an id", on({ type: "createActor", params: () => ({ machine: "a" }) }), {}, "action_invalid"],
    [
      "creates with keys that are no list",
      on({ type: "createActor", params: () => ({ machine: "a", id: "b", keys: "k" }) }),
      {},
      "action_invalid",
    ],
    ["cancels an effect that it does not declare", on({ type: "cancelEffect", params: () => ({ effect: "nap" }) }), {}, "action_invalid"],
    ["aborts an effect that cannot say that it was", on({ type: "abortEffect", params: () => ({ effect: "job" }) }), {}, "action_invalid"],
    ["gives an effect params that are not plain JSON", on({ type: "job", params: () => ({ at: new Date(0) }) }), {}, "action_invalid"],
    [
      "gives an effect params that do not fit",
      on({ type: "job", params: () => ({ n: "one" }) }),
      { effects: { job: { params: z.object({ n: z.number() }), done: "job.done", delivery: "at_least_once" } } },
      "action_invalid",
    ],
    ["enqueues a function of its own", on(enqueueActions(({ enqueue }) => enqueue(() => {}))), {}, "action_invalid"],
    [
      "ends with an output that is not plain JSON",
      { initial: "one", states: { one: { on: { go: "two" } }, two: { type: "final" } }, output: () => new Map() },
      {},
      "context_invalid",
    ],
    [
      "has a schema that throws",
      on({ type: "job", params: () => ({}) }),
      {
        effects: {
          job: {
            params: z.unknown().refine(() => {
              throw new Error("schema");
            }),
            done: "job.done",
            delivery: "at_least_once",
          },
        },
      },
      "action_invalid",
    ],
  ])("%s", (_, state, options, code) => {
    expect(thrown(() => go(odd(state, options)))).toMatchObject({ code, message: expect.stringContaining("thing") });
  });

  it("refers to itself in its context", () => {
    const self: Record<string, unknown> = {};
    self.self = self;
    expect(thrown(() => go(odd(on(assign({ self: () => self } as never)))))).toMatchObject({ code: "context_invalid" });
  });
});

describe("what a refused transition says", () => {
  const told = (actions: unknown, facts = {}) => {
    const registration = odd({ on: { go: { actions } } }, { facts });
    const { snapshot } = start(registration, {}, stamp, plain);
    return thrown(() => take(registration, snapshot, { type: "go" }, stamp, plain)).message;
  };

  it.each<[string, unknown, object]>([
    ["the fact odd.stated is not named by schemas.facts", emit(() => ({ type: "odd.stated" })), {}],
    ["the fact odd is not plain JSON at $.at", emit(() => ({ type: "odd", at: new Date(0) }) as never), { odd: z.looseObject({}) }],
    ["the fact odd does not fit its schema: n ", emit(() => ({ type: "odd", n: "one" })), { odd: z.strictObject({ n: z.number() }) }],
    ["the context is not plain JSON at $.at", assign({ at: () => new Date(0) } as never), {}],
  ])("is %s", (reason, actions, facts) => {
    expect(told(actions, facts)).toContain(reason);
  });

  it("is how much it asks for at once, from one more on than is allowed", () => {
    const many = (count: number) => Array.from({ length: count }, () => ({ type: "deliver", params: { to: "a/b", event: { type: "x" } } }));
    const registration = odd({ on: { go: { actions: many(10_000) } } });
    const { snapshot } = start(registration, {}, stamp, plain);
    expect(take(registration, snapshot, { type: "go" }, stamp, plain).requests).toHaveLength(10_000);
    expect(told(many(10_001))).toContain("asks for 10001 things at once; 10000 are allowed");
  });
});

describe("a machine", () => {
  it("reads the engine's stamp in its input, and does not keep it by spreading", () => {
    const context = ({ input }: { input: { stamp: { seq: number } } }) => ({ seq: input.stamp.seq, ...input });
    expect(start(odd({}, { context }), {}, { ...stamp, seq: 7 }, plain).snapshot.context).toEqual({ seq: 7 });
  });

  it("that delivers to nobody asks for nothing", () => {
    const registration = odd({ on: { go: { actions: { type: "deliver", params: { to: null, event: { type: "x" } } } } } });
    const { snapshot } = start(registration, {}, stamp, plain);
    expect(take(registration, snapshot, { type: "go" }, stamp, plain)).toMatchObject({ requests: [], made: [] });
  });

  it("stores a context as it is, also one that looks like a reference to an actor", () => {
    const context = { one: { sessionId: "x:0", send: null, ref: { id: "y" } }, two: { xstate$$type: 1, id: "z" } };
    const registration = odd({}, { context });
    const text = dehydrate(registration, start(registration, {}, stamp, plain).snapshot);
    expect(JSON.parse(text).context).toEqual(context);
    expect(hydrate(registration, text).context).toEqual(context);
    expect(dehydrate(registration, hydrate(registration, text))).toBe(text);
  });

  it("cannot change a snapshot that was read from a store", () => {
    const registration = odd({}, { context: { list: [] } });
    const read = hydrate(registration, dehydrate(registration, start(registration, {}, stamp, plain).snapshot));
    expect(() => (read.context.list as string[]).push("more")).toThrow(TypeError);
  });
});

describe("the text of a snapshot", () => {
  it("is XState's own form of it", () => {
    const events = { next: nothing, leave: nothing, back: nothing, end: nothing };
    const machine = setup({
      schemas: { input: nothing, context: z.strictObject({ n: z.number() }), events, facts: {} } as never,
    }).createMachine({
      id: "walk",
      version: "1",
      context: { n: 0 },
      initial: "here",
      output: { done: true },
      states: {
        here: { on: { next: "there" } },
        there: {
          initial: "near",
          states: { near: { on: { next: "far" } }, far: {}, last: { type: "history" } },
          on: { leave: "away", end: "over" },
        },
        away: { on: { back: "there.last" } },
        over: { type: "final" },
      },
    } as never);
    const registration = register(machine as unknown as AnyStateMachine);
    const seen = [start(registration, {}, stamp, plain).snapshot];
    for (const type of ["next", "next", "leave", "back", "end"])
      seen.push(take(registration, seen.at(-1) as AnyMachineSnapshot, { type }, stamp, plain).snapshot);
    expect(seen.map(({ value }) => stateName(value))).toEqual(["here", "there.near", "there.far", "away", "there.far", "over"]);
    for (const one of seen) {
      const text = JSON.stringify(registration.machine.getPersistedSnapshot(one));
      expect(dehydrate(registration, one)).toBe(text);
      expect(dehydrate(registration, hydrate(registration, text))).toBe(text);
    }
  });

  it("has what a later XState adds to it", () => {
    const registration = register(counter);
    const { snapshot } = start(registration, { start: 1 }, stamp, plain);
    expect(JSON.parse(dehydrate(registration, { ...snapshot, added: 1 } as never))).toMatchObject({ context: { count: 1 }, added: 1 });
  });
});

describe("why an event is refused", () => {
  const reason = (refusal?: () => unknown) => {
    const registration = odd({}, refusal ? { refusal } : {});
    return refusalOf(registration, start(registration, {}, stamp, plain).snapshot, { type: "go" }, plain);
  };

  it("is what the machine says, where it says a word", () => {
    expect([reason(() => "not_now"), reason(() => 7), reason(() => undefined), reason()]).toEqual([
      "not_now",
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("is a coded error where the machine throws", () => {
    const act = () =>
      reason(() => {
        throw new Error("slip");
      });
    expect(thrown(act)).toMatchObject({ code: "machine_threw", message: expect.stringContaining("slip") });
  });
});

describe("the name of a state", () => {
  it.each([
    ["idle", "idle"],
    [{ running: "stepping" }, "running.stepping"],
    [{ left: "in", right: { out: "far" } }, "left.in,right.out.far"],
    [{ left: {}, right: "in" }, "left,right.in"],
  ])("%j is %s", (value, name) => {
    expect(stateName(value)).toBe(name);
  });
});

describe("an outcome that a machine does not take", () => {
  it("is told by the message of its error", () => {
    const machine = odd({});
    const { snapshot } = start(machine, {}, stamp, plain);
    const event = { type: "xstate.error.actor.printer", error: { code: "empty", message: "out of paper" } };
    expect(thrown(() => take(machine, snapshot, event, stamp, plain)).message).toContain("out of paper");
  });
});

describe("an effect belongs to", () => {
  const settled = (registration: ReturnType<typeof odd>, events: string[]): EffectRow[] => {
    let outcome = start(registration, {}, stamp, plain);
    let effects: readonly EffectRow[] = [];
    const fold = (seq: number) => {
      effects = settleEffects({
        registration,
        actor: "thing/a",
        seq,
        atMs: 1,
        epoch: 1,
        settled: undefined,
        outcome,
        before: effects,
      }).effects;
    };
    fold(1);
    for (const [index, type] of events.entries()) {
      outcome = take(registration, outcome.snapshot, { type }, stamp, plain);
      fold(index + 2);
    }
    return [...effects];
  };
  const rows = (registration: ReturnType<typeof odd>, ...events: string[]) =>
    settled(registration, events).map(({ key, scope }) => [key, scope]);

  it("the state whose entry requests it, from the first state on", () => {
    const machine = odd({ initial: "one", states: { one: { entry: "job", on: { go: "two" } }, two: {} } });
    expect(rows(machine)).toEqual([["thing/a:1:0", "thing.one"]]);
    expect(rows(machine, "go")).toEqual([]);
  });

  it("its actor where a transition requests it", () => {
    const machine = odd({
      initial: "one",
      states: { one: { on: { go: { target: "two", actions: "job" } } }, two: { on: { more: "one" } } },
    });
    expect(rows(machine, "go", "more")).toEqual([["thing/a:2:0", ""]]);
  });

  it("its own state where one within it, or one beside it, requests the same", () => {
    const leaves = { on: { go: ".away" }, initial: "in", states: { in: { entry: "job" }, away: {} } };
    const nested = odd({ initial: "one", states: { one: { entry: "job", ...leaves } } });
    expect(rows(nested)).toEqual([
      ["thing/a:1:0", "thing.one"],
      ["thing/a:1:1", "thing.one.in"],
    ]);
    expect(rows(nested, "go")).toEqual([["thing/a:1:0", "thing.one"]]);
    const both = odd({ type: "parallel", states: { one: leaves, two: { initial: "in", states: { in: { entry: "job" } } } } });
    expect(rows(both, "go")).toEqual([["thing/a:1:1", "thing.two.in"]]);
  });

  it("its actor where a transition requests it while a state is active that has it on entry", () => {
    const machine = odd({ initial: "one", states: { one: { entry: "job", on: { go: { actions: "job" }, more: "two" } }, two: {} } });
    expect(rows(machine, "go", "more")).toEqual([["thing/a:2:0", ""]]);
  });

  it("nobody where its state is left in the same macrostep", () => {
    const machine = odd({ initial: "one", states: { one: { entry: "job", always: "two" }, two: {} } });
    expect(rows(machine)).toEqual([]);
  });

  it("the later state where an earlier one, left at once, requests it too", () => {
    const machine = odd({ initial: "one", states: { one: { entry: "job", always: "two" }, two: { entry: "job" } } });
    expect(rows(machine)).toEqual([["thing/a:1:1", "thing.two"]]);
  });

  it("its actor where enqueueActions requests it outside of the state that has it on entry", () => {
    const enqueued = enqueueActions(({ enqueue }) => enqueue("job" as never));
    const machine = odd({ initial: "one", states: { one: { on: { go: { actions: enqueued } } }, two: { entry: "job" } } });
    expect(rows(machine, "go")).toEqual([["thing/a:2:0", ""]]);
  });

  it("its state beside others of the same name that the same entry requests", () => {
    const twice = [
      { type: "job", params: { n: 1 } },
      { type: "job", params: { n: 2 } },
    ];
    const machine = odd({ initial: "one", states: { one: { entry: twice, on: { go: { target: "one", reenter: true } } } } });
    expect(rows(machine).map(([key]) => key)).toEqual(["thing/a:1:0", "thing/a:1:1"]);
    expect(rows(machine, "go").map(([key]) => key)).toEqual(["thing/a:2:0", "thing/a:2:1"]);
  });

  it("its state once, where the state is entered twice in one macrostep", () => {
    const machine = odd(
      {
        context: { left: 1 },
        initial: "one",
        states: { one: { entry: "job", always: { guard: "isLeft", actions: "down", target: "one", reenter: true } } },
      },
      {
        actions: { down: assign({ left: 0 } as never) },
        guards: { isLeft: ({ context }: { context: { left: number } }) => context.left > 0 },
      },
    );
    expect(rows(machine)).toEqual([["thing/a:1:1", "thing.one"]]);
  });

  it("its actor up to a bound, beyond which the macrostep is refused", () => {
    const many = Array.from({ length: 1001 }, () => ({ type: "job", params: {} }));
    const machine = odd({ on: { go: { actions: many } } });
    expect(thrown(() => settled(machine, ["go"]))).toMatchObject({ code: "action_invalid" });
  });

  it("nobody once its actor has ended", () => {
    const machine = odd({ initial: "one", states: { one: { on: { go: { target: "two", actions: "job" } } }, two: { type: "final" } } });
    expect(rows(machine, "go")).toEqual([]);
  });
});
