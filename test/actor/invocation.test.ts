import { describe, expect, it } from "vitest";
import { createMachine, fromCallback, fromEventObservable, fromObservable, fromPromise, fromTransition } from "xstate";
import { invokedLogic, kindOfLogic } from "../../src/actor/invocation.ts";
import { register } from "../../src/actor/registration.ts";
import { dehydrate, hydrate, start, take } from "../../src/actor/transition.ts";
import { rejection } from "./counter.ts";
import { inState, thing } from "./thing.ts";

const stamp = { at: 1, seq: 1, id: "thing/a:1" };
const plain = <T>(transition: () => T) => transition();
const child = fromPromise(async () => 1);
const call = { params: null, signal: new AbortController().signal } as never;

describe("logic", () => {
  const never = () => {
    throw new Error("the author's code was run");
  };

  /** Of its author's own making. */
  const alike = { start: never, config: never, getInitialSnapshot: () => ({}) };

  const promise = fromPromise(never);
  /** Promise logic that its author has wrapped, and that looks at whom it runs for. */
  const wrapped: typeof promise = {
    ...promise,
    transition: (state, event, scope) => promise.transition(state, event, scope.self.id === "other" ? scope : { ...scope }),
  };

  it.each([
    ["promise", promise],
    ["promise", wrapped],
    ["machine", createMachine({ context: never })],
    ["transition", fromTransition(never, never as never)],
    ["callback", fromCallback(never)],
    ["observable", fromObservable(never)],
    ["observable", fromEventObservable(never)],
    ["unknown", { ...alike, transition: (state: object) => state }],
    ["unknown", { ...alike, transition: () => undefined }],
    ["unknown", { ...alike, transition: () => ({ status: "done" }) }],
    ["unknown", { ...alike, transition: (_: object, { data }: { data: unknown }) => ({ status: "active", output: data }) }],
    ["unknown", { ...alike, transition: (state: object) => state, getInitialSnapshot: () => null }],
    ["unknown", { transition: never }],
    ["unknown", { transition: never, root: null }],
    ["unknown", {}],
    ["unknown", undefined],
  ] as const)("is told to be of the kind %s, and is not run", (kind, logic) => {
    expect(kindOfLogic(logic)).toBe(kind);
  });
});

describe("an invocation", () => {
  it("is known by its child id, the one that was given or the one that XState makes", () => {
    const machine = inState(
      {
        invoke: [
          { src: "child", onDone: "two" },
          { src: "child", id: "mine", onError: "two" },
        ],
      },
      { actors: { child } },
    );
    expect(Object.fromEntries(register(machine).invocations)).toEqual({
      "0.thing.one": { src: "child", node: "thing.one", done: "xstate.done.actor.0.thing.one" },
      mine: { src: "child", node: "thing.one", done: "xstate.done.actor.mine", failed: "xstate.error.actor.mine" },
    });
  });

  it("is of promise logic only, and of no logic that was not named", () => {
    const invoke = ["child", "calls", "none"].map((src, index) => ({ src, id: `${index}` }));
    const machine = inState({ invoke: [...invoke, { src: child, id: "inline" }] }, { actors: { child, calls: fromCallback(() => {}) } });
    const found = [...invokedLogic(machine)].map(([src, places]) => [src, places.map(({ id, path }) => [id, path])]);
    expect(found).toEqual([["child", [["0", "thing.one.invoke.0"]]]]);
  });

  it.each<[string, object, boolean]>([
    ["nowhere", {}, false],
    ["by its name, on its state", { one: { "xstate.error.actor.mine": "two" } }, true],
    ["by its name, on the machine", { root: { "xstate.error.actor.mine": {} } }, true],
    ["by its name, elsewhere", { two: { "xstate.error.actor.mine": "one" } }, true],
    ["by a pattern, on the machine", { root: { "xstate.error.*": {} } }, true],
    ["by the wildcard, on its state", { one: { "*": "two" } }, true],
    ["by the wildcard, in a state within it", { within: { "*": {} } }, true],
    ["by the wildcard, elsewhere", { two: { "*": "one" } }, false],
    ["by another pattern", { one: { "xstate.error.actor.m.*": "two" } }, false],
  ])("has a failed event where the machine takes it %s", (_, on: any, takes) => {
    const one = { invoke: { src: "child", id: "mine" }, on: on.one, initial: "in", states: { in: { on: on.within } } };
    const machine = thing({ initial: "one", on: on.root, states: { one, two: { on: on.two } } }, { actors: { child } });
    expect(register(machine).invocations.get("mine")?.failed !== undefined).toBe(takes);
  });

  it("does nothing in a transition, and is after its way through JSON as it was", () => {
    const logic = fromPromise<void, string>(() => {
      throw new Error("it was run");
    });
    const machine = inState(
      { invoke: { src: "load", input: "x", onDone: "two" }, on: { go: { target: "one", reenter: true } } },
      { actors: { load: logic } },
    );
    const registration = register(machine);
    const first = start(registration, {}, stamp, plain);
    expect(first.requests).toEqual([{ type: "effect", name: "load", params: "x", child: "0.thing.one" }]);
    const text = dehydrate(registration, first.snapshot);
    // Its input is in the journal and in its effect.
    expect(JSON.parse(text).children["0.thing.one"].snapshot).toEqual({ status: "active" });
    const again = hydrate(registration, text);
    expect(dehydrate(registration, again)).toBe(text);
    const reentered = take(registration, again, { type: "go" }, stamp, plain);
    expect(dehydrate(registration, reentered.snapshot)).toBe(text);
    const done = take(registration, again, { type: "xstate.done.actor.0.thing.one", output: 1, actorId: "0.thing.one" }, stamp, plain);
    expect(done.snapshot).toMatchObject({ value: "two", children: {} });
  });
});

describe("a handler of promise logic", () => {
  const handlerOf = (logic: unknown, invoke: object = {}) =>
    register(inState({ invoke: { src: "load", ...invoke } }, { actors: { load: logic } })).handlers.load as (
      given: unknown,
    ) => Promise<unknown>;

  it("gives it its input and the signal", async () => {
    const controller = new AbortController();
    const handler = handlerOf(
      fromPromise(async ({ input, signal }) => ({ input, same: signal === controller.signal })),
      { input: () => 1 },
    );
    expect(await handler({ params: { n: 1 }, signal: controller.signal })).toEqual({ input: { n: 1 }, same: true });
  });

  it("gives it its input also where another state that invokes it writes none", async () => {
    const load = fromPromise(async ({ input }) => input);
    const one = { invoke: { src: "load", input: () => 1 } };
    const machine = thing({ initial: "one", states: { one, two: { invoke: { src: "load" } } } }, { actors: { load } });
    const handler = register(machine).handlers.load as (given: unknown) => Promise<unknown>;
    expect(await handler({ params: { n: 1 } })).toEqual({ n: 1 });
  });

  it("gives it no input where none is written", async () => {
    expect(await handlerOf(fromPromise(async ({ input }) => input === undefined))(call)).toBe(true);
  });

  it("rejects where it throws", async () => {
    const handler = handlerOf(
      fromPromise(() => {
        throw new Error("at once");
      }),
    );
    expect(await rejection(handler(call))).toMatchObject({ message: "at once" });
  });

  it.each<[string, (given: any) => unknown]>([
    ["self", ({ self }) => self.id],
    ["self", ({ self }) => self.send({ type: "go" })],
    ["system", ({ system }) => system.get("it")],
    ["emit", ({ emit }) => emit({ type: "thing.told" })],
  ])("says so where it uses %s, and is not tried again", async (part, use) => {
    const rejected = await rejection(handlerOf(fromPromise(async (given) => use(given)))(call));
    expect(rejected).toMatchObject({ code: "action_invalid", retryable: false, message: expect.stringContaining(`load uses ${part}`) });
  });
});
