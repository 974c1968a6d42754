/** The machine that the engine's tests run: it counts, asks for effects of both deliveries, tells, creates, and misbehaves when told to. */

import { assign, emit, setup } from "xstate";
import { z } from "zod";
import { effect, engineActions } from "../../machines/action.ts";
import type { Typed } from "../../machines/infer.ts";

const failure = z.strictObject({ error: z.strictObject({ code: z.string(), message: z.string() }), effect: z.string() });
const withEffect = z.strictObject({ effect: z.string() });

const schemas = {
  input: z.strictObject({ start: z.int() }),
  context: z.strictObject({ count: z.int().max(1_000_000), log: z.array(z.string()) }),
  events: {
    "count.add": z.strictObject({ by: z.int() }),
    "count.added": z.strictObject({ by: z.int() }),
    "count.tell": z.strictObject({ to: z.string(), by: z.int() }),
    "count.say": z.strictObject({ to: z.string(), event: z.looseObject({ type: z.string() }) }),
    "count.create": z.strictObject({ id: z.string(), start: z.int(), keys: z.array(z.string()) }),
    "count.bounce": z.strictObject({ to: z.string() }),
    "count.end": z.strictObject({}),
    "guard.throw": z.strictObject({}),
    "assign.throw": z.strictObject({}),
    "params.throw": z.strictObject({}),
    "context.spoil": z.strictObject({}),
    "fact.spoil": z.strictObject({}),
    "clock.read": z.strictObject({}),
    "context.mutate": z.strictObject({}),
    "never.taken": z.strictObject({}),
    "work.start": z.strictObject({ by: z.int() }),
    "work.again": z.strictObject({ by: z.int() }),
    "work.leave": z.strictObject({}),
    "work.cancel": z.strictObject({}),
    "work.abort": z.strictObject({}),
    "work.done": z.strictObject({ output: z.strictObject({ by: z.int() }), effect: z.string() }),
    "work.failed": failure,
    "work.aborted": withEffect,
    "once.start": z.strictObject({ by: z.int() }),
    "once.done": z.strictObject({ output: z.strictObject({ by: z.int() }), effect: z.string() }),
    "once.failed": failure,
    "once.aborted": withEffect,
    "once.abort": z.strictObject({}),
    "silent.start": z.strictObject({}),
    "silent.done": z.strictObject({ output: z.null(), effect: z.string() }),
    "poison.start": z.strictObject({}),
    "poison.done": z.strictObject({ output: z.null(), effect: z.string() }),
    "effect.unknown": z.strictObject({ effect: z.string(), name: z.string() }),
    "engine.reopened": z.strictObject({ epoch: z.int() }),
  },
  facts: { "count.changed": z.strictObject({ count: z.int() }) },
  effects: {
    work: {
      params: z.strictObject({ by: z.int() }),
      done: "work.done",
      failed: "work.failed",
      aborted: "work.aborted",
      delivery: "at_least_once" as const,
      attempts: 3,
      backoffMs: 100,
      timeoutMs: 60_000,
      concurrency: 2,
      abortGraceMs: 5000,
    },
    once: {
      params: z.strictObject({ by: z.int() }),
      done: "once.done",
      failed: "once.failed",
      aborted: "once.aborted",
      delivery: "at_most_once" as const,
    },
    silent: { params: z.strictObject({}), done: "silent.done", delivery: "at_least_once" as const, attempts: 2, timeoutMs: 2 ** 31 + 1000 },
    poison: { params: z.strictObject({}), done: "poison.done", delivery: "at_least_once" as const },
  },
  refusal: (_: unknown, event: { type: string }) => (event.type === "never.taken" ? "never" : undefined),
};

type Event = Typed<typeof schemas.events>;
type Of<Type extends Event["type"]> = Extract<Event, { type: Type }>;

/** A counter of some version, or under another id. */
export const counterOf = (version: string, id = "counter") =>
  setup({
    schemas,
    types: {
      input: {} as z.infer<typeof schemas.input>,
      context: {} as z.infer<typeof schemas.context>,
      events: {} as Event,
      emitted: {} as Typed<typeof schemas.facts>,
    },
    actions: {
      ...engineActions,
      work: effect<{ by: number }>(),
      once: effect<{ by: number }>(),
      silent: effect<object>(),
      poison: effect<object>(),
      add: assign(({ context, event }, { by }: { by: number }) => ({ count: context.count + by, log: [...context.log, event.type] })),
      note: assign(({ context, event }) => ({ log: [...context.log, event.type] })),
      changed: emit(({ context }) => ({ type: "count.changed" as const, count: context.count })),
      spoil: emit({ type: "count.changed", count: 0.5 } as never),
      throwInAssign: assign(() => {
        throw new Error("assign");
      }),
      spoilContext: assign({ count: 2_000_000 }),
      readClock: assign(() => ({ count: Date.now() % 1000 })),
      mutate: assign(({ context }) => {
        context.log.push("mutated");
        return {};
      }),
    },
    guards: {
      throws: () => {
        throw new Error("guard");
      },
      never: () => false,
      isNotNegative: ({ context }) => context.count >= 0,
    },
  }).createMachine({
    id,
    version,
    context: ({ input }) => ({ count: input.start, log: [] }),
    initial: "idle",
    on: {
      "count.add": { actions: [{ type: "add", params: ({ event }) => ({ by: event.by }) }, "changed"] },
      "count.added": { actions: [{ type: "add", params: ({ event }) => ({ by: event.by }) }, "changed"] },
      "count.tell": {
        actions: [
          { type: "add", params: ({ event }) => ({ by: event.by }) },
          { type: "deliver", params: ({ event }) => ({ to: event.to, event: { type: "count.added", by: event.by } }) },
        ],
      },
      "count.say": { actions: ["note", { type: "deliver", params: ({ event }) => ({ to: event.to, event: event.event }) }] },
      "count.create": {
        actions: [
          "note",
          {
            type: "createActor",
            params: ({ event }) => ({ machine: "counter", id: event.id, input: { start: event.start }, keys: event.keys }),
          },
        ],
      },
      "count.bounce": {
        actions: [
          "note",
          {
            type: "deliver",
            params: ({ event, context }) => ({ to: event.to, event: { type: "count.bounce", to: `counter/${context.count}` } }),
          },
        ],
      },
      "count.end": ".ended",
      "guard.throw": { guard: "throws", actions: "note" },
      "assign.throw": { actions: "throwInAssign" },
      "params.throw": {
        actions: {
          type: "work",
          params: () => {
            throw new Error("params");
          },
        },
      },
      "context.spoil": { actions: "spoilContext" },
      "fact.spoil": { actions: ["note", "spoil"] },
      "clock.read": { actions: "readClock" },
      "context.mutate": { actions: "mutate" },
      "never.taken": { guard: "never", actions: "note" },
      "poison.start": { actions: { type: "poison", params: {} } },
      "poison.done": { actions: "throwInAssign" },
      "silent.start": { actions: { type: "silent", params: {} } },
      "silent.done": {
        guard: "isNotNegative",
        actions: [
          "note",
          {
            type: "deliver",
            params: ({ context }) => ({
              to: context.count > 0 ? `counter/${context.count}` : null,
              event: { type: "count.added", by: 1 },
            }),
          },
        ],
      },
      "engine.reopened": { actions: "note" },
      "effect.unknown": { target: ".idle", actions: "note" },
    },
    states: {
      idle: { on: { "work.start": "working", "once.start": "onceing" } },
      working: {
        entry: { type: "work", params: ({ event }) => ({ by: (event as Of<"work.start">).by ?? 0 }) },
        on: {
          "work.again": { target: "working", reenter: true },
          "work.leave": "idle",
          "work.cancel": { actions: { type: "cancelEffect", params: { effect: "work" } } },
          "work.abort": { actions: { type: "abortEffect", params: { effect: "work" } } },
          "work.done": { target: "idle", actions: [{ type: "add", params: ({ event }) => ({ by: event.output.by }) }, "changed"] },
          "work.failed": { target: "idle", actions: "note" },
          "work.aborted": { target: "idle", actions: "note" },
        },
      },
      onceing: {
        entry: { type: "once", params: ({ event }) => ({ by: (event as Of<"once.start">).by }) },
        on: {
          "work.leave": "idle",
          "once.abort": { actions: { type: "abortEffect", params: { effect: "once" } } },
          "once.done": { target: "idle", actions: [{ type: "add", params: ({ event }) => ({ by: event.output.by }) }, "changed"] },
          "once.failed": { target: "idle", actions: "note" },
          "once.aborted": { target: "idle", actions: "note" },
        },
      },
      ended: { type: "final" },
    },
  });

export const counter = counterOf("1");
