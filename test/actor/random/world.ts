/**
 * World: where a case happens: a store whose owners come and go, a clock, and someone who looks in from beside.
 *
 * An owner that dies is cut off: its store and its clock do nothing for it any more, as for a process that is gone.
 */

import type { Clock } from "../../../src/actor/clock.ts";
import type { Store, StoreReader, StoreWriter } from "../../../src/actor/store.ts";
import type { SimulatedClock } from "../../../src/testing/index.ts";
import type { Observation } from "./observation.ts";

/** A store that owners come to one after another. */
export interface Ground {
  /** The store, for one more owner. */
  open(): Store;
  /** Sees what is committed, and nothing else. */
  readonly reader: StoreReader;
  close(): void;
}

/** Changes what an owner's store does: a way to break the engine that no source is changed for. */
export type Sabotage = (store: Store, gen: number) => Store;

/** What one owner has of the world. */
export interface Owner {
  readonly gen: number;
  readonly store: Store;
  readonly clock: Clock;
  readonly state: { cut: boolean; fenced: boolean; armed: boolean };
}

/** Everything that can be read of a root, as text: equal where nothing was changed. */
export function dump(reader: StoreReader): string {
  const page = { limit: 1000 };
  return JSON.stringify([
    reader.epoch(),
    reader.actors({}, page),
    reader.entries(page),
    reader.effects({}, page),
    reader.timers({}, page),
    reader.deadLetters({}, page),
    reader.tombstones(page),
  ]);
}

/** The next owner of a ground. */
export function own(ground: Ground, gen: number, clock: SimulatedClock, see: (seen: Observation) => void, sabotage: Sabotage): Owner {
  const state = { cut: false, fenced: false, armed: false };
  const store = sabotage(ground.open(), gen);
  const alive = () => {
    if (state.cut) throw new Error("this process is dead");
  };
  const write = <T>(epoch: number, body: (writer: StoreWriter) => T): T => {
    alive();
    // To read it all for each commit would cost more than the commits.
    const before = state.armed ? dump(ground.reader) : undefined;
    const noted: Observation[] = [];
    try {
      const result = store.write(epoch, (writer) => body(noting(writer, noted)));
      for (const one of noted) see(one);
      return result;
    } catch (error) {
      if (state.cut || state.fenced) throw error;
      const left = before === undefined ? null : difference(before, dump(ground.reader));
      see({ saw: "failed write", planned: state.armed, left, error: String(error) });
      throw error;
    }
  };
  const beginEpoch = (atMs: number): number => {
    alive();
    const position = ground.reader.lastPosition();
    const last = lastEntry(ground.reader);
    const epoch = store.beginEpoch(atMs);
    see({ saw: "epoch", gen, atMs, position, last });
    return epoch;
  };
  const watched = new Proxy(store, {
    get(target, name) {
      if (name === "write") return write;
      if (name === "beginEpoch") return beginEpoch;
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        alive();
        return value.apply(target, args);
      };
    },
  });
  const own: Clock = {
    now: () => clock.now(),
    after: (ms, wake) => clock.after(ms, () => state.cut || wake()),
  };
  return { gen, store: watched, clock: own, state };
}

/** A writer that notes what the rows do not show afterwards. */
function noting(writer: StoreWriter, noted: Observation[]): StoreWriter {
  return new Proxy(writer, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: any[]) => {
        const last = name === "deleteActor" ? target.entries({ after: target.lastPosition() - 1, limit: 1 })[0] : undefined;
        const result = value.apply(target, args);
        if (name === "rest") noted.push({ saw: "rest", atMs: args[0] });
        if (last && last.actor === args[0]) noted.push({ saw: "last gone", position: last.position, atMs: last.atMs });
        return result;
      };
    },
  });
}

/** The last entry that is there: deleted actors leave gaps. */
function lastEntry(reader: StoreReader): { position: number; atMs: number } {
  let last = { position: 0, atMs: 0 };
  for (let page = reader.entries({ limit: 1000 }); page.length > 0; page = reader.entries({ after: last.position, limit: 1000 }))
    last = page.at(-1) ?? last;
  return { position: last.position, atMs: last.atMs };
}

/** Where two texts part; null where they are the same. */
function difference(before: string, after: string): string | null {
  if (before === after) return null;
  const at = [...before].findIndex((letter, index) => letter !== after[index]);
  return `…${after.slice(Math.max(0, at - 60), at + 60)}…`;
}
