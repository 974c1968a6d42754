/** An order with all that a path can be made of: a guard, a timer, both deliveries, a restart, another machine. */

import { assign, setup } from "xstate";
import { z } from "zod";
import { effect, engineActions } from "../../machines/index.ts";

const effectKey = z.string();
const failure = z.object({ code: z.string(), message: z.string() });

const schemas = {
  input: z.object({ total: z.number() }),
  context: z.object({ total: z.number(), paid: z.number(), restarts: z.number() }),
  events: {
    "order.pay": z.object({ amount: z.number() }),
    "order.stop": z.object({}),
    "charge.done": z.object({ output: z.number(), effect: effectKey }),
    "charge.failed": z.object({ error: failure, effect: effectKey }),
    "charge.aborted": z.object({ effect: effectKey }),
    "notify.done": z.object({ output: z.null(), effect: effectKey }),
    "notify.failed": z.object({ error: failure, effect: effectKey }),
    "effect.unknown": z.object({ effect: effectKey, name: z.string() }),
    "engine.reopened": z.object({ epoch: z.number() }),
    "engine.quarantined": z.object({ actor: z.string(), code: z.string() }),
    "engine.released": z.object({ actor: z.string() }),
  },
  facts: {},
  effects: {
    charge: {
      params: z.object({}),
      done: "charge.done",
      failed: "charge.failed",
      aborted: "charge.aborted",
      delivery: "at_most_once",
      timeoutMs: 1000,
    },
    notify: { params: z.object({}), done: "notify.done", failed: "notify.failed", delivery: "at_least_once" },
  },
  delays: { patience: "absolute" },
} as const;

interface Context {
  readonly total: number;
  readonly paid: number;
  readonly restarts: number;
}

/** Another machine, which the order creates an actor of. */
export const parcel = setup({
  schemas: {
    input: z.object({ order: z.string() }),
    context: z.object({}),
    events: { "parcel.hold": z.object({}) },
    facts: {},
    supervisor: (input: { order: string }) => input.order,
  },
}).createMachine({ id: "parcel", version: "1", context: {}, on: { "parcel.hold": {} } });

/** `amountFits`: the rule by which a payment is taken. */
export const orderOf = (
  amountFits: (given: { context: Context; event: any }) => boolean = ({ context, event }) => event.amount === context.total,
) =>
  setup({
    schemas,
    types: { context: {} as Context, input: {} as { total: number }, events: {} as { type: string; output?: number } },
    delays: { patience: 30 * 86_400_000 },
    guards: { amountFits, isFirstRestart: ({ context }) => context.restarts < 1 },
    actions: {
      ...engineActions,
      charge: effect(),
      notify: effect(),
      count: assign({ restarts: ({ context }) => context.restarts + 1 }),
      record: assign({ paid: ({ event }) => event.output ?? 0 }),
    },
  }).createMachine({
    id: "order",
    version: "1",
    context: ({ input }) => ({ total: input.total, paid: 0, restarts: 0 }),
    initial: "open",
    on: { "engine.reopened": { guard: "isFirstRestart", actions: "count" } },
    states: {
      open: {
        after: { patience: "notifying" },
        on: { "order.pay": { guard: "amountFits", target: "charging" }, "order.stop": "stopped" },
      },
      notifying: { entry: "notify", on: { "notify.done": "stopped", "notify.failed": "open" } },
      charging: {
        on: { "order.stop": { actions: { type: "abortEffect", params: { effect: "charge" } } }, "charge.aborted": "stopped" },
        initial: "asked",
        states: {
          asked: {
            entry: "charge",
            on: {
              "charge.done": { target: "#order.packing", actions: "record" },
              "charge.failed": "#order.open",
              "effect.unknown": "#order.stopped",
            },
          },
        },
      },
      packing: {
        entry: { type: "createActor", params: { machine: "parcel", id: "one", input: { order: "order/path" } } },
        on: { "engine.quarantined": "held", "order.stop": "stopped" },
      },
      held: {
        entry: { type: "deliver", params: { to: "parcel/two", event: { type: "parcel.hold" } } },
        on: { "engine.released": "stopped" },
      },
      stopped: { type: "final" },
    },
  });
