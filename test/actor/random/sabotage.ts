/** Sabotage: stores that break one invariant each, and the work that shows it. The engine over them is the real one. */

import type { ActorRow, Store, StoreWriter, TimerRow } from "../../../src/actor/store.ts";
import { without } from "../wrapped.ts";
import type { Case, Move, Node, Op, Send } from "./spec.ts";
import type { Sabotage } from "./world.ts";

const bare = { entry: [], exit: [], on: [], always: null, after: [], invoke: null, done: null, states: [] };
const move = (target: number | null, acts: Move["acts"] = []): Move => ({ target, reenter: false, guard: null, acts });
const atomic = (parts: Partial<Node>): Node => ({ ...bare, kind: "atomic", ...parts });
const root = (...states: Node[]): Node => ({ ...bare, kind: "compound", states });

/** Two machines: one works, waits and ends; the other counts, and is told. */
const machines: Case["machines"] = [
  {
    root: root(
      atomic({
        on: [
          { type: "e.zero", move: move(1, [{ do: "tell" }]) },
          { type: "e.one", move: move(null, [{ do: "take" }, { do: "deliver", to: 2, event: 1, v: 2 }]) },
          { type: "e.two", move: move(2) },
        ],
      }),
      atomic({ entry: [{ do: "work" }], on: [{ type: "work.done", move: move(0) }], after: [{ delay: "kept", move: move(0) }] }),
      { ...bare, kind: "final" },
    ),
    boss: null,
  },
  {
    root: root(
      atomic({
        on: [
          { type: "e.one", move: move(null, [{ do: "take" }]) },
          { type: "e.zero", move: move(null, [{ do: "later", delay: "kept", named: false }]) },
          { type: "tick.kept", move: move(null, [{ do: "bump", by: 1 }]) },
        ],
      }),
    ),
    boss: null,
  },
];

// In the order of their creation: m0/a, m0/b, m1/a.
const send = (actor: number, event: number): Send => ({ actor, event, v: 3, key: null, expect: null });
const burst = (...sends: Send[]): Op => ({ op: "burst", sends });
const reopen = (closedMs = 0, damage: number | null = null): Op => ({ op: "reopen", closedMs, damage, strike: null });

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

/** Broken once. */
function once(): () => boolean {
  let times = 0;
  return () => times++ === 0;
}

/** A fired timer that comes back with the next owner. */
function returning(): Sabotage {
  let first: TimerRow | undefined;
  return (store, gen) =>
    altered(store, {
      write: (epoch, body) =>
        store.write(epoch, (writer) =>
          body(
            altered(writer, {
              putTimer(row) {
                first ??= row;
                writer.putTimer(row);
              },
            }),
          ),
        ),
      beginEpoch(atMs) {
        const epoch = store.beginEpoch(atMs);
        const row = first;
        if (gen === 2 && row) store.write(epoch, (writer) => writer.putTimer(row));
        return epoch;
      },
    });
}

/** The row of an actor that has ended, as if it had not. */
function revived(row: ActorRow | undefined): ActorRow | undefined {
  if (row?.status !== "final") return row;
  return { ...row, status: "active", snapshot: JSON.stringify({ ...JSON.parse(row.snapshot), status: "active", value: "s0" }) };
}

/** An effect that nobody has requested. */
const forged = {
  ...{ key: "m0/a:1:7", actor: "m0/a", name: "task", params: '{"node":"m0","visit":1}', scope: "", state: "open" as const },
  ...{ child: null, epoch: 1, openedMs: 0, error: null, ordinal: 999, machine: "m0", version: "1", definition: "" },
};

export interface Broken {
  readonly id: string;
  readonly how: string;
  /** A new one for each run. */
  readonly sabotage: () => Sabotage;
  readonly given: Case;
}

const broken = (id: string, how: string, sabotage: () => Sabotage, ...ops: Op[]): Broken => ({
  ...{ id, how, sabotage },
  given: { machines, conducts: ["done"], ops },
});

export const BROKEN: readonly Broken[] = [
  broken(
    "ACT-1",
    "lists an effect that no entry requests",
    () => (store) => altered(store, { startableEffects: (page) => [...store.startableEffects(page), ...(page.after ? [] : [forged])] }),
    { op: "recover" },
  ),
  broken(
    "ACT-2",
    "takes any epoch for the present one",
    () => (store: Store) =>
      altered(store, {
        write: (_, body) => store.write(store.epoch(), (writer) => body(altered(writer, { isChangedElsewhere: () => true }))),
      }),
    { op: "takeover", sends: [send(0, 1)] },
  ),
  broken(
    "ACT-3",
    "loses an entry",
    () => {
      const isNow = once();
      return writing((writer) => ({
        appendEntries: (rows, before) => {
          const lost = rows.findIndex((row) => row.actor === "m1/a" && row.seq === 2 && isNow());
          writer.appendEntries(...without(lost, rows, before));
        },
      }));
    },
    burst(send(2, 1)),
    burst(send(2, 1)),
  ),
  broken(
    "ACT-4",
    "changes a snapshot",
    () =>
      writing((writer) => ({
        advanceActors: (steps) =>
          writer.advanceActors(steps.map((step) => ({ ...step, snapshot: step.snapshot.replace('"n":3', '"n":4') }))),
      })),
    burst(send(2, 1)),
  ),
  broken(
    "ACT-5",
    "gives back an actor that has ended as one that has not",
    () => writing((writer) => ({ actor: (address) => revived(writer.actor(address)) })),
    burst(send(0, 2)),
    burst(send(0, 1)),
  ),
  broken(
    "ACT-6",
    "keeps an effect that was settled",
    () => {
      const isNow = once();
      return writing((writer) => ({ deleteEffect: (key) => void (isNow() || writer.deleteEffect(key)) }));
    },
    burst(send(0, 0)),
    reopen(),
  ),
  broken(
    "ACT-7",
    "commits what failed",
    () => (store) =>
      altered(store, {
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
      }),
    { op: "error", point: "commit.inside", nth: 1 },
    burst(send(2, 1)),
  ),
  broken("ACT-8", "fires a timer again", returning, burst(send(2, 0)), { op: "advance", ms: 500 }, reopen()),
  broken(
    "ACT-8",
    "sets a timer too early",
    () => writing((writer) => ({ putTimer: (row) => writer.putTimer({ ...row, dueMs: row.dueMs - 300 }) })),
    burst(send(2, 0)),
    { op: "advance", ms: 200 },
  ),
  broken(
    "ACT-8",
    "counts the time without an owner against a `remaining` timer",
    () => (store) =>
      altered(store, {
        beginEpoch(atMs) {
          const before = store.timers({}, { limit: 100 });
          const epoch = store.beginEpoch(atMs);
          store.write(epoch, (writer) => before.forEach(({ ordinal: _, ...row }) => void writer.putTimer(row)));
          return epoch;
        },
      }),
    burst(send(2, 0)),
    reopen(5000),
  ),
  broken(
    "ACT-10",
    "sets another actor aside with a damaged one",
    () =>
      writing((writer) => ({
        putActor(row) {
          writer.putActor(row);
          const other = writer.actor("m1/a");
          if (row.quarantine && other) writer.putActor({ ...other, quarantine: row.quarantine });
        },
      })),
    reopen(0, 1),
    burst(send(1, 1)),
    reopen(),
  ),
];
