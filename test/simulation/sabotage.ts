/** Sabotage: stores that break one invariant each, and the seeds that show it. The engine over them is the real one. */

import type { ActorRow, EffectRow, StartableEffectRow, Store, StoreWriter } from "../../src/actor/store.ts";
import { without } from "../actor/wrapped.ts";
import type { Sabotage } from "./ground.ts";

/** A store, or its writer, with some of its methods replaced. */
function altered<T extends object>(target: T, methods: { readonly [Name in keyof T]?: T[Name] }): T {
  return new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(methods, name)) return methods[name as keyof T];
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const writing =
  (alter: (writer: StoreWriter) => Partial<StoreWriter>): Sabotage =>
  (store) =>
    altered(store, { write: (epoch, body) => store.write(epoch, (writer) => body(altered(writer, alter(writer)))) });

/** True of one in `many`. */
function every(many: number): () => boolean {
  let times = 0;
  return () => ++times % many === 0;
}

/** A request of the first unfinished run, which it has not made. */
function forged(store: Store): StartableEffectRow[] {
  const [run] = store.actors({ machine: "run", status: "active" }, { limit: 1 });
  if (!run) return [];
  const { address: actor, epoch } = run;
  const row = { name: "prepare", params: "{}", scope: "", state: "open", child: null, openedMs: 0, error: null } as const;
  return startable(store, { ...row, key: `${actor}:1:9`, actor, epoch });
}

/** The cursor of rows that are in no list. */
const LAST = 1_000_000_000;

/** An effect as it would be listed to be started; nothing where its actor has ended. */
function startable(store: Store, row: EffectRow): StartableEffectRow[] {
  const actor = store.actor(row.actor);
  if (actor?.status !== "active") return [];
  const { machine, version, definition } = actor;
  return [{ ...row, machine, version, definition, ordinal: LAST }];
}

/** The row of a run that has ended, as if it were in a step. */
function revived(row: ActorRow | undefined): ActorRow | undefined {
  if (row?.machine !== "run" || row.status !== "final") return row;
  const snapshot = { ...JSON.parse(row.snapshot), status: "active", value: { running: "stepping" } };
  return { ...row, status: "active", state: "running.stepping", snapshot: JSON.stringify(snapshot) };
}

/** Remembers one in ten effects that were settled, and lists them as open. */
function recalled(): Sabotage {
  const isKept = every(10);
  const settled = new Map<string, EffectRow>();
  const recalling = writing((writer) => ({
    deleteEffect(key) {
      const row = writer.effect(key);
      if (row && isKept()) settled.set(key, row);
      writer.deleteEffect(key);
    },
    effect: (key) => writer.effect(key) ?? settled.get(key),
  }));
  return (store, gen) =>
    altered(recalling(store, gen), {
      startableEffects(page) {
        const more = page.after ? [] : [...settled.values()].flatMap((row) => startable(store, row));
        return [...store.startableEffects(page), ...more];
      },
    });
}

/** Writes what was to be undone. */
function stubborn(store: Store): Store {
  return altered(store, {
    write(epoch, body) {
      let failure: unknown;
      const result = store.write(epoch, (writer) => {
        try {
          return body(writer);
        } catch (error) {
          failure = error;
          return undefined as never;
        }
      });
      if (failure !== undefined) throw failure;
      return result;
    },
  });
}

/** Knows nothing of one actor's timers until it is asked for them by name. */
function forgetful(store: Store): Store {
  const isSeen = ({ actor }: { readonly actor: string }) => actor !== "alarm/alarm-0";
  return altered(store, {
    dueTimers: (untilMs, limit) => store.dueTimers(untilMs, limit).filter(isSeen),
    nextDueMs() {
      const armed = store.timers({}, { limit: 1000 }).filter((row) => isSeen(row) && row.state === "armed");
      return armed.length === 0 ? undefined : Math.min(...armed.map(({ dueMs }) => dueMs));
    },
  });
}

/** A way to break the engine, and what shows it. */
export interface Broken {
  readonly how: string;
  /** A new one for each simulation. */
  readonly sabotage: () => Sabotage;
  /** How the violation begins that shows it. */
  readonly shows: string;
  /** Simulations that catch it, by seed, and the events that they need at most. */
  readonly caught: readonly { readonly seed: number; readonly steps: number }[];
}

export const BROKEN: Readonly<Record<string, Broken>> = {
  "ACT-1": {
    how: "lists an effect that no entry requests",
    sabotage: () => (store) =>
      altered(store, { startableEffects: (page) => [...store.startableEffects(page), ...(page.after ? [] : forged(store))] }),
    shows: "ACT-1",
    caught: [
      { seed: 2, steps: 50 },
      { seed: 4, steps: 50 },
    ],
  },
  "ACT-2": {
    how: "takes any epoch for the present one",
    sabotage: () => (store) =>
      altered(store, {
        write: (_, body) => store.write(store.epoch(), (writer) => body(altered(writer, { isChangedElsewhere: () => true }))),
      }),
    shows: "ACT-2",
    caught: [
      { seed: 2, steps: 50 },
      { seed: 4, steps: 100 },
    ],
  },
  "ACT-3": {
    how: "loses an entry",
    sabotage: () => {
      const isNow = every(100);
      return writing((writer) => ({
        appendEntries: (rows, before) => writer.appendEntries(...without(rows.map(isNow).indexOf(true), rows, before)),
      }));
    },
    shows: "ACT-3",
    caught: [
      { seed: 1, steps: 60 },
      { seed: 2, steps: 50 },
    ],
  },
  "ACT-4": {
    how: "changes a snapshot",
    sabotage: () =>
      writing((writer) => ({
        advanceActors: (steps) =>
          writer.advanceActors(steps.map((step) => ({ ...step, snapshot: step.snapshot.replace('"turns":1', '"turns":2') }))),
      })),
    shows: "ACT-4",
    caught: [
      { seed: 2, steps: 100 },
      { seed: 4, steps: 100 },
    ],
  },
  "ACT-5": {
    how: "gives back a run that has ended as one that has not",
    sabotage: () => writing((writer) => ({ actor: (address) => revived(writer.actor(address)) })),
    shows: "ACT-5",
    caught: [
      { seed: 2, steps: 150 },
      { seed: 4, steps: 150 },
    ],
  },
  "ACT-6": {
    how: "keeps an effect that was settled",
    sabotage: recalled,
    shows: "ACT-6",
    caught: [
      { seed: 2, steps: 300 },
      { seed: 5, steps: 50 },
    ],
  },
  "ACT-7": {
    how: "commits what failed",
    sabotage: () => stubborn,
    shows: "ACT-7",
    caught: [
      { seed: 1, steps: 50 },
      { seed: 3, steps: 50 },
    ],
  },
  "ACT-8": {
    how: "does not see the timers of one alarm",
    sabotage: () => forgetful,
    shows: "ACT-8",
    caught: [{ seed: 4, steps: 300 }],
  },
};
