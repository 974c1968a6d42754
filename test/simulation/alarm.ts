/** Alarm: a machine that waits, and what must come of its waiting (ACT-8). No machine of the agent sets a timer, so hosts keep alarms beside it. */

import { type AnyStateMachine, assign, setup } from "xstate";
import { z } from "zod";
import { engineActions } from "../../machines/action.ts";
import type { PlacedJournalRow, StoreReader, TimerPolicy } from "../../src/actor/store.ts";

export const POLICIES = ["absolute", "remaining", "restart"] as const satisfies readonly TimerPolicy[];

const waiting = (delay: TimerPolicy) => ({ after: { [delay]: { target: "idle", actions: "rang" } } });
const base = setup({
  schemas: {
    input: z.strictObject({}),
    context: z.strictObject({ ms: z.number() }),
    events: {
      "alarm.set": z.strictObject({ ms: z.int().positive(), policy: z.enum(POLICIES) }),
      "alarm.clear": z.strictObject({}),
    },
    facts: { "alarm.rang": z.strictObject({}) },
    delays: { remaining: "remaining", restart: "restart" },
  } as never,
  types: {
    context: {} as { ms: number },
    events: {} as { type: "alarm.set"; ms: number; policy: TimerPolicy } | { type: "alarm.clear" },
    emitted: {} as { type: "alarm.rang" },
    input: {} as object,
  },
  delays: {
    absolute: ({ context }) => context.ms,
    remaining: ({ context }) => context.ms,
    restart: ({ context }) => context.ms,
  },
  actions: { ...engineActions },
  guards: {
    isAbsolute: ({ event }) => (event as { policy?: string }).policy === "absolute",
    isRemaining: ({ event }) => (event as { policy?: string }).policy === "remaining",
  },
});

/** Idle, or waiting under one of the three policies. */
export const alarm: AnyStateMachine = base
  .extend({
    actions: {
      rang: base.emit({ type: "alarm.rang" }),
      record: assign(({ event }) => ({ ms: (event as unknown as { ms: number }).ms })),
    },
  })
  .createMachine({
    id: "alarm",
    version: "1",
    context: { ms: 0 },
    initial: "idle",
    on: {
      "alarm.set": [
        { guard: "isAbsolute", target: ".absolute", reenter: true, actions: "record" },
        { guard: "isRemaining", target: ".remaining", reenter: true, actions: "record" },
        { target: ".restart", reenter: true, actions: "record" },
      ],
      "alarm.clear": ".idle",
    },
    states: {
      idle: {},
      absolute: waiting("absolute"),
      remaining: waiting("remaining"),
      restart: waiting("restart"),
    },
  } as never) as unknown as AnyStateMachine;

interface Armed {
  readonly policy: TimerPolicy;
  readonly ms: number;
  dueMs: number;
}

/** What must come of all alarms, from their journals and from when owners came and went. */
export class AlarmOracle {
  readonly #reader: StoreReader;
  readonly #violated: (what: string) => void;
  readonly #set = new Map<string, Armed>();
  #position = 0;
  /** The last sign of an owner. */
  #lastMs = 0;

  constructor(reader: StoreReader, violated: (what: string) => void) {
    this.#reader = reader;
    this.#violated = violated;
  }

  /** An ownership begins; what was committed before is known. */
  begins(atMs: number): void {
    this.catchUp();
    for (const set of this.#set.values()) {
      if (set.policy === "remaining") set.dueMs = atMs + Math.max(0, set.dueMs - this.#lastMs);
      if (set.policy === "restart") set.dueMs = atMs + set.ms;
    }
    this.#lastMs = atMs;
  }

  /** An ownership ended in order. */
  rests(atMs: number): void {
    this.catchUp();
    this.#lastMs = atMs;
  }

  catchUp(): void {
    for (;;) {
      const page = this.#reader.entries({ after: this.#position, limit: 1000 });
      for (const entry of page) this.#take(entry);
      if (page.length < 1000) return;
    }
  }

  /** At rest, nothing that is due waits. */
  rest(nowMs: number): void {
    this.catchUp();
    for (const [actor, { dueMs }] of this.#set)
      if (dueMs <= nowMs) this.#violated(`ACT-8: ${actor} is due since ${dueMs}, it is ${nowMs}, and it did not ring`);
  }

  #take({ position, actor, atMs, event, facts }: PlacedJournalRow): void {
    this.#position = position;
    this.#lastMs = atMs;
    const { type, ms, policy } = JSON.parse(event);
    if (type === "alarm.set") this.#set.set(actor, { ms, policy, dueMs: atMs + ms });
    if (type === "alarm.clear") this.#set.delete(actor);
    if (!facts.includes('"alarm.rang"')) return;
    const set = this.#set.get(actor);
    if (!set) this.#violated(`ACT-8: ${actor} rang, and it was not set`);
    else if (atMs < set.dueMs) this.#violated(`ACT-8: ${actor} rang at ${atMs}, and it is due at ${set.dueMs}`);
    this.#set.delete(actor);
  }
}
