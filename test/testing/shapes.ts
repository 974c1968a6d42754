/** Small machines for the paths and the proof of a machine, each with one thing that is easily told wrong. */

import { type AnyStateMachine, and, not, setup, stateIn } from "xstate";
import { z } from "zod";
import { effect, engineActions } from "../../machines/index.ts";

const empty = z.strictObject({});

/** A machine without input or context. `more`: what else `setup` is given, and what else is in `schemas`. */
export const shaped = (id: string, types: readonly string[], config: object, more: object = {}, schemas: object = {}): AnyStateMachine =>
  setup({
    schemas: { input: empty, context: empty, events: Object.fromEntries(types.map((type) => [type, empty])), facts: {}, ...schemas },
    ...more,
  } as never).createMachine({ id, version: "1", context: {}, ...config } as never) as unknown as AnyStateMachine;

const effectKey = z.string();
const failure = z.object({ code: z.string(), message: z.string() });

/** An effect that ends in one state, whatever it comes to. */
export const indifferent: AnyStateMachine = shaped(
  "indifferent",
  [],
  {
    initial: "working",
    states: {
      working: {
        entry: "work",
        on: {
          halt: { actions: { type: "abortEffect", params: { effect: "work" } } },
          "work.done": "over",
          "work.failed": "over",
          "work.aborted": "over",
        },
      },
      over: { type: "final" },
    },
  },
  { actions: { ...engineActions, work: effect() } },
  {
    events: {
      halt: empty,
      "work.done": z.object({ output: z.null(), effect: effectKey }),
      "work.failed": z.object({ error: failure, effect: effectKey }),
      "work.aborted": z.object({ effect: effectKey }),
    },
    effects: { work: { params: empty, done: "work.done", failed: "work.failed", aborted: "work.aborted", delivery: "at_least_once" } },
  },
);

/** One way of so many moves. */
export const chainOf = (moves: number): AnyStateMachine => {
  const next = (index: number) => (index + 1 < moves ? `s${index + 1}` : "over");
  const states = Object.fromEntries(Array.from({ length: moves }, (_, index) => [`s${index}`, { on: { go: next(index) } }]));
  return shaped("chain", ["go"], { initial: "s0", states: { ...states, over: { type: "final" } } });
};

/** A final child that is left at once, by what its parent does when it is done; also in regions that end together, and from the start. */
export const passing: AnyStateMachine = shaped("passing", ["go", "on"], {
  initial: "gone",
  states: {
    gone: { initial: "z", states: { z: { type: "final" } }, onDone: "work" },
    work: { initial: "a", states: { a: { on: { go: "z" } }, z: { type: "final" } }, onDone: "both" },
    both: {
      type: "parallel",
      states: {
        left: { initial: "a", states: { a: { on: { go: "z" } }, z: { type: "final" } } },
        right: { initial: "a", states: { a: { on: { go: "z" } }, z: { type: "final" } } },
      },
      onDone: "brief",
    },
    brief: { always: "end" },
    end: { on: { on: "over" } },
    over: { type: "final" },
  },
});

/** An event that the whole machine takes, and some of its states forbid, each in another way. */
export const forbidding: AnyStateMachine = shaped("forbidding", ["ping", "next"], {
  on: { ping: ".over" },
  initial: "empty",
  states: {
    empty: { on: { ping: {}, next: "none" } },
    none: { on: { ping: undefined, next: "idle" } },
    idle: { on: { ping: { actions: [] }, next: "open" } },
    open: {},
    over: { type: "final" },
  },
});

/** Timers of no length that lead in a circle, once it has begun. */
export const circling: AnyStateMachine = shaped(
  "circling",
  ["go"],
  { initial: "x", states: { x: { on: { go: "y" } }, y: { after: { now: "z" } }, z: { after: { now: "y" } } } },
  { delays: { now: 0 } },
  { delays: { now: "absolute" } },
);

const n = (least: number) => ({ type: "atLeast", params: { n: least } });

/** A guard with params, also as a part of others, of which one has a name; another whose params are computed. */
export const measured: AnyStateMachine = shaped(
  "measured",
  [],
  {
    initial: "open",
    states: {
      open: {
        on: {
          put: [
            { guard: n(1000), target: "full" },
            { guard: and([n(10), not("isOdd")]), target: "half" },
            { guard: "isSmall", target: "over" },
            { guard: { type: "atLeast", params: ({ event }: any) => ({ n: event.amount + 1 }) }, target: "full" },
          ],
        },
      },
      half: { on: { put: { guard: stateIn("half"), target: "over" } } },
      full: {},
      over: { type: "final" },
    },
  },
  {
    guards: {
      atLeast: ({ event }: any, params: any) => event.amount >= params.n,
      isOdd: ({ event }: any) => event.amount % 2 === 1,
      isSmall: and([n(1), not(n(5))]),
    },
  },
  { events: { put: z.strictObject({ amount: z.int() }) } },
);
