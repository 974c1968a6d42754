/** Small machines for the paths and the proof of a machine, each with one thing that is easily told wrong. */

import { type AnyStateMachine, setup } from "xstate";
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
