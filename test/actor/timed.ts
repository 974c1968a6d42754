/** A machine that sets timers of every kind, a clock that can be set, and ways to see what fired when. */

import { assign, cancel, enqueueActions, raise } from "xstate";
import { z } from "zod";
import type { Clock } from "../../src/actor/clock.ts";
import type { Engine, EngineOptions } from "../../src/actor/engine.ts";
import type { Store } from "../../src/actor/store.ts";
import { type SimulatedClock, simulatedClock } from "../../src/testing/index.ts";
import { open } from "./counter.ts";
import { flushed } from "./held.ts";
import { nothing, thing } from "./thing.ts";

export const SECOND_MS = 1000;
export const DAY_MS = 86_400_000;
/** What `absolute`, `remaining` and `restart` wait. */
export const WAIT_MS = 10 * SECOND_MS;

const NOT_A_DELAY: Readonly<Record<string, unknown>> = {
  NaN: Number.NaN,
  negative: -1,
  Infinity: Number.POSITIVE_INFINITY,
  text: "1000",
  nothing: undefined,
};

const note = assign(({ context, event }: any) => ({ log: [...context.log, event.type] }));
const waiting = (delay: string) => ({
  after: { [delay]: { target: "idle", actions: note } },
  on: { again: { target: delay, reenter: true }, leave: "idle" },
});

/** It waits in states named after their delays, is reminded, and notes what it was told by time. */
export const timed = thing(
  {
    id: "timed",
    context: { log: [], ms: 0, kind: "NaN" },
    initial: "idle",
    on: {
      absolute: ".absolute",
      remaining: ".remaining",
      restart: ".restart",
      given: { target: ".given", actions: assign({ ms: ({ event }: any) => event.ms }) },
      invalid: { target: ".invalid", actions: assign({ kind: ({ event }: any) => event.kind }) },
      deaf: ".deaf",
      poisoned: ".poisoned",
      both: ".both",
      "remind.once": { actions: "once" },
      "remind.many": { actions: "many" },
      "remind.named": { actions: "named" },
      "remind.not": { actions: cancel("reminder") },
      reminded: { actions: note },
      note: { actions: note },
      end: ".ended",
    },
    states: {
      idle: {},
      absolute: waiting("absolute"),
      remaining: waiting("remaining"),
      restart: waiting("restart"),
      given: waiting("given"),
      invalid: waiting("invalid"),
      deaf: { after: { absolute: { guard: "never", target: "idle" } } },
      poisoned: { after: { absolute: { actions: "explode" } } },
      both: {
        type: "parallel",
        states: Object.fromEntries(
          ["second", "first"].map((name) => [
            name,
            { initial: "on", states: { on: { after: { absolute: { target: "off", actions: note } } }, off: {} } },
          ]),
        ),
      },
      ended: { type: "final" },
    },
  },
  {
    schemas: {
      context: z.strictObject({ log: z.array(z.string()), ms: z.number(), kind: z.string() }),
      events: {
        ...Object.fromEntries(
          ["absolute", "remaining", "restart", "deaf", "poisoned", "both", "again", "leave", "note", "end"].map((type) => [type, nothing]),
        ),
        given: z.strictObject({ ms: z.number() }),
        invalid: z.strictObject({ kind: z.string() }),
        "remind.once": nothing,
        "remind.named": nothing,
        "remind.not": nothing,
        "remind.many": z.strictObject({ count: z.int() }),
        reminded: nothing,
      },
      delays: { remaining: "remaining", restart: "restart" },
    },
    delays: {
      absolute: WAIT_MS,
      remaining: WAIT_MS,
      restart: WAIT_MS,
      given: ({ context }: any) => context.ms,
      invalid: ({ context }: any) => NOT_A_DELAY[context.kind],
    },
    guards: { never: () => false },
    actions: {
      once: raise({ type: "reminded" }, { delay: "absolute" } as never),
      named: raise({ type: "reminded" }, { delay: "absolute", id: "reminder" } as never),
      many: enqueueActions(({ enqueue, event }: any) => {
        for (let nth = 0; nth < event.count; nth++) enqueue("once");
      }),
      explode: assign(() => {
        throw new Error("exploded");
      }),
    },
  },
);

/** A simulated clock that can also be set, as a person or a time server does: nothing falls due by that, and waits go on as they were. */
export interface SettableClock extends Clock, Pick<SimulatedClock, "advance" | "due" | "waiting"> {
  set(byMs: number): void;
  /** Every wait that was asked for, in ms. */
  readonly asked: number[];
}

export function settableClock(startMs?: number): SettableClock {
  const clock = simulatedClock(startMs);
  const asked: number[] = [];
  let setByMs = 0;
  return {
    asked,
    now: () => clock.now() + setByMs,
    after(ms, wake) {
      asked.push(ms);
      return clock.after(ms, wake);
    },
    set(byMs) {
      setByMs += byMs;
    },
    advance: clock.advance,
    due: clock.due,
    get waiting() {
      return clock.waiting;
    },
  };
}

/** An engine over timed actors. */
export function openTimed(store: Store, clock: Clock, options: Partial<EngineOptions> = {}): Promise<Engine> {
  return open(store, { machines: [timed], clock, ...options });
}

/** A timed actor that has taken these events. */
export async function makeTimed(engine: Engine, id: string, ...events: readonly { type: string; [key: string]: unknown }[]) {
  const actor = await engine.create(timed, id, { input: {} });
  for (const event of events) await actor.send(event as never);
  return actor;
}

/** Time passes, and what falls due by that is committed. */
export async function pass(clock: Pick<SimulatedClock, "advance">, ms: number): Promise<void> {
  clock.advance(ms);
  await flushed();
}

/** What fired, in the order of the root: who took it, and after how many ms from `sinceMs`. */
export function fired(engine: Engine, sinceMs = 0): [actor: string, event: string, ms: number][] {
  return engine.reader
    .entries({ limit: 1000 })
    .filter(({ cause }) => JSON.parse(cause).kind === "timer")
    .map(({ actor, event, atMs }) => [actor, JSON.parse(event).type, atMs - sinceMs]);
}
