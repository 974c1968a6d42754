/** A machine that lives through versions: it waits, works, calls, tells, and is told. */

import { type AnyStateMachine, assign, emit, fromPromise } from "xstate";
import { z } from "zod";
import { effect } from "../../machines/action.ts";
import type { Migration, StoredActor } from "../../src/actor/declaration.ts";
import type { EngineOptions } from "../../src/actor/engine.ts";
import { type Engine, openEngine } from "../../src/actor/engine.ts";
import type { Store } from "../../src/actor/store.ts";
import { simulatedClock } from "../../src/testing/index.ts";
import { nothing, thing } from "./thing.ts";

export interface Shape {
  readonly version: string;
  /** Its number's name in the context. */
  readonly key?: string;
  readonly waiting?: string;
  readonly working?: string;
  readonly migrations?: Readonly<Record<string, Migration>>;
  readonly schemas?: object;
  /** Changes the definition and nothing that it does. */
  readonly tags?: readonly string[];
  /** Its shorter delay, in ms. */
  readonly soon?: number;
  /** What `add` states, or how it fails. */
  readonly told?: (n: number) => object;
  /** What a timer and a result make of its number, or how they fail. */
  readonly note?: (n: number) => number;
}

const by = z.strictObject({ by: z.int() });
const told = z.strictObject({ to: z.string(), event: z.looseObject({ type: z.string() }) });

/** A ship of some version. */
export function shipOf(shape: Shape): AnyStateMachine {
  const {
    version,
    key = "count",
    waiting = "waiting",
    working = "working",
    migrations,
    schemas,
    tags = [],
    soon = 1000,
    told: say,
    note = (n: number) => n + 100,
  } = shape;
  const parts = {
    schemas: {
      input: z.strictObject({ start: z.int() }),
      context: z.strictObject({ [key]: z.int().max(1000) }),
      events: {
        wait: nothing,
        work: by,
        once: by,
        call: nothing,
        rest: nothing,
        add: by,
        end: nothing,
        tell: told,
        "job.done": z.looseObject({}),
        "effect.unknown": z.looseObject({}),
      },
      effects: {
        job: { params: by, done: "job.done", delivery: "at_least_once" },
        once: { params: by, done: "job.done", delivery: "at_most_once" },
      },
      ...(migrations ? { migrations } : {}),
      ...schemas,
    },
    actions: {
      job: effect(),
      once: effect(),
      add: assign(({ context, event }: any) => ({ [key]: context[key] + event.by })),
      say: emit(({ context }: any) => ({ type: "thing.told", ...(say ?? ((n: number) => ({ n })))(context[key]) }) as never),
      note: assign(({ context }: any) => ({ [key]: note(context[key]) })),
    },
    delays: { soon, later: 5000 },
    actors: { fetch: fromPromise(async () => 1) },
  };
  const params = ({ event }: any) => ({ by: event.by });
  const config = {
    id: "ship",
    version,
    context: ({ input }: any) => ({ [key]: input.start }),
    initial: "rest",
    on: {
      add: { actions: ["add", "say"] },
      end: ".ended",
      rest: ".rest",
      tell: { actions: { type: "deliver", params: ({ event }: any) => ({ to: event.to, event: event.event }) } },
      "effect.unknown": ".rest",
      "job.done": { target: ".rest", actions: "note" },
    },
    states: {
      rest: { tags, on: { wait: waiting, work: working, call: "calling", once: "onceing" } },
      [waiting]: { after: { soon: { target: "rest", actions: "note" }, later: "rest" } },
      [working]: { entry: { type: "job", params } },
      onceing: { entry: { type: "once", params } },
      calling: { invoke: { id: "caller", src: "fetch", input: ({ context }: any) => ({ n: context[key] }), onDone: "rest" } },
      ended: { type: "final" },
    },
  };
  return thing(config, parts);
}

export const ship = shipOf({ version: "1" });

type Context = Record<string, number>;

/** From version 1 to a version with other names for everything. */
export const moved: Migration = {
  to: "2",
  migrate: (stored: StoredActor<Context>): StoredActor => {
    const names: Record<string, string> = { waiting: "sleeping", working: "busy" };
    const name = (value: unknown) => names[String(value)] ?? String(value);
    const renamed = (id: string) => id.replace(/[a-z]+$/, name(id.split(".").at(-1)));
    return {
      ...stored,
      value: name(stored.value),
      context: { total: stored.context.count ?? 0 },
      timers: stored.timers.map((timer) => ({ ...timer, id: renamed(timer.id), event: { type: renamed(timer.id) } })),
      effects: stored.effects.map((one) => ({ ...one, scope: renamed(one.scope) })),
    };
  },
};

/** The names of version 2 and later. */
export const NEW = { key: "total", waiting: "sleeping", working: "busy" };

/** A ship of version 2 with this way from version 1. */
export function ship2(migrate: (stored: StoredActor<any>) => unknown = moved.migrate, more: Partial<Shape> = {}): AnyStateMachine {
  return shipOf({ ...NEW, version: "2", migrations: { 1: { to: "2", migrate: migrate as Migration["migrate"] } }, ...more });
}

const pending = () => new Promise<never>(() => {});

/** Handlers that never end. */
export const asleep = { job: pending, once: pending, fetch: pending };

/** An engine over ships at a fixed time; the caller closes it, as a process ends. */
export function sail(store: Store, machine: AnyStateMachine, options: Partial<EngineOptions> = {}): Promise<Engine> {
  const clock = simulatedClock();
  return openEngine(store, { machines: [machine], closeGraceMs: 0, clock, ...options, effects: { ...asleep, ...options.effects } });
}

/** Ships of a version, each sent these events, in a store that is then left. */
export async function harbour(store: Store, fleet: Record<string, readonly object[]>, machine: AnyStateMachine = ship): Promise<void> {
  const engine = await sail(store, machine);
  for (const [id, events] of Object.entries(fleet)) {
    const ref = await engine.create(machine, id, { input: { start: 1 } as never });
    for (const event of events) await ref.send(event as never);
  }
  await engine.close();
}

/** Everything that a store has of an actor. */
export function all(store: Store, actor: string): unknown {
  const page = { limit: 1000 };
  return [store.actor(actor), store.journal(actor, page), store.effects({ actor }, page), store.timers({ actor }, page)];
}
