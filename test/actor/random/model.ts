/**
 * Model: what an actor's journal must come to, by plain XState and by rules of its own; nothing of the engine is used.
 *
 * An effect's state is known by visits: each state counts its entries in the context, and a request carries the count of its state.
 * Timers follow their policies by the ownerships that were seen to begin.
 */

import { isDeepStrictEqual } from "node:util";
import { type AnyMachineSnapshot, type AnyStateMachine, createActor, initialTransition, transition } from "xstate";
import type { ActorRow, PlacedJournalRow } from "../../../src/actor/store.ts";
import { EFFECTS, POLICIES } from "./spec.ts";

/** What was broken, by the id of the invariant. */
export interface Breach {
  readonly id: string;
  readonly what: string;
}

/** An ownership: when it began, after which position, and when the last commit before it was made. */
export interface Ownership {
  readonly atMs: number;
  readonly position: number;
  readonly committedMs: number;
}

interface Pending {
  readonly name: string;
  /** The state that asked, and which of its visits; null: the effect lives with its actor. */
  readonly visit: { readonly node: string; readonly visit: number } | null;
}

interface Timer {
  readonly id: string;
  readonly type: string;
  readonly delay: string;
  readonly delayMs: number;
  readonly dueMs: number;
}

/** What an actor is by its journal. */
export class ActorModel {
  readonly breaches: Breach[] = [];
  readonly effects = new Map<string, Pending>();
  readonly timers = new Map<string, Timer>();
  readonly actor: string;
  snapshot: AnyMachineSnapshot | undefined;
  seq = 0;
  /** False where the journal could not be followed to its end. */
  isWhole = false;
  readonly #machine: AnyStateMachine;
  readonly #settled = new Set<string>();
  #epochs: readonly Ownership[];

  constructor(machine: AnyStateMachine, actor: string, rows: readonly PlacedJournalRow[], epochs: readonly Ownership[]) {
    this.#machine = machine;
    this.actor = actor;
    this.#epochs = epochs;
    this.isWhole = rows.every((row) => this.#take(row));
    this.#rebase(Number.POSITIVE_INFINITY);
  }

  /** Holds the stored rows against it. */
  compare(row: ActorRow, effects: readonly { key: string; name: string }[], timers: readonly { key: string; dueMs: number }[]): void {
    if (!this.isWhole || !this.snapshot) return;
    if (row.seq !== this.seq) return void this.#broken("ACT-3", `the row is at ${row.seq}, its journal ends at ${this.seq}`);
    const stored = JSON.parse(row.snapshot);
    const { value, context, status, output } = this.snapshot;
    for (const [part, mine] of Object.entries({ value, context, status, output }))
      if (!isDeepStrictEqual(plain(mine), stored[part]))
        this.#broken("ACT-4", `the stored ${part} is ${JSON.stringify(stored[part])}, plain XState gives ${JSON.stringify(mine)}`);
    const keys = (some: Iterable<string>) => [...some].sort().join(" ");
    const [mine, theirs] = [keys(this.effects.keys()), keys(effects.map(({ key }) => key))];
    if (mine !== theirs) this.#broken("ACT-4", `the effects ${theirs} are stored, its journal leaves ${mine}`);
    const due = keys([...this.timers].map(([key, timer]) => `${key} at ${timer.dueMs}`));
    const set = keys(timers.map(({ key, dueMs }) => `${key} at ${dueMs}`));
    if (due !== set) this.#broken("ACT-8", `the timers ${set} are stored, its journal and its policies leave ${due}`);
  }

  #broken(id: string, what: string): false {
    this.breaches.push({ id, what: `${this.actor}: ${what}` });
    return false;
  }

  #take(row: PlacedJournalRow): boolean {
    if (row.seq !== this.seq + 1) return this.#broken("ACT-3", `entry ${row.seq} follows ${this.seq}`);
    this.seq = row.seq;
    this.#rebase(row.position);
    const [event, cause] = [JSON.parse(row.event), JSON.parse(row.cause)];
    if (this.snapshot && this.snapshot.status !== "active")
      return this.#broken("ACT-5", `entry ${row.seq}, ${event.type}, comes after its end`);
    if (cause.kind === "timer" && !this.#fire(cause.timer, row.seq, row.atMs, event.type)) return false;
    if (event.type === "engine.discarded") return true;
    if (cause.kind === "result") {
      if (this.#settled.has(cause.effect)) return this.#broken("ACT-6", `entry ${row.seq} settles ${cause.effect} a second time`);
      if (!this.effects.delete(cause.effect)) return this.#broken("ACT-6", `entry ${row.seq} settles ${cause.effect}, which had ended`);
      this.#settled.add(cause.effect);
    }
    let actions: readonly { type: string; params?: any }[];
    const stamp = { at: row.atMs, seq: row.seq, id: `${this.actor}:${row.seq}` };
    try {
      [this.snapshot, actions] = this.snapshot
        ? transition(this.#machine, this.snapshot, { ...event, stamp })
        : (initialTransition(this.#machine, { ...event.input, stamp } as never) as [AnyMachineSnapshot, any]);
    } catch (error) {
      return this.#broken("ACT-4", `entry ${row.seq}, ${event.type}: plain XState throws ${error}`);
    }
    this.snapshot = restored(this.#machine, this.snapshot);
    const facts = actions.filter(({ type }) => type === "xstate.emit").map(({ params }) => params.event);
    const requests = actions.flatMap(({ type, params }) => requestOf(type, params) ?? []);
    if (!isDeepStrictEqual(plain(facts), JSON.parse(row.facts)))
      return this.#broken("ACT-4", `entry ${row.seq} has the facts ${row.facts}, plain XState gives ${JSON.stringify(facts)}`);
    if (!isDeepStrictEqual(plain(requests), JSON.parse(row.actions)))
      return this.#broken("ACT-4", `entry ${row.seq} has the actions ${row.actions}, plain XState gives ${JSON.stringify(requests)}`);
    for (const [index, request] of requests.entries()) this.#request(request, `${this.actor}:${row.seq}:${index}`, row.atMs);
    this.#leave();
    return true;
  }

  #request(request: any, key: string, atMs: number): void {
    const { type, id, name, params, child, event, delay, delayMs } = request;
    const isBound = child !== undefined || name === "work" || name === "once";
    if (type === "effect") this.effects.set(key, { name, visit: isBound ? params : null });
    if (type === "cancel") for (const [other, { name: of }] of this.effects) if (of === request.effect) this.effects.delete(other);
    if (type === "cancelTimer" || (type === "timer" && id !== ""))
      for (const [other, timer] of this.timers) if (timer.id === id) this.timers.delete(other);
    if (type === "timer") this.timers.set(key, { id, type: event.type, delay, delayMs, dueMs: atMs + delayMs });
  }

  /** What ends with the states that were left, and with the actor. */
  #leave(): void {
    const { status, value, context } = this.snapshot as AnyMachineSnapshot;
    if (status !== "active") this.timers.clear();
    for (const [key, { visit }] of this.effects)
      if (status !== "active" || (visit && !(isIn(value, visit.node.split(".").slice(1)) && context.visits[visit.node] === visit.visit)))
        this.effects.delete(key);
  }

  #fire(key: string, seq: number, atMs: number, type: string): boolean {
    const timer = this.timers.get(key);
    if (!timer) return this.#broken("ACT-8", `entry ${seq} fires ${key}, which has fired, was cancelled or was never set`);
    if (atMs < timer.dueMs) return this.#broken("ACT-8", `entry ${seq} fires ${key} at ${atMs}, before ${timer.dueMs}`);
    if (type !== timer.type && type !== "engine.discarded") return this.#broken("ACT-8", `entry ${seq} fires ${key} as ${type}`);
    this.timers.delete(key);
    return true;
  }

  /** The ownerships that began before this position move what is still set. */
  #rebase(position: number): void {
    for (; this.#epochs[0] && this.#epochs[0].position < position; this.#epochs = this.#epochs.slice(1)) {
      const { atMs, committedMs } = this.#epochs[0];
      for (const [key, timer] of this.timers) {
        const policy = (POLICIES as Record<string, string>)[timer.delay];
        if (policy === "remaining") this.timers.set(key, { ...timer, dueMs: atMs + Math.max(0, timer.dueMs - committedMs) });
        if (policy === "restart") this.timers.set(key, { ...timer, dueMs: atMs + timer.delayMs });
      }
    }
  }
}

/** As it is in the next process: XState goes on by the order in which parallel states were entered, which no snapshot keeps. */
function restored(machine: AnyStateMachine, snapshot: AnyMachineSnapshot): AnyMachineSnapshot {
  const stored = JSON.parse(JSON.stringify(machine.getPersistedSnapshot(snapshot)));
  return createActor(machine, { snapshot: stored, input: undefined } as never).getSnapshot() as AnyMachineSnapshot;
}

/** As it is after its way through JSON. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function isIn(value: any, path: readonly string[]): boolean {
  const [first, ...rest] = path;
  if (first === undefined) return true;
  if (typeof value === "string") return value === first && rest.length === 0;
  return value !== undefined && Object.hasOwn(value, first) && isIn(value[first], rest);
}

/** What a machine asked for by this action of XState; undefined where that was done within the transition. */
function requestOf(type: string, params: any): object | undefined {
  if ((EFFECTS as readonly string[]).includes(type)) return { type: "effect", name: type, params };
  switch (type) {
    case "xstate.raise": {
      const { id = "", event, delay: delayMs } = params;
      if (delayMs === undefined) return undefined;
      const [, delay] = /^(?:xstate\.after|tick|r)\.(\w+)/.exec(id === "" ? event.type : id) ?? [];
      return { type: "timer", id, event, delay, delayMs };
    }
    case "xstate.cancel":
      return { type: "cancelTimer", id: params.sendId };
    case "xstate.spawnChild":
      return { type: "effect", name: params.src, params: params.input, child: params.id };
    case "deliver":
      return { type, to: params.to, event: params.event };
    case "createActor":
      return { type: "create", ...params };
    case "cancelEffect":
      return { type: "cancel", effect: params.effect };
    case "abortEffect":
      return { type: "abort", effect: params.effect };
    default:
      return undefined;
  }
}
