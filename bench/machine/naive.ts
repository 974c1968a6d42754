/** The step machine as a user without Holdfast would write it: the same states and context, no schemas, no facts, no zod. */

import { assign, setup } from "xstate";
import type { StepEvent } from "./event.ts";

export const naive = setup({
  types: { context: {} as { count: number; total: number; last: string }, events: {} as StepEvent },
  actions: {
    count: assign(({ context, event }) => ({ count: context.count + 1, total: context.total + event.amount, last: event.id })),
  },
}).createMachine({
  id: "step",
  context: { count: 0, total: 0, last: "" },
  initial: "working",
  states: { working: { on: { "step.take": { actions: "count" } } } },
});
