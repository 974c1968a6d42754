import { describe, expect, it } from "vitest";
import { type AnyStateNode, assign, fromPromise, raise } from "xstate";
import {
  actionsOf,
  builtInName,
  definedIn,
  everyAction,
  guardsOf,
  invocationsOf,
  listOf,
  nameOf,
  nodesOf,
  type Placed,
} from "../../src/actor/structure.ts";
import { inState, thing } from "./thing.ts";

const shown = (placed: Iterable<Placed>) => [...placed].map(({ path, node, value }) => [path, node.id, value]);
const stateOf = (state: object, parts: object = {}) => inState(state, parts).root.states.one as AnyStateNode;

describe("the name of one of XState's own actions", () => {
  it.each<[string, unknown, string | undefined]>([
    ["is what its maker is called", assign({}), "assign"],
    ["is that also of a raise", raise({ type: "go" }), "raise"],
    ["is none for a function", () => {}, undefined],
    ["is none for a function of another type", Object.assign(() => {}, { type: "mine" }), undefined],
    ["is none for a function whose type is no text", Object.assign(() => {}, { type: 5 }), undefined],
    ["is none for what only says so", { type: "xstate.assign" }, undefined],
    ["is none for a name", "xstate.assign", undefined],
    ["is none where nothing is", undefined, undefined],
  ])("%s", (_, action, name) => {
    expect(builtInName(action)).toBe(name);
  });
});

describe("the name by which an action is referred to", () => {
  it.each<[string, unknown, string | undefined]>([
    ["is the text that stands there", "shout", "shout"],
    ["is the type of what stands there", { type: "shout", params: {} }, "shout"],
    ["is none where the type is no text", { type: 5 }, undefined],
    ["is none for a function, whatever its type", assign({}), undefined],
    ["is none for null", null, undefined],
    ["is none where nothing is", undefined, undefined],
  ])("%s", (_, reference, name) => {
    expect(nameOf(reference)).toBe(name);
  });
});

it("what setup defines is found by its own name only", () => {
  const machine = thing({}, { delays: { soon: 5 } });
  expect([definedIn(machine, "delays", "soon"), definedIn(machine, "delays", "constructor")]).toEqual([5, undefined]);
});

it("one thing is a list of one, and nothing is none", () => {
  expect([undefined, null, 0, "a", [], ["a", "b"]].map(listOf)).toEqual([[], [], [0], ["a"], [], ["a", "b"]]);
});

it("the nodes of a machine come in the order of its document, each before those in it", () => {
  const machine = thing({ initial: "a", states: { a: { initial: "b", states: { b: {}, c: {} } }, d: {} } });
  expect([...nodesOf(machine.root)].map(({ id }) => id)).toEqual(["thing", "thing.a", "thing.a.b", "thing.a.c", "thing.d"]);
});

it("what a state invokes has a number in its path where it is a list", () => {
  const load = { src: "load" };
  const parts = { actors: { load: fromPromise(async () => 1) } };
  expect(shown(invocationsOf(stateOf({ invoke: load }, parts)))).toEqual([["thing.one.invoke", "thing.one", load]]);
  expect(shown(invocationsOf(stateOf({ invoke: [load, load] }, parts)))).toEqual([
    ["thing.one.invoke.0", "thing.one", load],
    ["thing.one.invoke.1", "thing.one", load],
  ]);
  expect(shown(invocationsOf(stateOf({})))).toEqual([]);
});

describe("a state", () => {
  /** Something in each place that a state has for a transition. */
  const everywhere = (part: string) => ({
    entry: ["in 1", "in 2"],
    exit: "out",
    always: [{ guard: "never", [part]: "always" }],
    onDone: { [part]: "done" },
    initial: { target: "in", [part]: "initial" },
    on: { go: ["two", { [part]: "go 1" }, { [part]: "go 2" }], more: undefined },
    after: { soon: { [part]: "after" } },
    invoke: [
      { src: "load", onDone: { [part]: "kept" }, onError: "two" },
      { src: "load", onSnapshot: { [part]: "seen" } },
    ],
    states: { in: {} },
  });
  const parts = { actors: { load: fromPromise(async () => 1) }, delays: { soon: 5 } };
  const places = [
    ["thing.one.always", "always"],
    ["thing.one.onDone", "done"],
    ["thing.one.initial", "initial"],
    ["thing.one.on.go", "go 1"],
    ["thing.one.on.go", "go 2"],
    ["thing.one.after.soon", "after"],
    ["thing.one.invoke.0.onDone", "kept"],
    ["thing.one.invoke.1.onSnapshot", "seen"],
  ].map(([path, value]) => [path, "thing.one", value]);

  it("shows its actions, of its entry and exit, then of its transitions, each with its place", () => {
    expect(shown(actionsOf(stateOf(everywhere("actions"), parts)))).toEqual([
      ["thing.one.entry", "thing.one", "in 1"],
      ["thing.one.entry", "thing.one", "in 2"],
      ["thing.one.exit", "thing.one", "out"],
      ...places,
    ]);
  });

  it("shows the guards of its transitions", () => {
    const { always: _, ...others } = everywhere("guard");
    expect(shown(guardsOf(stateOf(others, parts)))).toEqual(places.slice(1));
  });

  it("may have nothing, also as an item of a list", () => {
    const state = stateOf({ on: { go: [undefined, { target: "two" }] }, after: { soon: [null] } }, parts);
    expect([[...actionsOf(state)], [...guardsOf(state)], [...actionsOf(stateOf({}))]]).toEqual([[], [], []]);
  });
});

it("all actions of a machine are those in its states, then those of setup", () => {
  const named = assign({});
  const machine = thing({ initial: "one", exit: "first", states: { one: { entry: "second" } } }, { actions: { named } });
  const found = shown(everyAction(machine));
  expect(found.slice(0, 2)).toEqual([
    ["thing.exit", "thing", "first"],
    ["thing.one.entry", "thing.one", "second"],
  ]);
  expect(found).toContainEqual(["setup.actions.named", "thing", named]);
});
