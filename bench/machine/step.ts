/**
 * Step: the machine that is measured. It counts; its context has a constant size.
 *
 * One event of about 200 bytes makes one step: one journal entry with one fact, which refers to its event and does not copy it, and
 * one actor row. No effects, no deliveries: what is left is what every step of every machine costs.
 */

import { assign, emit, setup } from "xstate";
import { z } from "zod";
import type { Typed } from "../../machines/infer.ts";

const schemas = {
  input: z.strictObject({}),
  context: z.strictObject({ count: z.int(), total: z.int(), last: z.string().max(32) }),
  events: {
    "step.take": z.strictObject({ id: z.string().max(32), amount: z.int(), from: z.string().max(64), note: z.string().max(256) }),
  },
  /** The amount, sender and note are the entry's own event. */
  facts: { "step.taken": z.strictObject({ count: z.int() }) },
};

/** The measured machine, or the same one without its fact, to see what the fact costs. */
const stepWith = (facts: readonly "taken"[]) =>
  setup({
    schemas,
    types: {
      input: {} as z.infer<typeof schemas.input>,
      context: {} as z.infer<typeof schemas.context>,
      events: {} as Typed<typeof schemas.events>,
      emitted: {} as Typed<typeof schemas.facts>,
    },
    actions: {
      count: assign(({ context, event }) => ({ count: context.count + 1, total: context.total + event.amount, last: event.id })),
      taken: emit(({ context }) => ({ type: "step.taken" as const, count: context.count })),
    },
  }).createMachine({
    id: "step",
    version: "1",
    description: "Counts what it is told.",
    context: { count: 0, total: 0, last: "" },
    initial: "working",
    states: {
      working: { description: "Takes one step after another, without end.", on: { "step.take": { actions: ["count", ...facts] } } },
    },
  });

export const step = stepWith(["taken"]);
export const silentStep = stepWith([]);
