/** A machine that this program does not know, in three versions: what an operator finds in the root of another program. */

import { assign, setup } from "xstate";
import { z } from "zod";
import { effect, engineActions } from "../../machines/action.ts";
import type { TypesOf } from "../../machines/infer.ts";
import type { Migration } from "../../src/actor/declaration.ts";

const failure = z.strictObject({ error: z.strictObject({ code: z.string(), message: z.string() }), effect: z.string() });

const schemas = {
  input: z.strictObject({ total: z.number().positive() }),
  context: z.strictObject({ total: z.number(), receipt: z.string().nullable(), notes: z.int() }),
  events: {
    "order.pay": z.strictObject({}),
    "order.ship": z.strictObject({}),
    "order.note": z.strictObject({ to: z.string() }),
    "order.noted": z.strictObject({ strange: z.boolean() }),
    "order.cancel": z.strictObject({}),
    "charge.done": z.strictObject({ output: z.string(), effect: z.string() }),
    "parcel.done": z.strictObject({ output: z.string(), effect: z.string() }),
    "parcel.failed": failure,
    "label.done": z.strictObject({ output: z.null(), effect: z.string() }),
  },
  facts: {},
  effects: {
    charge: { params: z.strictObject({ amount: z.number() }), done: "charge.done", delivery: "at_least_once" as const, attempts: 1 },
    parcel: { params: z.strictObject({}), done: "parcel.done", failed: "parcel.failed", delivery: "at_least_once" as const },
    label: { params: z.strictObject({}), done: "label.done", delivery: "at_least_once" as const },
  },
  delays: { patience: "absolute" as const },
};

/** An order. Version 2 has a migration from 1, version 3 has none. */
export function orderOf(version: string, migrations: Record<string, Migration> = {}) {
  return setup({
    schemas: { ...schemas, migrations },
    types: {} as TypesOf<typeof schemas>,
    actions: {
      ...engineActions,
      charge: effect<{ amount: number }>(),
      parcel: effect<object>(),
      label: effect<object>(),
      count: assign(({ context, event }) => {
        // A fault of the machine, so that there is something to be set aside for.
        if (event.type === "order.noted" && event.strange) throw new Error("strange notes are not understood");
        return { notes: context.notes + 1 };
      }),
      keepReceipt: assign(({ event }) => {
        if (event.type === "charge.done" && event.output === "") throw new Error("a receipt has a number");
        return event.type === "charge.done" ? { receipt: event.output } : {};
      }),
    },
    delays: { patience: 3 * 86_400_000 },
  }).createMachine({
    id: "order",
    version,
    context: ({ input }) => ({ total: input.total, receipt: null, notes: 0 }),
    initial: "open",
    on: {
      "order.note": {
        actions: { type: "deliver", params: ({ event }) => ({ to: event.to, event: { type: "order.noted", strange: true } }) },
      },
      "order.noted": { actions: "count" },
      "order.cancel": ".cancelled",
    },
    states: {
      open: { on: { "order.pay": "charging" }, after: { patience: "cancelled" } },
      charging: {
        entry: { type: "charge", params: ({ context }) => ({ amount: context.total }) },
        on: { "charge.done": { target: "paid", actions: "keepReceipt" } },
      },
      paid: {
        entry: { type: "label", params: {} },
        on: { "order.ship": "shipping" },
      },
      shipping: {
        entry: { type: "parcel", params: {} },
        on: { "parcel.done": "shipped", "parcel.failed": "paid" },
      },
      shipped: { type: "final" },
      cancelled: { type: "final" },
    },
  });
}

export const order = orderOf("1");
