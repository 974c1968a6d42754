/** A trial that becomes a paid plan by itself after two weeks: the first version that was deployed. */

import { effect, type TypesOf } from "holdfast/actors";
import { assign, setup } from "xstate";
import { z } from "zod";

const schemas = {
  input: z.object({ customer: z.string(), price: z.number().positive() }),
  context: z.object({ customer: z.string(), price: z.number(), receipt: z.string().nullable() }),
  events: {
    "trial.cancel": z.object({}),
    "charge.done": z.object({ output: z.string(), effect: z.string() }),
    "charge.failed": z.object({ error: z.object({ code: z.string(), message: z.string() }), effect: z.string() }),
  },
  facts: { "trial.converted": z.object({ receipt: z.string() }) },
  effects: {
    charge: {
      params: z.object({ customer: z.string(), amount: z.number() }),
      done: "charge.done",
      failed: "charge.failed",
      delivery: "at_least_once", // started again until a result is committed; its key tells a repetition
      attempts: 3,
    },
  },
  delays: { trialEnds: "absolute" }, // the end of a trial is a date: time that the server was down counts
} as const;

export const trial = setup({
  schemas,
  types: {} as TypesOf<typeof schemas>,
  delays: { trialEnds: 14 * 86_400_000 },
  actions: { charge: effect<{ customer: string; amount: number }>() },
}).createMachine({
  id: "trial",
  version: "1",
  context: ({ input }) => ({ ...input, receipt: null }),
  initial: "trying",
  states: {
    trying: { after: { trialEnds: "charging" }, on: { "trial.cancel": "cancelled" } },
    charging: {
      entry: { type: "charge", params: ({ context }) => ({ customer: context.customer, amount: context.price }) },
      on: {
        "charge.done": { target: "paid", actions: assign({ receipt: ({ event }) => event.output }) },
        "charge.failed": "cancelled",
      },
    },
    paid: { type: "final" },
    cancelled: { type: "final" },
  },
});
