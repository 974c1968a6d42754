import { describe, expect, it } from "vitest";
import { and, assign, cancel, emit, enqueueActions, fromPromise, fromTransition, not, or, raise, stateIn } from "xstate";
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

describe("a definition is a digest also of what", () => {
  it("refers to itself", () => {
    const [context, list]: [Record<string, unknown>, unknown[]] = [{}, []];
    context.self = context;
    list.push(list);
    const digests = [context, { list }].map((one) => definitionOf(thing({ context: one })));
    expect(digests).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), expect.stringMatching(/^[0-9a-f]{64}$/)]);
  });

  it("is no JSON, which is told by its kind", () => {
    const values = [1, "1", null, undefined, 1n, Symbol("a"), Number.NaN, Number.POSITIVE_INFINITY, new Date(0), () => 1, [], {}];
    const digests = values.map((value) => definitionOf(thing({ context: { value } })));
    expect(new Set(digests).size).toBe(values.length);
    expect(definitionOf(thing({ context: { value: new Date(0) } }))).toBe(definitionOf(thing({ context: { value: new Date(1) } })));
    expect(definitionOf(thing({ context: { value: Object.create(null) } }))).toBe(definitionOf(thing({ context: { value: {} } })));
  });
});

/** Machines that have between them everything that a definition covers. */
const whole = thing(
  {
    context: {
      n: 1,
      list: [undefined, null, "a"],
      at: new Date(0),
      big: 1n,
      nan: Number.NaN,
      mark: Symbol("a"),
      made: () => 1,
      none: undefined,
    },
    initial: { target: "one", actions: ["named", { type: "job", params: { n: 1 } }] },
    output: { n: 1 },
    states: {
      one: {
        tags: ["first"],
        entry: [
          assign({ n: 1 }),
          raise({ type: "go" }, { delay: "soon", id: "mine" } as never),
          cancel("mine"),
          emit({ type: "thing.told" }),
          enqueueActions(() => {}),
        ],
        exit: { type: "job", params: () => ({}) },
        always: { guard: "composed", target: "two" },
        after: { soon: "two", late: { guard: not("fine"), actions: () => {} } },
        on: { go: ["two", { target: ["#thing.two"], reenter: true }], more: undefined, "step.on": {} },
        invoke: [
          { src: "load", id: "kid", input: { n: 1 }, onDone: "two", onError: { actions: "named" } },
          { src: fromPromise(async () => 1), onDone: "two" },
        ],
      },
      two: {
        type: "parallel",
        onDone: { target: "end", guard: { type: "is", params: { n: 1 } } },
        states: {
          b: { initial: "c", states: { c: {}, back: { type: "history", history: "deep", target: "c" }, last: { type: "history" } } },
          a: { always: [{ guard: or(["fine", stateIn("#thing.one")]) as never }, { guard: () => true }] },
        },
      },
      end: { type: "final", output: ({ context }: any) => context.n },
    },
  },
  {
    actions: { named: assign({ n: 2 }), job: effect(), unused: assign({}), later: raise({ type: "go" }, { delay: "later" } as never) },
    guards: { fine: () => true, is: () => true, composed: and(["fine", not("is")]), unused: not("fine") },
    delays: { soon: 1, late: () => 2, later: 3, unused: 4 },
    actors: { load: fromPromise(async () => 1), unused: fromPromise(async () => 2) },
    schemas: {
      effects: { job: { ...job, failed: "job.failed", aborted: "job.aborted", attempts: 2 } },
      delays: { soon: "restart" },
    },
  },
);

it("a definition is the same in every release of the engine: what a root holds is compared with it", () => {
  expect(definitionOf(whole)).toBe("2baa6578db9b0e9e1a01bf6a0fb00bd7620ec038c5aefb1f32bad4c3fa3d8207");
  const list: unknown[] = [];
  list.push(list);
  expect(definitionOf(thing({ context: { list } }))).toBe("afbbbc0360a4066e228402b38219a6a7547ff3b1473e4f28d70c515e71419ae4");
  expect(definitionOf(inState({}))).toBe("e1f0715eda287815a42be5a20f3b379695badd9ac7cd3062556da92827e1f5a6");
});
