/** Job: has an effect. It is measured for round trips, and for what a killed process leaves behind. */

import { assign, setup } from "xstate";
import { z } from "zod";
import { effect } from "../../machines/action.ts";
import type { Typed } from "../../machines/infer.ts";

const schemas = {
  /** What the actor is made for: to end at once, to begin its work at once, or to wait until it is told to. */
  input: z.strictObject({ as: z.enum(["ended", "working", "idle"]) }),
  context: z.strictObject({ as: z.enum(["ended", "working", "idle"]), done: z.int(), reopened: z.int() }),
  events: {
    "job.start": z.strictObject({}),
    "work.done": z.strictObject({ output: z.int(), effect: z.string() }),
  },
  facts: {},
  effects: { work: { params: z.strictObject({ done: z.int() }), done: "work.done", delivery: "at_least_once" as const, timeoutMs: null } },
};

/** The same with the engine's notice that its process has gone. */
const toldSchemas = { ...schemas, events: { ...schemas.events, "engine.reopened": z.strictObject({ epoch: z.int() }) } };

const jobWith = (id: string, declared: typeof schemas, told: boolean) =>
  setup({
    schemas: declared,
    types: {
      input: {} as z.infer<typeof schemas.input>,
      context: {} as z.infer<typeof schemas.context>,
      events: {} as Typed<typeof schemas.events>,
    },
    actions: {
      work: effect<{ done: number }>(),
      count: assign(({ context }) => ({ done: context.done + 1 })),
      note: assign(({ context }) => ({ reopened: context.reopened + 1 })),
    },
    guards: { isEnded: ({ context }) => context.as === "ended", isWorking: ({ context }) => context.as === "working" },
  }).createMachine({
    id,
    version: "1",
    description: "Does one piece of work at a time.",
    context: ({ input }) => ({ as: input.as, done: 0, reopened: 0 }),
    initial: "made",
    ...(told ? { on: { "engine.reopened": { actions: "note" } } as object } : {}),
    states: {
      made: {
        description: "Decides at once what it was made for.",
        always: [{ guard: "isEnded", target: "ended" }, { guard: "isWorking", target: "working" }, { target: "idle" }],
      },
      idle: { description: "Nothing is asked for.", on: { "job.start": "working" } },
      working: {
        description: "The effect is requested and not settled.",
        entry: { type: "work", params: ({ context }) => ({ done: context.done }) },
        on: { "work.done": { target: "idle", actions: "count" } },
      },
      ended: { type: "final", description: "Ended." },
    },
  });

/** Takes no notice of a restart: recovery changes its row and writes no entry. */
export const job = jobWith("job", schemas, false);
/** Is told of a restart: recovery writes an entry for each. */
export const toldJob = jobWith("told-job", toldSchemas, true);
