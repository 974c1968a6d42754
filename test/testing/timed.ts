/** Small machines for `exerciseMachine`: with timers of each policy, and one that is never explored to its end. */

import { type AnyStateMachine, assign, setup } from "xstate";
import { z } from "zod";

type Policy = "absolute" | "remaining" | "restart";

const HOUR_MS = 3_600_000;
const empty = z.object({});

/** What all of them declare, but for their events and delays. */
const schemasOf = (events: readonly string[], delays: Readonly<Record<string, Policy>>) => ({
  input: empty,
  context: empty,
  events: Object.fromEntries(events.map((type) => [type, type === "engine.reopened" ? z.object({ epoch: z.number() }) : empty])),
  facts: {},
  delays,
});

const machineOf = (id: string, schemas: unknown, delays: Record<string, number>, config: object): AnyStateMachine =>
  setup({ schemas, delays, guards: { never: () => false }, actions: { note: assign({}) } } as never).createMachine({
    id,
    version: "1",
    context: {},
    ...config,
  } as never) as unknown as AnyStateMachine;

/** A timer whose firing sets another, which something else may forestall. */
export const chained = (policies: Record<string, Policy>, more: readonly string[] = []): AnyStateMachine =>
  machineOf(
    "chained",
    schemasOf(["go", "skip", ...more], policies),
    { t1: HOUR_MS, t2: 2 * HOUR_MS },
    {
      initial: "a",
      states: {
        a: { on: { go: "a2" } },
        a2: { after: { t1: "b" } },
        b: { after: { t2: "c" }, on: { skip: "c" } },
        c: { type: "final" },
      },
    },
  );

/** Two timers of different policies at once, in a state and in one within it. `on`: what the whole machine takes. */
export const nested = (outer: Policy, inner: Policy, on: object = {}): AnyStateMachine =>
  machineOf(
    "nested",
    schemasOf(["stop", ...Object.keys(on)], { long: outer, short: inner }),
    { long: 5 * HOUR_MS, short: 2 * HOUR_MS },
    {
      on,
      initial: "whole",
      states: {
        whole: {
          after: { long: "over" },
          initial: "first",
          states: { first: { after: { short: "second" } }, second: { after: { short: "third" } }, third: { on: { stop: "#nested.over" } } },
        },
        over: { type: "final" },
      },
    },
  );

/** A delayed raise with an id, which can be called off. */
export const nudging = (policy: Policy): AnyStateMachine => {
  const base = setup({ schemas: schemasOf(["nudge", "settle", "again"], { grace: policy }), delays: { grace: HOUR_MS } } as never) as any;
  return base.createMachine({
    id: "nudging",
    version: "1",
    context: {},
    initial: "waiting",
    states: {
      waiting: {
        entry: base.raise({ type: "nudge" }, { delay: "grace", id: "n" }),
        on: { nudge: "nudged", settle: { target: "settled", actions: base.cancel("n") }, again: { target: "waiting", reenter: true } },
      },
      nudged: { on: { settle: "over" } },
      settled: { on: { again: "waiting", settle: "over" } },
      over: { type: "final" },
    },
  }) as AnyStateMachine;
};

/** A timer of no length, from the beginning and after an event. */
export const immediate: AnyStateMachine = machineOf(
  "immediate",
  schemasOf(["go"], { now: "absolute" }),
  { now: 0 },
  {
    initial: "a",
    states: { a: { after: { now: "b" } }, b: { on: { go: "c" } }, c: { after: { now: "d" } }, d: { type: "final" } },
  },
);

/** Two timers that are due at the same moment, each in a region of its own: one move, and a commit for each. */
export const twins: AnyStateMachine = machineOf(
  "twins",
  schemasOf(["go"], { left: "absolute", right: "absolute" }),
  { left: HOUR_MS, right: HOUR_MS },
  {
    initial: "both",
    states: {
      both: {
        type: "parallel",
        states: {
          left: { initial: "waits", states: { waits: { after: { left: "rang" } }, rang: {} } },
          right: { initial: "waits", states: { waits: { after: { right: "rang" } }, rang: {} } },
        },
        on: { go: "over" },
      },
      over: { type: "final" },
    },
  },
);

/** A context that grows for ever. */
export const endless: AnyStateMachine = setup({
  schemas: { input: empty, context: z.object({ count: z.number() }), events: { go: empty }, facts: {} },
  types: { context: {} as { count: number } },
  actions: { count: assign({ count: ({ context }) => context.count + 1 }) },
} as never).createMachine({ id: "endless", version: "1", context: { count: 0 }, on: { go: { actions: "count" } } } as never) as never;

/** Counts up to so many, and ends at any moment. */
export const sumOf = (most: number): AnyStateMachine =>
  setup({
    schemas: {
      input: z.strictObject({}),
      context: z.strictObject({ sum: z.int() }),
      events: { "sum.add": z.strictObject({}), "sum.end": z.strictObject({}) },
      facts: {},
    } as never,
    guards: { isLess: ({ context }: any) => context.sum < most },
    actions: { add: assign(({ context }: any) => ({ sum: context.sum + 1 })), forget: assign(() => ({ sum: 0 })) },
  } as never).createMachine({
    id: "sum",
    version: "1",
    context: { sum: 0 },
    initial: "open",
    states: {
      open: { on: { "sum.add": { guard: "isLess", actions: "add" }, "sum.end": { target: "done", actions: "forget" } } },
      done: { type: "final" },
    },
  } as never) as unknown as AnyStateMachine;
