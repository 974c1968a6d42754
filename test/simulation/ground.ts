/** Ground: a store that hosts come to one after another, and what one of them has of it. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HoldfastError } from "../../src/actor/error.ts";
import type { Store, StoreReader, StoreWriter } from "../../src/actor/store.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { openSqliteReader, openSqliteStore } from "../../src/store/sqlite.ts";

/** A store, and someone who looks in from beside. */
export interface Ground {
  /** The store, for one more host. */
  open(): Store;
  /** Sees what is committed, and nothing else. */
  readonly reader: StoreReader;
  /** What one host had is given back. */
  leave(store: Store): void;
  close(): void;
}

export function memoryGround(): Ground {
  const store = memoryStore({ rootId: "simulation" });
  return { open: () => store, reader: store, leave: () => {}, close: () => store.close() };
}

/** A database in a temporary directory: each host has a connection of its own. */
export function sqliteGround(): Ground {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-simulation-"));
  const file = join(directory, "root.db");
  const stores = new Set<Store>();
  const open = () => {
    const store = openSqliteStore({ file, synchronous: "normal" });
    stores.add(store);
    return store;
  };
  const leave = (store: Store) => {
    store.close();
    stores.delete(store);
  };
  leave(open());
  const reader = openSqliteReader({ file });
  return {
    open,
    reader,
    leave,
    close() {
      reader.close();
      for (const store of stores) store.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Changes what a host's store does: a way to break the engine for which no source is changed. */
export type Sabotage = (store: Store, gen: number) => Store;

/** What a store does wrong: `busy` before a write, `full` at its end, `unread` inside it, `blind` outside of any. */
export const FAULTS = ["busy", "full", "unread", "blind"] as const;
export type FaultKind = (typeof FAULTS)[number];

/** How a host stands. `cut`: its process is dead. `closing`: it ends in order. `robbed`: it was told that another one owns the root. */
export interface Standing {
  cut: boolean;
  closing: boolean;
  robbed: boolean;
  fault: { readonly kind: FaultKind; left: number } | null;
}

/** Who is told of what a store did. */
export interface StoreWitness {
  /** Something happened. */
  stirred(): void;
  /** A store failed as planned. */
  failed(): void;
  violated(what: string): void;
}

const broken = (what: string) => new HoldfastError("storage_failed", what);
const FIRST: Readonly<Record<FaultKind, string>> = {
  busy: "the database is locked",
  full: "the disk is full",
  unread: "the disk cannot be read",
  blind: "the disk cannot be read",
};

/** A host's store: it dies with its host, and fails as planned. A write that fails must leave nothing (ACT-7). */
export function owned(ground: Ground, store: Store, standing: Standing, witness: StoreWitness): Store {
  const demand = () => {
    if (standing.cut) throw new Error("this process is dead");
  };
  const due = (...kinds: FaultKind[]): FaultKind | undefined => {
    const { fault } = standing;
    if (!fault || !kinds.includes(fault.kind)) return undefined;
    if (--fault.left <= 0) standing.fault = null;
    witness.failed();
    return fault.kind;
  };
  const write = <T>(epoch: number, body: (writer: StoreWriter) => T): T => {
    demand();
    witness.stirred();
    const fault = due("busy", "full", "unread");
    if (fault === "busy") throw broken(FIRST.busy);
    const before = ground.reader.lastPosition();
    try {
      return store.write(epoch, (writer) => {
        const result = body(fault === "unread" ? unreadable(writer) : writer);
        if (fault) throw broken(FIRST[fault]);
        return result;
      });
    } catch (error) {
      const left = ground.reader.lastPosition() - before;
      if (left > 0) witness.violated(`ACT-7: a write that failed left ${left} entries`);
      throw error;
    }
  };
  const cache = new Map<PropertyKey, unknown>([["write", write]]);
  return new Proxy(store, {
    get(target, name) {
      const known = cache.get(name);
      if (known !== undefined) return known;
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const called = (...args: unknown[]) => {
        demand();
        if (standing.fault?.kind === "blind" && name !== "beginEpoch" && due("blind")) throw broken(FIRST.blind);
        return value.apply(target, args);
      };
      cache.set(name, called);
      return called;
    },
  });
}

/** A writer of which no row of an actor can be read. */
function unreadable(writer: StoreWriter): StoreWriter {
  return new Proxy(writer, {
    get(target, name) {
      if (name === "actor")
        return () => {
          throw broken(FIRST.unread);
        };
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
