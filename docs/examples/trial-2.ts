/** Version 2: a reminder two days before the trial ends. `trying` was a leaf, and has states of its own now. */

// ---
import { effect, type MigratedActor, type StoredActor, type TypesOf } from "holdfast/actors";
import { assign, emit, setup } from "xstate";
import { z } from "zod";

const DAY_MS = 86_400_000;

const schemas = {
  input: z.object({ customer: z.string(), price: z.number().positive(), currency: z.string() }),
  context: z.object({ customer: z.string(), price: z.number(), currency: z.string(), receipt: z.string().nullable() }),
  events: {
    "trial.cancel": z.object({}),
    "charge.done": z.object({ output: z.string(), effect: z.string() }),
    "charge.failed": z.object({ error: z.object({ code: z.string(), message: z.string() }), effect: z.string() }),
    "remind.done": z.object({ output: z.null(), effect: z.string() }),
  },
  facts: { "trial.converted": z.object({ receipt: z.string(), currency: z.string() }) },
  effects: {
    charge: {
      params: z.object({ customer: z.string(), amount: z.number() }),
      done: "charge.done",
      failed: "charge.failed",
      delivery: "at_least_once",
      attempts: 3,
    },
    remind: { params: z.object({ customer: z.string() }), done: "remind.done", delivery: "at_least_once" },
  },
  delays: { trialEnds: "absolute", reminder: "absolute" },
  migrations: { "1": { to: "2", migrate: fromVersion1 } },
} as const;

/** The context of version 1, which knew one currency. */
type Context1 = { customer: string; price: number; receipt: string | null };

/** Pure: what version 1 stored becomes what version 2 would have stored. The timer that ends the trial stays as it is. */
function fromVersion1(stored: StoredActor<Context1>): MigratedActor {
  const context = { ...stored.context, currency: "EUR" };
  const ends = stored.timers.find((timer) => timer.delay === "trialEnds");
  if (stored.value !== "trying" || !ends) return { ...stored, context };
  const id = "xstate.after.reminder.trial.trying.fresh";
  const reminder = { id, event: { type: id }, delay: "reminder", delayMs: 12 * DAY_MS, dueMs: ends.dueMs - 2 * DAY_MS };
  return { ...stored, context, value: { trying: "fresh" }, timers: [...stored.timers, reminder] };
}

export const trial = setup({
  schemas,
  types: {} as TypesOf<typeof schemas>,
  delays: { trialEnds: 14 * DAY_MS, reminder: 12 * DAY_MS },
  actions: {
    charge: effect<{ customer: string; amount: number }>(),
    remind: effect<{ customer: string }>(),
  },
}).createMachine({
  id: "trial",
  version: "2",
  context: ({ input }) => ({ ...input, receipt: null }),
  initial: "trying",
  states: {
    trying: {
      after: { trialEnds: "charging" },
      on: { "trial.cancel": "cancelled" },
      initial: "fresh",
      states: {
        fresh: { after: { reminder: "reminding" } },
        reminding: {
          entry: { type: "remind", params: ({ context }) => ({ customer: context.customer }) },
          on: { "remind.done": "reminded" },
        },
        reminded: {},
      },
    },
    charging: {
      entry: { type: "charge", params: ({ context }) => ({ customer: context.customer, amount: context.price }) },
      on: {
        "charge.done": {
          target: "paid",
          actions: [
            assign({ receipt: ({ event }) => event.output }),
            emit(({ context, event }) => ({ type: "trial.converted" as const, receipt: event.output, currency: context.currency })),
          ],
        },
        "charge.failed": "cancelled",
      },
    },
    paid: { type: "final" },
    cancelled: { type: "final" },
  },
});
