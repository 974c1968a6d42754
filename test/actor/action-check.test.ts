import { describe, expect, it } from "vitest";
import { and, cancel, emit, fromPromise, log, not, raise, sendTo, spawnChild, stateIn, stopChild } from "xstate";
import { z } from "zod";
import { effect } from "../../machines/action.ts";
import { checkMachine } from "../../src/actor/machine-check.ts";
import { inState } from "./thing.ts";

const job = { params: z.looseObject({ n: z.optional(z.number()) }), done: "job.done", delivery: "at_least_once" };
const parts = {
  actions: { job: effect(), nap: effect(), load: effect() },
  actors: { load: fromPromise(async () => 1), given: fromPromise(async () => 2) },
  guards: { fine: () => true, alias: "fine", mine: and([() => true, "fine"]) },
  schemas: { effects: { job: { ...job, aborted: "job.failed" }, nap: job, load: { params: z.any(), delivery: "at_least_once" } } },
};
const invoke = [{ src: "load" }, { src: "given" }];
const problemsOf = (state: object, more: object = {}) => checkMachine(inState({ invoke, ...state }, { ...parts, ...more }));

describe("an action is as it must be that", () => {
  it.each<[string, unknown]>([
    ["is an effect", "job"],
    ["is an effect with params that fit", { type: "job", params: { n: 1 } }],
    ["is an effect with params that only a function knows", { type: "job", params: () => ({ n: "1" }) }],
    ["delivers", { type: "deliver", params: { to: "a/b", event: { type: "x" } } }],
    ["delivers to nobody", { type: "deliver", params: { to: null } }],
    ["delivers what only a function knows", { type: "deliver", params: () => ({}) }],
    ["creates", { type: "createActor", params: { machine: "a", id: "b" } }],
    ["cancels an effect that cannot say that it was aborted", { type: "cancelEffect", params: { effect: "nap" } }],
    ["cancels promise logic", { type: "cancelEffect", params: { effect: "load" } }],
    ["cancels promise logic without a declaration", { type: "cancelEffect", params: { effect: "given" } }],
    ["aborts an effect that can say so", { type: "abortEffect", params: { effect: "job" } }],
    ["emits a fact that is declared", emit({ type: "thing.told" })],
    ["emits a fact that only a function knows", emit(() => ({ type: "thing.lost" }))],
    ["emits nothing, which its transition refuses", emit(null as never)],
    ["raises, cancels or logs", [raise({ type: "go" }), cancel("it"), log("it")]],
  ])("%s", (_, entry) => {
    expect(problemsOf({ entry })).toEqual([]);
  });
});

describe("an action is refused once, where it stands, that", () => {
  it.each<[string, unknown, string]>([
    ["acts on a live actor", sendTo("it", { type: "go" }), "uses sendTo,"],
    ["starts a live actor", spawnChild("load" as never), "spawnChild"],
    ["stops a live actor", stopChild("it"), "stopChild"],
    ["emits a fact that nobody declares", emit({ type: "thing.lost" }), "thing.lost"],
    ["emits a fact called as what every object has", emit({ type: "constructor" }), "constructor"],
    ["is promise logic that a state invokes", "load", "promise logic"],
    ["is null", [null], "without a name"],
    ["gives an effect what is not plain JSON", { type: "job", params: { at: new Date(0) } }, "$.at"],
    ["gives an effect what does not fit", { type: "job", params: { n: "1" } }, "job"],
    ["delivers without an address", { type: "deliver", params: { event: { type: "x" } } }, "deliver"],
    ["delivers nothing", { type: "deliver", params: { to: "a/b" } }, "deliver"],
    ["delivers what has no type", { type: "deliver", params: { to: "a/b", event: {} } }, "deliver"],
    ["delivers without params", "deliver", "deliver"],
    ["delivers what is not plain JSON", { type: "deliver", params: { to: "a/b", event: { type: "x", at: new Date(0) } } }, "$.event.at"],
    ["creates without a machine", { type: "createActor", params: { id: "b" } }, "createActor"],
    ["creates without an id", { type: "createActor", params: { machine: "a" } }, "createActor"],
    ["cancels what is no effect", { type: "cancelEffect", params: { effect: "constructor" } }, "constructor"],
    ["cancels nothing", "cancelEffect", "undefined"],
    ["aborts what is no effect", { type: "abortEffect", params: { effect: "lost" } }, "which is no effect"],
    ["aborts an effect that cannot say so", { type: "abortEffect", params: { effect: "nap" } }, "`aborted`"],
    ["aborts promise logic", { type: "abortEffect", params: { effect: "given" } }, "`aborted`"],
  ])("%s", (_, entry, says) => {
    expect(problemsOf({ entry })).toMatchObject([{ path: "thing.one.entry", problem: expect.stringContaining(says) }]);
  });

  it("setup defines so, by the name that it has there", () => {
    const [named] = problemsOf({ entry: "send" }, { actions: { ...parts.actions, send: sendTo("it", { type: "go" }) } });
    expect(named).toMatchObject({ path: "thing.one.entry", problem: expect.stringContaining("sendTo as send") });
  });
});

describe("what is said of a schema is not said again of the action that needs it", () => {
  it.each<[string, object, unknown, string[]]>([
    ["facts", { facts: undefined }, emit({ type: "thing.lost" }), ["schemas.facts"]],
    ["an effect", { effects: { ...parts.schemas.effects, job: null } }, "job", ["schemas.effects.job"]],
    ["params", { effects: { ...parts.schemas.effects, job: { ...job, params: null } } }, "job", ["schemas.effects.job.params"]],
  ])("%s", (_, schemas, entry, paths) => {
    expect(problemsOf({ entry }, { schemas }).map(({ path }) => path)).toEqual(paths);
  });

  it.each([null, undefined])("and effects that are %s are none", (effects) => {
    const entry = { type: "cancelEffect", params: { effect: "job" } };
    const found = checkMachine(inState({ entry }, { schemas: { effects } })).map(({ path }) => path);
    expect(found.at(-1)).toBe("thing.one.entry");
  });
});

describe("a guard is as it must be that", () => {
  it.each<[string, unknown]>([
    ["has a name", "fine"],
    ["has a name, with params", { type: "fine", params: { n: 1 } }],
    ["is called as another", "alias"],
    ["is made of guards, of which one has no name, and has a name itself", "mine"],
    ["is made of guards that have names", and(["fine", not("alias")])],
    ["asks for a state by its value or its id", and([stateIn("two"), stateIn("#thing.two")])],
  ])("%s", (_, guard) => {
    expect(problemsOf({ on: { go: { guard, target: "two" } } })).toEqual([]);
  });
});

describe("a guard is refused once, where it stands, that", () => {
  const guards = {
    ...parts.guards,
    astray: "lost",
    circle: not("back"),
    back: not("circle"),
    holed: and([null as never]),
    away: stateIn("#thing.lost"),
  };

  it.each<[string, unknown, string]>([
    ["nobody defines", "lost", "lost"],
    ["is called as what every object has", "constructor", "constructor"],
    ["is called as one that nobody defines", "astray", "lost"],
    ["is made of itself", "circle", "itself"],
    ["is a function", () => true, "without a name"],
    ["is null", null, "without a name"],
    ["is a number", 5, "without a name"],
    ["is made of a function", and([() => true]), "without a name"],
    ["is made of nothing, also where it has a name", "holed", "without a name"],
    ["asks for a state that is none", stateIn("#thing.lost"), "#thing.lost"],
    ["asks for a state that is none, also where it has a name", "away", "#thing.lost"],
  ])("%s", (_, guard, says) => {
    expect(problemsOf({ on: { go: { guard, target: "two" } } }, { guards })).toMatchObject([
      { path: "thing.one.on.go", problem: expect.stringContaining(says) },
    ]);
  });
});
