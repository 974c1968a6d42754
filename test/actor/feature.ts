/**
 * Everything that a machine made by `setup()` can contain. A feature either runs on the engine as it is written here, or is refused
 * with the way to write it instead; `docs/guides/supported.md` has the same rows.
 */

import {
  type AnyStateMachine,
  and,
  assign,
  cancel,
  createMachine,
  emit,
  enqueueActions,
  forwardTo,
  fromCallback,
  fromEventObservable,
  fromObservable,
  fromPromise,
  fromTransition,
  log,
  not,
  or,
  raise,
  sendParent,
  sendTo,
  spawnChild,
  stateIn,
  stopChild,
} from "xstate";
import { z } from "zod";
import { effect } from "../../machines/action.ts";
import { DELAY_LIMIT_MS } from "../../src/actor/delay.ts";
import { inState, thing } from "./thing.ts";

/** An event that is taken, one that is ignored, or time that passes; 0 ms: whatever is under way. */
type Step = { readonly type: string } | { readonly ignored: { readonly type: string } } | { readonly ms: number };

/** A feature that runs. */
export interface Supported {
  readonly feature: string;
  /** Said of it in the docs. */
  readonly note?: string;
  readonly machine: AnyStateMachine;
  readonly input?: object;
  readonly steps: readonly Step[];
  /** Where it is then. */
  readonly state: string;
  readonly context?: object;
  readonly facts?: readonly object[];
  readonly output?: unknown;
}

const go = { type: "go" };
const more = { type: "more" };
const count = assign({ count: ({ context }: { context: { count?: number } }) => (context.count ?? 0) + 1 } as never);
const note = (word: string) => assign({ log: ({ context }: { context: { log?: string[] } }) => [...(context.log ?? []), word] } as never);
const told = emit({ type: "thing.told" });
const double = fromPromise(async ({ input }: { input: number }) => input * 2);
const broken = fromPromise(async () => {
  throw Object.assign(new Error("no"), { retryable: false });
});
const job = { params: z.looseObject({}), done: "job.done", delivery: "at_least_once" };

export const SUPPORTED: readonly Supported[] = [
  {
    feature: "`context`, static or from `input`",
    machine: thing(
      { context: ({ input }: any) => ({ from: input.from }), initial: "a", states: { a: {} } },
      { schemas: { input: z.object({ from: z.int() }) } },
    ),
    input: { from: 7 },
    steps: [],
    state: "a",
    context: { from: 7 },
  },
  {
    feature: "`types`",
    note: "types only; `TypesOf<typeof schemas>` infers them",
    machine: thing({ types: {} as object, initial: "a", states: { a: { on: { go: "b" } }, b: {} } }),
    steps: [go],
    state: "b",
  },
  {
    feature: "nested states, `initial` with actions, state `id` and `#id` targets",
    machine: thing({
      initial: "a",
      states: {
        a: { on: { go: "#inner" } },
        b: {
          initial: { target: "c", actions: note("initial") },
          states: { c: { on: { more: "d" } }, d: { id: "inner", on: { go: "#thing.b" } } },
        },
      },
    }),
    steps: [go, go, more],
    state: "b.d",
    context: { log: ["initial"] },
  },
  {
    feature: "`entry`, `exit`, transition `actions`",
    machine: inState({ entry: note("in"), exit: note("out"), on: { go: { target: "two", actions: note("between") } } }),
    steps: [go],
    state: "two",
    context: { log: ["in", "out", "between"] },
  },
  {
    feature: "parallel states and their `onDone`",
    machine: thing({
      initial: "both",
      states: {
        both: {
          type: "parallel",
          onDone: "after",
          states: {
            left: { initial: "a", states: { a: { on: { go: "b" } }, b: { type: "final" } } },
            right: { initial: "a", states: { a: { on: { more: "b" } }, b: { type: "final" } } },
          },
        },
        after: {},
      },
    }),
    steps: [go, more],
    state: "after",
  },
  {
    feature: "final states, `output`, `onDone` of a nested state",
    note: "`output` is plain JSON",
    machine: thing({
      output: ({ event }: any) => ({ got: event.output }),
      initial: "a",
      states: {
        a: {
          initial: "b",
          states: { b: { on: { go: "c" } }, c: { type: "final", output: () => 3 } },
          onDone: { target: "end", actions: assign(({ event }: any) => ({ got: event.output })) },
        },
        end: { type: "final", output: ({ context }: any) => context.got },
      },
    }),
    steps: [go],
    state: "end",
    context: { got: 3 },
  },
  ...(["shallow", "deep"] as const).map((history) => ({
    feature: `${history} history states`,
    machine: thing({
      initial: "a",
      states: {
        a: {
          initial: "b",
          states: {
            b: { on: { go: "c" } },
            c: { initial: "d", states: { d: { on: { go: "e" } }, e: {} } },
            back: { type: "history", history, target: "b" },
          },
          on: { more: "away" },
        },
        away: { on: { go: "a.back" } },
      },
    }),
    steps: [go, go, more, go],
    state: history === "deep" ? "a.c.e" : "a.c.d",
  })),
  {
    feature: "transitions without a target, several with guards, forbidden ones",
    machine: thing(
      {
        initial: "a",
        on: { more: ".never" },
        states: { never: {}, a: { on: { go: [{ guard: "no", target: "never" }, { actions: count }], more: {} } } },
      },
      { guards: { no: () => false } },
    ),
    steps: [go, { ignored: more }],
    state: "a",
    context: { count: 1 },
  },
  {
    feature: "wildcards, `*` and `step.*`",
    machine: thing({ initial: "a", states: { a: { on: { "step.*": "b" } }, b: { on: { "*": "c" } }, c: {} } }),
    steps: [{ type: "step.on" }, go],
    state: "c",
  },
  {
    feature: "`reenter`",
    machine: inState({ entry: count, on: { go: { target: "one", reenter: true } } }),
    steps: [go, go],
    state: "one",
    context: { count: 3 },
  },
  {
    feature: "`always`",
    note: "10,000 microsteps in one transition at most: a circle fails with `machine_threw`",
    machine: thing(
      { initial: "a", states: { a: { entry: count, always: { guard: "few", target: "a", reenter: true }, on: { go: "b" } }, b: {} } },
      { guards: { few: ({ context }: any) => context.count < 3 } },
    ),
    steps: [go],
    state: "b",
    context: { count: 3 },
  },
  {
    feature: "`after` with a named delay",
    note: "a durable timer; its policy is in `schemas.delays`",
    machine: inState({ after: { soon: "two" } }, { delays: { soon: 1000 } }),
    steps: [{ ms: 1000 }],
    state: "two",
  },
  {
    feature: "a delay that is a function",
    note: `it gives milliseconds from 0 to ${DELAY_LIMIT_MS.toLocaleString("en-US")} (a hundred years), or its transition fails with \`machine_threw\``,
    machine: thing(
      { context: { wait: 20 }, initial: "one", states: { one: { after: { soon: "two" } }, two: {} } },
      { delays: { soon: ({ context }: any) => context.wait } },
    ),
    steps: [{ ms: 20 }],
    state: "two",
    context: { wait: 20 },
  },
  {
    feature: "`raise`",
    machine: inState({ on: { go: { actions: raise({ type: "more" }) }, more: "two" } }),
    steps: [go],
    state: "two",
  },
  {
    feature: "`raise` with a named delay, in a state or in `setup({ actions })`",
    note: "a durable timer",
    machine: inState(
      { entry: enqueueActions(({ enqueue }: any) => enqueue("remind")), on: { go: "two" } },
      { delays: { soon: 10 }, actions: { remind: raise({ type: "go" }, { delay: "soon", id: "reminder" } as never) } },
    ),
    steps: [{ ms: 10 }],
    state: "two",
  },
  {
    feature: "`cancel`",
    machine: inState(
      {
        entry: [
          raise({ type: "go" }, { delay: "soon", id: "first" } as never),
          raise({ type: "go" }, { delay: "late", id: "second" } as never),
        ],
        on: { go: { actions: count }, more: { actions: [cancel("first"), count] } },
      },
      { delays: { soon: 10, late: 20 } },
    ),
    steps: [more, { ms: 20 }],
    state: "one",
    context: { count: 2 },
  },
  {
    feature: "`assign`, inline or named",
    machine: inState({ entry: [count, "named"] }, { actions: { named: count } }),
    steps: [],
    state: "one",
    context: { count: 2 },
  },
  {
    feature: "`emit`",
    note: "a fact in the journal, by `schemas.facts`",
    machine: inState({ on: { go: { actions: told } } }),
    steps: [go],
    state: "one",
    facts: [{ type: "thing.told" }],
  },
  {
    feature: "`enqueueActions`, inline or named",
    note: "what it enqueues is checked when it runs",
    machine: inState(
      {
        entry: enqueueActions(({ enqueue, check }: any) => check("yes") && enqueue.assign({ count: 5 })),
        on: { go: { actions: "named" } },
      },
      { guards: { yes: () => true }, actions: { named: enqueueActions(({ enqueue }: any) => enqueue.raise({ type: "more" })) } },
    ),
    steps: [go],
    state: "one",
    context: { count: 5 },
  },
  {
    feature: "actions with params, static or from context and event",
    machine: inState(
      {
        on: {
          go: {
            actions: [
              { type: "add", params: { by: 2 } },
              { type: "add", params: ({ context }: any) => ({ by: context.n }) },
            ],
          },
        },
      },
      { actions: { add: assign(({ context }: any, { by }: any) => ({ n: (context.n ?? 0) + by })) } },
    ),
    steps: [go],
    state: "one",
    context: { n: 4 },
  },
  {
    feature: "`log`",
    note: "accepted, and prints nothing: a replay would print again",
    machine: inState({ on: { go: { target: "two", actions: log("gone") } } }),
    steps: [go],
    state: "two",
  },
  {
    feature: "named guards, with params, and `and`, `or`, `not`, `stateIn` of them",
    machine: inState(
      {
        on: {
          go: [
            { guard: "all", target: "one" },
            {
              guard: and(["yes", or(["no", { type: "is", params: { what: true } }]), stateIn("one"), stateIn("#thing.one")] as never),
              target: "two",
            },
          ],
        },
      },
      { guards: { yes: () => true, no: () => false, is: (_: unknown, { what }: any) => what, all: and(["yes", not("yes")]) } },
    ),
    steps: [go],
    state: "two",
  },
  {
    feature: "`invoke` of named promise logic, with `input`, `onDone`, `onError`",
    note: "an effect: its promise is made after the commit, and again after a crash; its limits may stand in `schemas.effects`",
    machine: thing(
      {
        context: { n: 4 },
        initial: "a",
        states: {
          a: {
            invoke: {
              src: "double",
              input: ({ context }: any) => context.n,
              onDone: { target: "b", actions: assign(({ event }: any) => ({ n: event.output })) },
            },
          },
          b: { invoke: { id: "second", src: "broken", onDone: "a", onError: { target: "c", actions: count } } },
          c: {},
        },
      },
      { actors: { double, broken } },
    ),
    steps: [{ ms: 0 }],
    state: "c",
    context: { n: 8, count: 1 },
  },
  {
    feature: "effects: a named action of `schemas.effects`",
    machine: inState(
      { entry: { type: "job", params: { n: 1 } }, on: { "job.done": "two" } },
      { schemas: { effects: { job } }, actions: { job: effect() } },
    ),
    steps: [{ ms: 0 }],
    state: "two",
  },
  {
    feature: "`tags`, `meta`, `description`",
    machine: inState({ tags: ["first"], meta: { page: 1 }, description: "The first.", on: { go: "two" } }),
    steps: [go],
    state: "two",
  },
];

/** A feature that is refused when its machine is registered. */
export interface Refused {
  readonly feature: string;
  readonly machine: AnyStateMachine;
  readonly path: string;
}

const inline = fromPromise(async () => 1);

export const REFUSED: readonly Refused[] = [
  { feature: "an inline function as an action", machine: inState({ entry: () => {} }), path: "thing.one.entry" },
  {
    feature: "a named function as an action",
    machine: inState({ entry: "shout" }, { actions: { shout: () => {} } }),
    path: "thing.one.entry",
  },
  { feature: "an action that nobody defines", machine: inState({ entry: "shuot" }), path: "thing.one.entry" },
  {
    feature: "an inline function as a guard",
    machine: inState({ on: { go: { guard: () => true, target: "two" } } }),
    path: "thing.one.on.go",
  },
  { feature: "a guard that nobody defines", machine: inState({ on: { go: { guard: "fien", target: "two" } } }), path: "thing.one.on.go" },
  { feature: "a transition for an undeclared event", machine: inState({ on: { og: "two" } }), path: "thing.one.on.og" },
  { feature: "a wildcard before the end of an event type", machine: inState({ on: { "*.on": "two" } }), path: "thing.one.on.*.on" },
  { feature: "a fact that is not declared", machine: inState({ entry: emit({ type: "thing.lost" }) }), path: "thing.one.entry" },
  { feature: "`after` with a number", machine: inState({ after: { 1000: "two" } }), path: "thing.one.after.1000" },
  {
    feature: "`raise` with a number as its delay",
    machine: inState({ entry: raise({ type: "go" }, { delay: 10 }) }),
    path: "thing.one.entry",
  },
  {
    feature: "`raise` with a function as its delay",
    machine: inState({ entry: raise({ type: "go" }, { delay: () => 10 }) }),
    path: "thing.one.entry",
  },
  {
    feature: "`raise` with a function as its `id`",
    machine: inState({ entry: raise({ type: "go" }, { delay: "soon", id: (() => "x") as never } as never) }, { delays: { soon: 1 } }),
    path: "thing.one.entry",
  },
  {
    feature: "a delay that nobody defines",
    machine: inState({ after: { sonn: "two" } }, { delays: { soon: 1 } }),
    path: "thing.one.after.sonn",
  },
  {
    feature: "a delay that is no time",
    machine: inState({ after: { soon: "two" } }, { delays: { soon: Number.POSITIVE_INFINITY } }),
    path: "setup.delays.soon",
  },
  {
    feature: "a delayed `raise` of an event that a function makes, without an `id`",
    machine: inState({ entry: raise(() => ({ type: "go" }), { delay: "soon" } as never) }, { delays: { soon: 1 } }),
    path: "thing.one.entry",
  },
  {
    feature: "two delayed `raise` under one `id`, or of one event without an `id`, with different delays",
    machine: inState(
      { entry: ["first", "second"].map((delay) => raise({ type: "go" }, { delay } as never)) },
      { delays: { first: 1, second: 2 } },
    ),
    path: "thing.one.entry",
  },
  {
    feature: "`sendTo`, also to itself, and with a delay",
    machine: inState({ entry: sendTo(({ self }: any) => self, { type: "go" }, { delay: 5 }) }),
    path: "thing.one.entry",
  },
  { feature: "`sendParent`", machine: inState({ entry: sendParent({ type: "go" }) }), path: "thing.one.entry" },
  { feature: "`forwardTo`", machine: inState({ on: { go: { actions: forwardTo("child") } } }), path: "thing.one.on.go" },
  {
    feature: "`spawnChild`",
    machine: inState({ entry: spawnChild("child" as never) }, { actors: { child: inline } }),
    path: "thing.one.entry",
  },
  { feature: "`stopChild`", machine: inState({ exit: stopChild("child") }), path: "thing.one.exit" },
  { feature: "`invoke` of inline logic", machine: inState({ invoke: { src: inline } }), path: "thing.one.invoke" },
  { feature: "`invoke` of logic that nobody defines", machine: inState({ invoke: { src: "child" } }), path: "thing.one.invoke" },
  {
    feature: "`invoke` of a machine",
    machine: inState({ invoke: { src: "child" } }, { actors: { child: createMachine({}) } }),
    path: "thing.one.invoke",
  },
  {
    feature: "`invoke` of `fromCallback`",
    machine: inState({ invoke: { src: "child" } }, { actors: { child: fromCallback(() => {}) } }),
    path: "thing.one.invoke",
  },
  {
    feature: "`invoke` of `fromObservable` or `fromEventObservable`",
    machine: inState(
      { invoke: [{ src: "a" }, { src: "b" }] },
      { actors: { a: fromObservable(() => ({}) as never), b: fromEventObservable(() => ({}) as never) } },
    ),
    path: "thing.one.invoke.0",
  },
  {
    feature: "`invoke` of `fromTransition`",
    machine: inState({ invoke: { src: "child" } }, { actors: { child: fromTransition((state: number) => state, 0) } }),
    path: "thing.one.invoke",
  },
  {
    feature: "`onSnapshot`, `syncSnapshot`",
    machine: inState({ invoke: { src: "child", onSnapshot: "two" } }, { actors: { child: inline } }),
    path: "thing.one.invoke",
  },
  {
    feature: "`systemId`",
    machine: inState({ invoke: { src: "child", systemId: "it" } }, { actors: { child: inline } }),
    path: "thing.one.invoke",
  },
  {
    feature: "two invocations with one `id`",
    machine: thing(
      { initial: "a", states: { a: { invoke: { id: "x", src: "child" } }, b: { invoke: { id: "x", src: "child" } } } },
      { actors: { child: inline } },
    ),
    path: "thing.b.invoke",
  },
  { feature: "`route`", machine: thing({ initial: "a", states: { a: { id: "a", route: {} } } }), path: "a.route" },
  { feature: "an `output` that is not plain JSON", machine: thing({ output: { at: new Date(0) } }), path: "thing.output" },
];

/** What no definition shows: it fails the macrostep that does it, with this code. */
export interface Failing {
  readonly feature: string;
  readonly machine: AnyStateMachine;
  readonly code: string;
  readonly says: string;
  /** How to write it instead, in the docs. */
  readonly instead: string;
}

const endless = fromPromise(() => new Promise(() => {}));
const onGo = (actions: unknown, parts: object = { actors: { child: inline } }) => inState({ on: { go: { actions } } }, parts);

export const FAILING: readonly Failing[] = [
  {
    feature: "`spawn` in `assign`",
    machine: onGo(assign(({ spawn }: any) => ({ child: spawn("child") }))),
    code: "action_invalid",
    says: "createActor",
    instead: "invoke named promise logic, or use the action `createActor`",
  },
  {
    feature: "`spawn` of inline logic in `assign`",
    machine: onGo(assign(({ spawn }: any) => void spawn(inline))),
    code: "action_invalid",
    says: "createActor",
    instead: "the same",
  },
  {
    feature: "`enqueue.spawnChild`",
    machine: onGo(enqueueActions(({ enqueue }: any) => enqueue.spawnChild("child", { id: "x" }))),
    code: "action_invalid",
    says: "x",
    instead: "the same",
  },
  {
    feature: "`enqueue.stopChild` of what its state invokes",
    machine: inState(
      { invoke: { id: "x", src: "child" }, on: { go: { actions: enqueueActions(({ enqueue }: any) => enqueue.stopChild("x")) } } },
      { actors: { child: endless } },
    ),
    code: "action_invalid",
    says: "cancelEffect",
    instead: "leave the state, or use the action `cancelEffect`",
  },
  {
    feature: "`enqueue.sendTo`",
    machine: onGo(enqueueActions(({ enqueue, self }: any) => enqueue.sendTo(self, { type: "go" }))),
    code: "action_invalid",
    says: "deliver",
    instead: "`deliver`, or `enqueue.raise` for the machine itself",
  },
  {
    feature: "`enqueue.sendTo` to a child",
    machine: onGo(enqueueActions(({ enqueue }: any) => enqueue.sendTo("child", { type: "go" }))),
    code: "machine_threw",
    says: "child",
    instead: "the same",
  },
  {
    feature: "`enqueue.sendParent`",
    machine: onGo(enqueueActions(({ enqueue }: any) => enqueue.sendParent({ type: "go" }))),
    code: "machine_threw",
    says: "parent",
    instead: "`deliver`",
  },
  {
    feature: "`enqueue` of a function",
    machine: onGo(enqueueActions(({ enqueue }: any) => enqueue(() => {}))),
    code: "action_invalid",
    says: "neither",
    instead: "`enqueue` the name of an action of `setup({ actions })`",
  },
  {
    feature: "`enqueue.raise` with a number as its delay",
    machine: onGo(enqueueActions(({ enqueue }: any) => enqueue.raise({ type: "more" }, { delay: 5 }))),
    code: "action_invalid",
    says: "setup({ actions })",
    instead: "define the delayed `raise` in `setup({ actions })`, and `enqueue` its name",
  },
  {
    feature: "`enqueue.emit` of an undeclared fact",
    machine: onGo(enqueueActions(({ enqueue }: any) => enqueue.emit({ type: "thing.lost" }))),
    code: "fact_invalid",
    says: "schemas.facts",
    instead: "declare it in `schemas.facts`",
  },
  {
    feature: "a delay's function that gives no number",
    machine: inState({ on: { go: "two" }, exit: raise({ type: "more" }, { delay: "soon" } as never) }, { delays: { soon: () => "5" } }),
    code: "machine_threw",
    says: "the delay soon",
    instead: "give milliseconds from 0",
  },
  {
    feature: "a circle of `always`",
    machine: thing({ initial: "a", states: { a: { on: { go: "b" } }, b: { always: "c" }, c: { always: "b" } } }),
    code: "machine_threw",
    says: "circle",
    instead: "give one of the transitions a guard, or let an event decide",
  },
  {
    feature: "a `context` that is not plain JSON",
    machine: onGo(assign({ at: () => new Date(0) } as never)),
    code: "context_invalid",
    says: "at",
    instead: "keep numbers and text: `Date`, `Map`, `undefined` and `NaN` do not survive storage",
  },
  {
    feature: "an `input` of an invocation that is not plain JSON",
    machine: thing(
      { initial: "a", states: { a: { on: { go: "b" } }, b: { invoke: { src: "child", input: () => new Date(0) } } } },
      { actors: { child: inline } },
    ),
    code: "action_invalid",
    says: "plain JSON",
    instead: "give plain JSON",
  },
];
