import { describe, expect, it } from "vitest";
import { type AnyStateMachine, and, cancel, createMachine, fromPromise, not, raise, sendParent, sendTo, setup, spawnChild } from "xstate";
import { z } from "zod";
import { effect } from "../../machines/action.ts";
import { registerAll } from "../../src/actor/engine.ts";
import { HoldfastError } from "../../src/actor/error.ts";
import { register } from "../../src/actor/registration.ts";
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
    delays: { later: 10 },
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
    ["an invoked actor", () => machine({ invoke: { src: "child" } }), "thing.one"],
    ["a delayed transition", () => machine({ after: { 10: "two" } }), "thing.one"],
    ["a delayed raise", () => machine({ entry: raise({ type: "go" }, { delay: 10 }) }), "thing.one.entry"],
    [
      "a delayed raise by name",
      () => machine({ entry: "soon" }, { actions: { soon: raise({ type: "go" } as never, { delay: 10 }) } }),
      "thing.one.entry",
    ],
    ["a cancelled send", () => machine({ exit: cancel("x") }), "thing.one.exit"],
    ["a send to a live actor", () => machine({ entry: sendTo("child", { type: "go" }) }), "thing.one.entry"],
    ["a send to a parent", () => machine({ on: { go: { actions: sendParent({ type: "go" }) } } }), "thing.one.on.go"],
    ["a spawned actor", () => machine({ entry: spawnChild("child" as never) }), "thing.one.entry"],
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

  it("with the states whose entry requests an effect, the deepest first", () => {
    const states = { entry: "job", initial: "inner", states: { inner: { entry: "job" } } };
    const registered = register(machine(states, { schemas: withEffect({}), actions: { job: effect() } }));
    expect(registered.scopes.get("job")).toEqual(["thing.one.inner", "thing.one"]);
  });

  it("and its effects' outcomes become events that only the engine makes", () => {
    expect(register(counter).reserved).toContain("work.done");
  });
});
