import { describe, expect, it } from "vitest";
import { type AnyStateMachine, and, assign, createMachine, fromPromise, not, raise, setup, stateIn } from "xstate";
import { z } from "zod";
import { effect } from "../../machines/action.ts";
import { registerAll } from "../../src/actor/engine.ts";
import { HoldfastError } from "../../src/actor/error.ts";
import { checkMachine } from "../../src/actor/machine-check.ts";
import { machineInvalid, register } from "../../src/actor/registration.ts";
import { counter, handlers } from "./counter.ts";

const nothing = z.strictObject({});
const schemas = {
  input: nothing,
  context: nothing,
  events: { go: nothing, "job.done": z.looseObject({}), "job.failed": z.looseObject({}) },
  facts: {},
};
const job = { params: nothing, done: "job.done", delivery: "at_least_once" };

/** A machine whose only state is given; everything else is as it must be. */
function machine(state: object, options: { id?: string; version?: unknown; schemas?: object; guards?: object; actions?: object } = {}) {
  return setup({
    schemas: options.schemas ?? schemas,
    actions: options.actions ?? {},
    guards: options.guards ?? { fine: () => true },
    actors: { child: fromPromise(async () => 1) },
    delays: { later: 10, wait: () => "5" },
  } as never).createMachine({
    id: options.id ?? "thing",
    version: "version" in options ? options.version : "1",
    context: {},
    initial: "one",
    states: { one: state, two: {} },
  } as never) as unknown as AnyStateMachine;
}

function refusal(build: () => unknown): { code: string; path: unknown; machine: unknown; message: string } {
  try {
    build();
  } catch (error) {
    if (error instanceof HoldfastError)
      return { code: error.code, path: error.details.path, machine: error.details.machine, message: error.message };
    throw error;
  }
  throw new Error("it was registered");
}

const withEffect = (declared: object) => ({ ...schemas, effects: { job: { ...job, ...declared } } });

describe("a machine is refused, with its id and the place, that has", () => {
  it.each<[string, () => ReturnType<typeof machine>, string]>([
    ["an action without a name", () => machine({ entry: () => {} }), "thing.one.entry"],
    ["an action without a name on a transition", () => machine({ on: { go: { actions: [() => {}] } } }), "thing.one.on.go"],
    ["an action without a name on exit", () => machine({ exit: () => {} }), "thing.one.exit"],
    ["a guard without a name", () => machine({ on: { go: { guard: () => true, target: "two" } } }), "thing.one.on.go"],
    [
      "a guard without a name inside another",
      () => machine({ always: { guard: and(["fine", not((() => true) as never)]), target: "two" } }),
      "thing.one.always",
    ],
    ["a guard that setup does not define", () => machine({ on: { go: { guard: "missing", target: "two" } } }), "thing.one.on.go"],
    [
      "a plain function as an action that is no effect",
      () => machine({ entry: "shout" }, { actions: { shout: () => {} } }),
      "thing.one.entry",
    ],
    ["an action that nobody defines", () => machine({ entry: "missing" }), "thing.one.entry"],
    ["an id with capital letters", () => machine({}, { id: "Thing" }), "id"],
    ["an id with a slash", () => machine({}, { id: "a/b" }), "id"],
    ["no version", () => machine({}, { version: undefined }), "version"],
    ["a version that cannot be compared", () => machine({}, { version: "v1-beta" }), "version"],
    ["a version that is no text", () => machine({}, { version: 1 }), "version"],
    ["a context schema that is no schema", () => machine({}, { schemas: { ...schemas, context: {} } }), "schemas.context"],
    ["an event schema that is no schema", () => machine({}, { schemas: { ...schemas, events: { go: {} } } }), "schemas.events.go"],
    ["a fact schema that is no schema", () => machine({}, { schemas: { ...schemas, facts: { went: true } } }), "schemas.facts.went"],
    [
      "an effect whose params have no schema",
      () => machine({}, { schemas: withEffect({ params: undefined }) }),
      "schemas.effects.job.params",
    ],
    ["an effect with an unknown done event", () => machine({}, { schemas: withEffect({ done: "job.finished" }) }), "schemas.effects.job"],
    ["an effect with an unknown failed event", () => machine({}, { schemas: withEffect({ failed: "job.lost" }) }), "schemas.effects.job"],
    [
      "an effect with an unknown aborted event",
      () => machine({}, { schemas: withEffect({ aborted: "job.stopped" }) }),
      "schemas.effects.job",
    ],
    [
      "an at-most-once effect and no effect.unknown",
      () => machine({}, { schemas: withEffect({ delivery: "at_most_once" }) }),
      "schemas.effects.job",
    ],
    [
      "an effect with an unknown delivery",
      () => machine({}, { schemas: withEffect({ delivery: "exactly_once" }) }),
      "schemas.effects.job.delivery",
    ],
    ["an effect without a try", () => machine({}, { schemas: withEffect({ attempts: 0 }) }), "schemas.effects.job.attempts"],
    ["an effect that can never run", () => machine({}, { schemas: withEffect({ concurrency: 0 }) }), "schemas.effects.job.concurrency"],
    [
      "an effect with an endless time-out",
      () => machine({}, { schemas: withEffect({ timeoutMs: Number.POSITIVE_INFINITY }) }),
      "schemas.effects.job.timeoutMs",
    ],
    [
      "an effect that waits shorter each time",
      () => machine({}, { schemas: withEffect({ backoffFactor: 0.5 }) }),
      "schemas.effects.job.backoffFactor",
    ],
    [
      "an effect with an endless wait",
      () => machine({}, { schemas: withEffect({ backoffLimitMs: Number.NaN }) }),
      "schemas.effects.job.backoffLimitMs",
    ],
    ["an effect with a part that is none", () => machine({}, { schemas: withEffect({ timeout: 5 }) }), "schemas.effects.job.timeout"],
    ["an effect without a done event", () => machine({}, { schemas: withEffect({ done: undefined }) }), "schemas.effects.job.done"],
    ["an effect that is no declaration", () => machine({}, { schemas: { ...schemas, effects: { job: true } } }), "schemas.effects.job"],
    ["effects that are a list", () => machine({}, { schemas: { ...schemas, effects: [job] } }), "schemas.effects"],
    ["a supervisor that is no function", () => machine({}, { schemas: { ...schemas, supervisor: "me" } }), "schemas.supervisor"],
    ...["engine.migrated", "engine.discarded"].map((type): [string, () => AnyStateMachine, string] => [
      `the event ${type}, which only the engine writes`,
      () => machine({}, { schemas: { ...schemas, events: { [type]: nothing } } }),
      `schemas.events.${type}`,
    ]),
    ["an event type that is a pattern", () => machine({}, { schemas: { ...schemas, events: { "go.*": nothing } } }), "schemas.events.go.*"],
    [
      "an event that declares the engine's stamp",
      () => machine({}, { schemas: { ...schemas, events: { go: z.object({ stamp: z.any() }) } } }),
      "schemas.events.go",
    ],
    [
      "an assign under the name of an effect",
      () => machine({ entry: "job" }, { schemas: withEffect({}), actions: { job: assign({}) } }),
      "thing.one.entry",
    ],
    [
      "an assign under the name of an action of the engine",
      () => machine({ entry: "deliver" }, { actions: { deliver: assign({}) } }),
      "thing.one.entry",
    ],
    [
      "an effect with params that do not fit",
      () => machine({ entry: { type: "job", params: { n: 1 } } }, { schemas: withEffect({}), actions: { job: effect() } }),
      "thing.one.entry",
    ],
    ["a delivery to nobody", () => machine({ entry: { type: "deliver", params: { event: { type: "go" } } } }), "thing.one.entry"],
    ["a creation without an id", () => machine({ entry: { type: "createActor", params: { machine: "thing" } } }), "thing.one.entry"],
    ["an effect cancelled that is none", () => machine({ exit: { type: "cancelEffect", params: { effect: "nap" } } }), "thing.one.exit"],
    [
      "an effect aborted that cannot say so",
      () => machine({ exit: { type: "abortEffect", params: { effect: "job" } } }, { schemas: withEffect({}) }),
      "thing.one.exit",
    ],
    [
      "a guard made of itself",
      () => machine({ always: { guard: "a", target: "two" } }, { guards: { a: not("b"), b: not("a") } }),
      "thing.one.always",
    ],
    [
      "a guard made of one that nobody defines",
      () => machine({ always: { guard: "a", target: "two" } }, { guards: { a: and(["fine", not("lost")]) } }),
      "thing.one.always",
    ],
    [
      "a guard about a state that is none",
      () => machine({ always: { guard: stateIn("#thing.three"), target: "two" } }),
      "thing.one.always",
    ],
    [
      "a policy for a delay that is none",
      () => machine({}, { schemas: { ...schemas, delays: { soon: "restart" } } }),
      "schemas.delays.soon",
    ],
    ["an unknown policy", () => machine({}, { schemas: { ...schemas, delays: { later: "never" } } }), "schemas.delays.later"],
    [
      "a done event for promise logic",
      () => machine({ invoke: { src: "child" } }, { schemas: { ...schemas, effects: { child: job } } }),
      "schemas.effects.child.done",
    ],
    [
      "an action that requests invoked promise logic",
      () => machine({ entry: "child", invoke: { src: "child" } }, { actions: { child: effect() } }),
      "thing.one.entry",
    ],
    [
      "an input of promise logic that does not fit",
      () =>
        machine(
          { invoke: { src: "child", input: { n: 1 } } },
          { schemas: { ...schemas, effects: { child: { params: nothing, delivery: "at_least_once" } } } },
        ),
      "thing.one.invoke",
    ],
    [
      "promise logic delivered at most once and no effect.unknown",
      () =>
        machine(
          { invoke: { src: "child" } },
          { schemas: { ...schemas, effects: { child: { params: z.any(), delivery: "at_most_once" } } } },
        ),
      "schemas.effects.child",
    ],
    [
      "a delayed event that is not declared",
      () => machine({ entry: raise({ type: "og" }, { delay: "later" } as never) }),
      "thing.one.entry",
    ],
    [
      "an effect named as an action of the engine",
      () => machine({}, { schemas: { ...schemas, effects: { deliver: job } } }),
      "schemas.effects.deliver",
    ],
  ])("%s", (_, build, path) => {
    const built = build();
    expect(refusal(() => register(built))).toMatchObject({ code: "machine_invalid", machine: built.id, path });
  });

  it.each(["input", "context", "events", "facts"])("no schema for its %s", (part) => {
    const { [part as "input"]: _, ...rest } = schemas;
    expect(refusal(() => register(machine({}, { schemas: rest })))).toMatchObject({
      code: "machine_invalid",
      machine: "thing",
      path: `schemas.${part}`,
    });
  });

  it("no schemas at all", () => {
    const bare = createMachine({ id: "bare", version: "1", context: {} });
    expect(refusal(() => register(bare as never))).toMatchObject({ code: "machine_invalid", machine: "bare", path: "schemas" });
  });

  it.each<[string, object, string]>([
    ["from no version", { old: { to: "3", migrate: String } }, "old"],
    ["to no version", { 1: { to: "next", migrate: String } }, "1.to"],
    ["to its own", { 1: { to: "1", migrate: String } }, "1.to"],
    ["to an older version", { 2: { to: "1.9", migrate: String } }, "2.to"],
    ["beyond the machine", { 1: { to: "4", migrate: String } }, "1.to"],
    ["beside the machine, to what compares as the same", { 1: { to: "3.0", migrate: String } }, "1.to"],
    ["from the machine's own version on", { 3: { to: "4", migrate: String } }, "3.to"],
    ["to where none leads on", { 1: { to: "2", migrate: String } }, "1.to"],
    ["without a function", { 2: { to: "3" } }, "2.migrate"],
    ["that is nothing", { 2: null }, "2.migrate"],
  ])("a migration %s", (_, migrations, path) => {
    const built = machine({}, { version: "3", schemas: { ...schemas, migrations } });
    expect(refusal(() => register(built))).toMatchObject({ code: "machine_invalid", path: `schemas.migrations.${path}` });
  });

  it("an effect that no handler is given for", () => {
    const { work: _, ...others } = handlers;
    expect(refusal(() => registerAll([counter], others))).toMatchObject({
      code: "machine_invalid",
      machine: "counter",
      path: "effects.work",
    });
  });

  it("the id of another machine", () => {
    const found = refusal(() => registerAll([machine({}), machine({})]));
    expect(found).toMatchObject({ code: "machine_invalid", machine: "thing", path: "id" });
  });
});

describe("a machine is registered", () => {
  it("that uses only what a pure transition can end", () => {
    expect(register(counter)).toMatchObject({ id: "counter", version: "1" });
  });

  it("with combined guards whose parts have names", () => {
    expect(register(machine({ on: { go: { guard: and(["fine", not("fine")]), target: "two" } } })).id).toBe("thing");
  });

  it("and its effects' outcomes become events that only the engine makes", () => {
    const events = { ...schemas.events, "job.aborted": nothing };
    const job = { failed: "job.failed", aborted: "job.aborted" };
    const { reserved } = register(machine({}, { schemas: { ...withEffect(job), events }, actions: { job: effect() } }));
    expect([...reserved]).toEqual(["job.done", "job.failed", "job.aborted"]);
  });

  it("and known is whether states can be active side by side", () => {
    const parallel = (type: object) =>
      register(machine({ initial: "in", states: { in: { ...type, states: { left: {}, right: {} } } } })).isParallel;
    expect([parallel({ type: "parallel" }), parallel({ initial: "left" })]).toEqual([true, false]);
  });

  it("with every way of migrations that ends at its own version", () => {
    const migrate = (stored: unknown) => stored;
    const migrations = { "1": { to: "1.1", migrate }, "1.1": { to: "3", migrate }, 2: { to: "3", migrate } };
    expect(checkMachine(machine({}, { version: "3", schemas: { ...schemas, migrations } }))).toEqual([]);
  });

  it("as it is, where nothing in it is invoked and no delay is a function", () => {
    const registered = register(machine({ after: { later: "two" } }));
    expect(registered.machine).toBe(registered.source);
  });

  it.each<[string, () => AnyStateMachine]>([
    ["it invokes promise logic", () => machine({ invoke: { src: "child" } })],
    ["it has effects", () => machine({}, { schemas: withEffect({}) })],
    ["a delay is a function", () => machine({ after: { wait: "two" } })],
  ])("in another form, where only %s", (_, build) => {
    const registered = register(build());
    expect(registered.machine).not.toBe(registered.source);
  });

  it("with its functions of delays held to give a number", () => {
    const { wait } = register(machine({ after: { wait: "two" } })).machine.implementations.delays as Record<string, () => number>;
    expect(wait).toThrow("the delay wait");
  });

  it("with each of its delays, by timer id or event type, and the policy that it was given", () => {
    const state = {
      after: { later: "two" },
      entry: [raise({ type: "go" }, { delay: "later" } as never), raise(() => ({ type: "go" }), { delay: "later", id: "again" } as never)],
    };
    const { delays } = register(machine(state, { schemas: { ...schemas, delays: { later: "restart" } } }));
    const later = { delay: "later", policy: "restart" };
    expect(Object.fromEntries(delays)).toEqual({ "xstate.after.later.thing.one": later, go: later, again: later });
  });

  it("with the delayed raises of setup, that enqueueActions may name", () => {
    const { delays } = register(machine({}, { actions: { soon: raise({ type: "go" }, { delay: "later" } as never) } }));
    expect(Object.fromEntries(delays)).toEqual({ go: { delay: "later", policy: "absolute" } });
  });

  it("with its promise logic as effects, declared or not", () => {
    const declared = { params: z.any(), delivery: "at_least_once", timeoutMs: 5 };
    const plain = register(machine({ invoke: { src: "child" } }));
    expect([...plain.effects]).toEqual([["child", { params: expect.anything(), delivery: "at_least_once", attempts: 1 }]]);
    const limited = register(machine({ invoke: { src: "child" } }, { schemas: { ...schemas, effects: { child: declared } } }));
    expect(limited.effects.get("child")).toBe(declared);
    expect(limited.reserved.size).toBe(0);
  });

  it("with a handler for its promise logic, which one that is given replaces", () => {
    const registered = registerAll([machine({ invoke: { src: "child" } })], {}).get("thing");
    expect(registered?.handlers.child).toBeTypeOf("function");
    const mine = async () => 2;
    expect(registerAll([machine({ invoke: { src: "child" } })], { child: mine }).get("thing")?.handlers.child).toBe(mine);
  });

  it("once, and each engine has handlers of its own", () => {
    const shared = machine({ invoke: { src: "child" } });
    expect(register(shared)).toBe(register(shared));
    const [one, two] = [async () => 1, async () => 2];
    const handlers = [one, two].map((child) => registerAll([shared], { child }).get("thing")?.handlers.child);
    expect(handlers).toEqual([one, two]);
  });
});

describe("what is wrong with a machine", () => {
  it("is told with its place, and how many problems there are", () => {
    const error = machineInvalid("thing", "id", "is bad", "write another", 2);
    expect(error.details).toEqual({ machine: "thing", path: "id", problems: 3, remedy: "write another" });
    expect(error.message).toMatch(/thing.* id is bad.*write another.*2 more/);
  });

  it("may be the only problem, without a remedy, in a machine without an id", () => {
    const error = machineInvalid("", "id", "is bad");
    expect(error.details).toEqual({ machine: "", path: "id", problems: 1 });
    expect(error.message).toMatch(/unnamed.*id is bad$/);
  });
});
