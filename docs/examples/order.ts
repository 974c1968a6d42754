/** A machine for the engine alone: an order that is paid once. */

import { effect, type TypesOf } from "holdfast/actors";
import { assign, setup } from "xstate";
import { z } from "zod";

const schemas = {
  input: z.object({ total: z.number().positive() }),
  context: z.object({ total: z.number(), receipt: z.string().nullable() }),
  events: {
    "order.pay": z.object({}),
    "charge.done": z.object({ output: z.string(), effect: z.string() }),
    "charge.failed": z.object({ error: z.object({ code: z.string(), message: z.string() }), effect: z.string() }),
  },
  facts: {},
  effects: {
    chargeCard: { params: z.object({ amount: z.number() }), done: "charge.done", failed: "charge.failed", delivery: "at_least_once" },
  },
};

export const order = setup({
  schemas,
  types: {} as TypesOf<typeof schemas>,
  actions: { chargeCard: effect<{ amount: number }>() },
}).createMachine({
  id: "order",
  version: "1",
  context: ({ input }) => ({ total: input.total, receipt: null }),
  initial: "open",
  states: {
    open: { description: "Nothing was charged.", on: { "order.pay": "charging" } },
    charging: {
      description: "A charge is requested, durably. A restart goes on with it.",
      entry: { type: "chargeCard", params: ({ context }) => ({ amount: context.total }) },
      on: {
        "charge.done": { target: "paid", actions: assign({ receipt: ({ event }) => event.output }) },
        "charge.failed": "open",
      },
    },
    paid: { type: "final", description: "Charged once; the receipt is known." },
  },
});
