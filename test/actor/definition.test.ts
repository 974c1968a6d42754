import { describe, expect, it } from "vitest";
import { and, assign, emit, enqueueActions, fromPromise, fromTransition, not, or, raise } from "xstate";
import { z } from "zod";
import { effect } from "../../machines/action.ts";
import { definitionOf } from "../../src/actor/definition.ts";
import { inState, thing } from "./thing.ts";

const job = { params: z.looseObject({}), done: "job.done", delivery: "at_least_once" };

describe("a definition is the same", () => {
  it.each<[string, ReturnType<typeof inState>, ReturnType<typeof inState>]>([
    ["whatever the order of keys", thing({ initial: "a", states: { a: {}, b: {} } }), thing({ states: { b: {}, a: {} }, initial: "a" })],
    ["whatever its descriptions and meta", inState({ description: "One.", meta: { n: 1 } }), inState({ description: "Eins." })],
    ["in another version", thing({ version: "1" }), thing({ version: "2" })],
    [
      "however a list of one is written",
      inState({ entry: "job", on: { go: "two" } }),
      inState({ entry: [{ type: "job" }], on: { go: [{ target: ["two"] }] } }),
    ],
    ["whatever its functions do", inState({ entry: assign(() => ({ n: 1 })) }), inState({ entry: assign(() => ({ n: 2 })) })],
    [
      "whatever stands in setup unused",
      inState({}, { actions: { a: assign({ n: 1 }) }, guards: { g: () => true }, delays: { d: 5 } }),
      inState({}, { actions: { a: assign({ n: 2 }) } }),
    ],
    [
      "whatever its effects' limits",
      inState({}, { schemas: { effects: { job } } }),
      inState({}, { schemas: { effects: { job: { ...job, attempts: 3 } } } }),
    ],
  ])("%s", (_, one, other) => {
    expect(definitionOf(one)).toBe(definitionOf(other));
  });
});

describe("a definition is another one", () => {
  const base = { on: { go: { target: "two", guard: "fine", actions: ["tell"] } }, entry: "job" };
  const parts = {
    actions: { tell: emit({ type: "thing.told" }), job: effect() },
    guards: { fine: () => true },
    schemas: { effects: { job } },
  };
  const original = definitionOf(inState(base, parts));

  it.each<[string, ReturnType<typeof inState>]>([
    ["of another machine", thing({ id: "other", initial: "one", states: { one: base, two: {} } }, parts)],
    ["with another state", thing({ initial: "one", states: { one: base, two: {}, three: {} } }, parts)],
    ["with another initial state", thing({ initial: "two", states: { one: base, two: {} } }, parts)],
    ["with another target", inState({ ...base, on: { go: { ...base.on.go, target: "one" } } }, parts)],
    ["that re-enters", inState({ ...base, on: { go: { ...base.on.go, reenter: true } } }, parts)],
    ["without its guard", inState({ ...base, on: { go: { ...base.on.go, guard: undefined } } }, parts)],
    ["with its guard negated", inState({ ...base, on: { go: { ...base.on.go, guard: not("fine") } } }, parts)],
    ["with its actions in another order", inState({ ...base, on: { go: { ...base.on.go, actions: ["job", "tell"] } } }, parts)],
    ["with params", inState({ ...base, entry: { type: "job", params: { n: 1 } } }, parts)],
    ["with params that are computed", inState({ ...base, entry: { type: "job", params: () => ({}) } }, parts)],
    ["with a tag", inState({ ...base, tags: ["first"] }, parts)],
    ["with an exit", inState({ ...base, exit: "job" }, parts)],
    ["that states another fact", inState(base, { ...parts, actions: { ...parts.actions, tell: emit({ type: "thing.lost" }) } })],
    ["whose action is of another kind", inState(base, { ...parts, actions: { ...parts.actions, tell: assign({}) } })],
    ["whose guard is made of others", inState(base, { ...parts, guards: { fine: not("other") } })],
    ["whose effect has another outcome", inState(base, { ...parts, schemas: { effects: { job: { ...job, failed: "job.failed" } } } })],
    ["whose effect has another delivery", inState(base, { ...parts, schemas: { effects: { job: { ...job, delivery: "at_most_once" } } } })],
    ["with another first context", thing({ initial: "one", states: { one: base, two: {} }, context: { n: 1 } }, parts)],
    ["with an output", thing({ initial: "one", states: { one: base, two: {} }, output: 1 }, parts)],
  ])("%s", (_, machine) => {
    expect(definitionOf(machine)).not.toBe(original);
  });

  it.each<[string, ReturnType<typeof inState>, ReturnType<typeof inState>]>([
    ["with another delay", inState({ after: { d: "two" } }, { delays: { d: 1 } }), inState({ after: { d: "two" } }, { delays: { d: 2 } })],
    [
      "with another policy",
      inState({}, { schemas: { delays: { d: "absolute" } } }),
      inState({}, { schemas: { delays: { d: "restart" } } }),
    ],
    [
      "with another kind of logic",
      inState({ invoke: { src: "a" } }, { actors: { a: fromPromise(async () => 1) } }),
      inState({ invoke: { src: "a" } }, { actors: { a: fromTransition((state: number) => state, 0) } }),
    ],
    ["that invokes under another id", inState({ invoke: { src: "a" } }), inState({ invoke: { src: "a", id: "b" } })],
    ["with another combination of guards", inState({ always: { guard: and(["a", "b"]) } }), inState({ always: { guard: or(["a", "b"]) } })],
    [
      "with another delayed raise that enqueueActions may name",
      inState({ entry: enqueueActions(() => {}) }, { delays: { d: 1 }, actions: { r: raise({ type: "go" }, { delay: "d" } as never) } }),
      inState({ entry: enqueueActions(() => {}) }, { delays: { d: 1 }, actions: { r: raise({ type: "more" }, { delay: "d" } as never) } }),
    ],
    [
      "with its regions in another order",
      thing({ type: "parallel", states: { a: {}, b: {} } }),
      thing({ type: "parallel", states: { b: {}, a: {} } }),
    ],
  ])("%s", (_, one, other) => {
    expect(definitionOf(one)).not.toBe(definitionOf(other));
  });
});

it("a definition is a digest also of what refers to itself, and of what is no JSON", () => {
  const context: Record<string, unknown> = { at: new Date(0), n: 1n, nan: Number.NaN };
  context.self = context;
  expect(definitionOf(thing({ context }))).toMatch(/^[0-9a-f]{64}$/);
});
