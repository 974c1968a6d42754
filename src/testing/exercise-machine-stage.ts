/**
 * Stage: the real engine on SQLite, for one actor of which a test knows everything that happens.
 *
 * Handlers do nothing until the path says what they come to; time passes only by `jump`; other machines are stand-ins that take notice
 * of nothing. Time-outs of handlers are lifted: how long one works is the path's to say.
 */

import { copyFileSync, existsSync, rmSync } from "node:fs";
import { setImmediate, setTimeout } from "node:timers/promises";
import { type AnyStateMachine, setup } from "xstate";
import type { Clock } from "../actor/clock.ts";
import type { Probe } from "../actor/commit.ts";
import type { MachineSchemas, StandardSchema } from "../actor/declaration.ts";
import { type Engine, openEngine } from "../actor/engine.ts";
// The outbox loads it with its first handler, which would take longer than a path.
import "../actor/handling.ts";
import type { EffectHandler } from "../actor/handler.ts";
import { register } from "../actor/registration.ts";
import type { Store } from "../actor/store.ts";
import { Connection } from "../store/connection.ts";
import { openWritable } from "../store/database.ts";
import { SqliteStore } from "../store/sqlite.ts";
import { type StoreFaults, storeFaults } from "./exercise-machine-fault.ts";
import { type FaultPoints, faultPoints } from "./fault-points.ts";
import { purityTrap } from "./purity-trap.ts";

/** What a stage is made of. */
export interface Cast {
  /** The machine under test, as the engine gets it. */
  readonly machine: AnyStateMachine;
  /** Stand-ins for the machines that it talks to, by id. */
  readonly others: ReadonlyMap<string, AnyStateMachine>;
  readonly effects: readonly string[];
  readonly id: string;
  readonly address: string;
}

/** The machine and its stand-ins. Throws `machine_invalid`. */
export function castOf(machine: AnyStateMachine, others: readonly AnyStateMachine[], id: string): Cast {
  const address = `${machine.id}/${id}`;
  const absent = others.filter((other) => other.id !== machine.id).map((other) => [other.id, absentee(other, address)] as const);
  return { machine: untimed(machine), others: new Map(absent), effects: [...register(machine).effects.keys()], id, address };
}

/** The machine with effects that have all the time there is. Limits are no part of its definition. */
function untimed(machine: AnyStateMachine): AnyStateMachine {
  const schemas = machine.schemas as MachineSchemas;
  const effects = Object.entries(schemas.effects ?? {}).map(([name, effect]) => [
    name,
    { ...effect, timeoutMs: null, abortGraceMs: FOREVER_MS },
  ]);
  const copy = machine.provide({});
  Object.defineProperty(copy, "schemas", { value: { ...schemas, effects: Object.fromEntries(effects) } });
  return copy;
}

const FOREVER_MS = 2 ** 31 - 1;

/** Marks the input of a stand-in that the stage makes itself. */
const ABSENT = "holdfast.absent";

function isAbsent(value: unknown): boolean {
  return typeof value === "object" && value !== null && (value as { [ABSENT]?: unknown })[ABSENT] === true;
}

function schemaOf(validate: StandardSchema["~standard"]["validate"]): StandardSchema {
  return { "~standard": { version: 1, vendor: "holdfast", validate } };
}

/** What is told to it must fit the machine that it stands for, and is taken no notice of. */
function absentee({ id, schemas, config }: AnyStateMachine, supervisor: string): AnyStateMachine {
  const { input, events } = schemas as MachineSchemas;
  return setup({
    schemas: {
      input: schemaOf((value) => (isAbsent(value) ? { value } : input["~standard"].validate(value))),
      context: schemaOf((value) => ({ value })),
      events,
      facts: {},
      supervisor: () => supervisor,
    } as never,
  }).createMachine({ id, version: String((config as { version?: string }).version), context: {} } as never) as unknown as AnyStateMachine;
}

/** How often the handler of each effect was called, by its key: what the world outside has seen. */
export type Calls = Map<string, { readonly name: string; readonly times: number }>;

interface Waiting {
  readonly signal: AbortSignal;
  resolve(output: unknown): void;
  reject(error: unknown): void;
}

/** One owner of a database. */
export class Stage {
  readonly cast: Cast;
  readonly file: string;
  readonly calls: Calls;
  /** Actors whose rows were damaged, to set them aside. */
  readonly damaged: Set<string>;
  readonly points: FaultPoints = faultPoints();
  readonly faults: StoreFaults = storeFaults();
  readonly clock: JumpingClock;
  /** Called before, inside and after each commit. */
  onCommit: (phase: "before" | "inside" | "after") => void = () => {};
  readonly #waiting = new Map<string, Waiting>();
  #store: Store | undefined;
  #engine: Engine | undefined;

  /** `before`: what an owner of the same database has left besides its rows. */
  constructor(cast: Cast, file: string, nowMs: number, before?: { readonly calls: Calls; readonly damaged: ReadonlySet<string> }) {
    this.cast = cast;
    this.file = file;
    this.calls = new Map(before?.calls);
    this.damaged = new Set(before?.damaged);
    this.clock = new JumpingClock(nowMs);
  }

  get store(): Store {
    return this.#store as Store;
  }

  get engine(): Engine {
    return this.#engine as Engine;
  }

  /** Opens the database, without an engine. */
  openStore(): Store {
    this.#store = openUnsynced(this.file);
    return this.#store;
  }

  async open(): Promise<void> {
    if (!this.#store) this.openStore();
    const { machine, others, effects } = this.cast;
    const handler =
      (name: string): EffectHandler =>
      ({ key, signal }) => {
        this.calls.set(key, { name, times: (this.calls.get(key)?.times ?? 0) + 1 });
        return new Promise((resolve, reject) => this.#waiting.set(key, { signal, resolve, reject }));
      };
    this.#engine = await openEngine(this.faults.around(this.store), {
      machines: [machine, ...others.values()],
      effects: Object.fromEntries(effects.map((name) => [name, handler(name)])),
      clock: this.clock,
      probe: this.#probe,
      enclose: purityTrap,
      // What is read is always what is stored.
      cacheLimit: 0,
      closeGraceMs: 0,
    });
  }

  readonly #probe: Probe = (point, subject) => {
    if (point === "commit.before") this.onCommit("before");
    this.points.probe(point, subject);
    if (point === "commit.inside") this.onCommit("inside");
    if (point === "commit.after") this.onCommit("after");
  };

  /** Ends the owner; the database stays. */
  async close(): Promise<void> {
    await this.#engine?.close();
    this.#store?.close();
    this.#engine = undefined;
    this.#store = undefined;
    this.#waiting.clear();
    this.clock.clear();
  }

  /** Says what a handler comes to. */
  handler(key: string): Waiting {
    const waiting = this.#waiting.get(key);
    if (!waiting) throw new Error(`no handler of ${key} is at work`);
    this.#waiting.delete(key);
    return waiting;
  }

  /** True where the handlers of these effects are at work. */
  isAtWork(keys: readonly string[]): boolean {
    return keys.every((key) => this.#waiting.has(key));
  }

  /** Those of these effects whose handlers' signals say that they shall stop. */
  askedToStop(keys: readonly string[]): string[] {
    return keys.filter((key) => this.#waiting.get(key)?.signal.aborted);
  }

  /** Sets an actor aside by damaging its row; it is made first where there is none. */
  async setAside(address: string): Promise<void> {
    const [machine = "", id = ""] = address.split("/");
    const other = this.cast.others.get(machine);
    if (!other) throw new Error(`engine.quarantined names ${address}, and there is no machine ${machine} among the others`);
    const ref = await (this.engine.get(other, id) ?? this.engine.create(other, id, { input: { [ABSENT]: true } as never }));
    const row = this.store.actor(address);
    if (row) this.store.write(this.engine.epoch, (writer) => writer.putActor({ ...row, snapshot: "{" }));
    this.damaged.add(address);
    // Whoever reads it next finds the damage.
    await ref.send({ type: ABSENT } as never);
  }

  /** Its row is made anew from its journal. */
  async takeBack(address: string): Promise<void> {
    await this.engine.release(address);
    this.damaged.delete(address);
  }

  /** Copies the database as a process that dies now would leave it. */
  copyTo(file: string): void {
    copyDatabase(this.file, file);
  }
}

/** Copies a database that may be open, with what is not merged into it yet. */
export function copyDatabase(from: string, to: string): void {
  for (const end of ["", "-wal"]) if (existsSync(from + end)) copyFileSync(from + end, to + end);
}

/** Removes a database that nobody has open. */
export function removeDatabase(file: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(file + end, { force: true });
}

/** Opens or creates a database that a crash of the process leaves whole; one of the system need not, so nothing waits for the disk. */
export function openUnsynced(file: string): Store {
  const database = openWritable({ file, synchronous: "normal" });
  database.pragma("synchronous = OFF");
  return new SqliteStore(new Connection(database));
}

/** Turns of the event loop after which the engine is at rest for certain. */
const TURNS = 2000;

/** Waits until `isSo`, for as long as the event loop has something to do for it; false where it is never so. */
export async function until(isSo: () => boolean): Promise<boolean> {
  for (let turn = 0; turn < TURNS; turn++) {
    if (isSo()) return true;
    // Now and then a moment for whoever waits for a timer of no length.
    await (turn % 100 === 99 ? setTimeout(1) : setImmediate());
  }
  return isSo();
}

/** A clock that jumps: what is due at the end of a jump is called, and nothing on the way. */
export class JumpingClock implements Clock {
  #nowMs: number;
  readonly #waiting = new Set<{ readonly atMs: number; readonly wake: () => void }>();

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  now(): number {
    return this.#nowMs;
  }

  after(ms: number, wake: () => void): () => void {
    const entry = { atMs: this.#nowMs + ms, wake };
    this.#waiting.add(entry);
    return () => void this.#waiting.delete(entry);
  }

  /** To a time that is not before now. */
  jump(toMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, toMs);
    const due = [...this.#waiting].filter(({ atMs }) => atMs <= this.#nowMs).sort((a, b) => a.atMs - b.atMs);
    for (const entry of due) if (this.#waiting.delete(entry)) entry.wake();
  }

  /** True where something waits that is due within `ms`. */
  isWaiting(ms: number): boolean {
    return [...this.#waiting].some(({ atMs }) => atMs <= this.#nowMs + ms);
  }

  /** Forgets everybody who waits. */
  clear(): void {
    this.#waiting.clear();
  }
}
