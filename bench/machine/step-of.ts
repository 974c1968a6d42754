/**
 * Step: the machine that is measured. It counts; its context has a constant size.
 *
 * One event of about 200 bytes makes one step: one journal entry with one fact, which refers to its event and does not copy it, and
 * one actor row. No effects, no deliveries: what is left is what every step of every machine costs. Its schemas are those of
 * `step.ts`, in zod, or of `plain-step.ts`, which asks the same without a library: the definition is one.
 */

import { assign, emit, setup } from "xstate";
import type { MachineSchemas } from "../../src/actor/declaration.ts";
import type { StepEvent } from "./event.ts";

/** The measured machine, or the same one without its fact, to see what the fact costs. */
export const stepOf = (schemas: MachineSchemas, facts: readonly "taken"[]) =>
  setup({
    schemas: schemas as unknown as Record<string, never>,
    types: {
      input: {} as Record<string, never>,
      context: {} as { count: number; total: number; last: string },
      events: {} as StepEvent,
      // The amount, sender and note are the entry's own event.
      emitted: {} as { type: "step.taken"; count: number },
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
