/**
 * Path model: one durable actor as the engine runs it, purely.
 *
 * Owns nothing of its own: transitions, effects and timers are computed by the engine's own pure functions. Other actors are absent:
 * what is delivered to them reaches nobody, what they would say comes from the path.
 */

import { outcomesOf } from "../actor/action.ts";
import { engineError } from "../actor/error.ts";
import { type EngineEvent, stampOf } from "../actor/event.ts";
import { actorAddress, checkEvent, parseInput } from "../actor/input.ts";
import { settleEffects, settleTimers } from "../actor/request.ts";
import type { EffectRow, TimerRow } from "../actor/store.ts";
import { dehydrate, isFinal, type Outcome, start, take } from "../actor/transition.ts";
import { countOf } from "../agent/count.ts";
import { rebased } from "../store/memory.ts";
import type { Outcome as EffectOutcome, Move } from "./path-move.ts";
import type { ModelState } from "./path-state.ts";
import type { Trace, Watched } from "./path-trace.ts";
import { purityTrap } from "./purity-trap.ts";

export type { ModelState } from "./path-state.ts";

/** Timers that may be due at one moment. */
const DUE_LIMIT = 1000;

/** Thrown within a step that the engine would refuse because an identity is taken. */
class Taken extends Error {}

/** How an ownership ended that died: when the next one begins, which epoch died, and the effects whose handlers had been started. */
export interface Death {
  readonly nowMs: number;
  readonly epoch: number;
  readonly started: ReadonlySet<string>;
}

/** One actor of a machine, addressed by `id`. */
export class Model {
  readonly watched: Watched;
  readonly address: string;
  #passed: ModelState[] = [];

  constructor(watched: Watched, id: string) {
    this.watched = watched;
    this.address = actorAddress(watched.registration.id, id);
  }

  /** Each state after an entry that the last call came to, for each may be a commit of its own; the last is what it gave. */
  get passed(): readonly ModelState[] {
    return this.#passed;
  }

  /** The actor as it is made. Throws `input_invalid`, and what the machine throws. */
  create(input: unknown, nowMs: number, epoch: number): ModelState {
    const { registration } = this.watched;
    this.#passed = [];
    const { result, trace } = this.watched.watch(() => {
      const outcome = start(registration, parseInput(registration, input), stampOf(this.address, 1, nowMs), purityTrap);
      const before = {
        ...{ seq: 0, nowMs, epoch, effects: [], timers: [], aborting: NONE, abortedNow: NONE, aside: NONE, last: "taken" as const },
        owned: new Map<string, string>(),
      };
      return this.#due(this.#settle(before, outcome, {}));
    });
    return { ...result, trace };
  }

  /** What a move makes of it; of a restart, after an orderly end or a death. Throws what the machine throws. */
  step(state: ModelState, move: Move, death?: Death): ModelState {
    this.#passed = [];
    try {
      const { result, trace } = this.watched.watch(() =>
        this.#due(this.#move({ ...state, last: "ignored", abortedNow: NONE }, move, death)),
      );
      if (result.last !== "ignored") return { ...result, trace };
      // An event that is ignored changes nothing, so that it leads to where it began.
      if (!["restart", "aside", "back"].includes(move.kind)) return { ...state, last: "ignored", trace };
      // The machine takes no notice. Its new owner has moved timers all the same, and another actor is set aside or back.
      const isSame = JSON.stringify(boundary(result)) === JSON.stringify(boundary({ ...state, abortedNow: NONE }));
      return { ...result, last: isSame ? "ignored" : "taken", trace };
    } catch (error) {
      if (error instanceof Taken) return { ...state, last: "impossible" };
      throw error;
    }
  }

  #move(state: ModelState, move: Move, death: Death | undefined): ModelState {
    switch (move.kind) {
      case "send": {
        const after = this.#take(state, this.#checked(move.event as EngineEvent, "outside", move.variant), {});
        const asked = [...after.aborting].filter((key) => !state.aborting.has(key));
        return { ...after, abortedNow: new Set(asked) };
      }
      case "outcome":
        return this.#outcome(state, effectAt(state, move.effect, move.nth), move.outcome, move.variant);
      case "timer":
        return this.#due({ ...state, nowMs: Math.max(state.nowMs, first(state.timers)?.dueMs ?? 0) });
      case "restart":
        return this.#restart(state, death);
      case "aside":
        return this.#aside(state, move.actor);
      case "back":
        return this.#tell({ ...state, aside: without(state.aside, move.actor) }, { type: "engine.released", actor: move.actor });
    }
  }

  #outcome(state: ModelState, row: EffectRow | undefined, outcome: EffectOutcome, variant?: string): ModelState {
    if (!row) return { ...state, last: "impossible" };
    const { registration } = this.watched;
    const child = row.child === null ? {} : { actorId: row.child };
    const { done, failed, aborted } = outcomesOf(registration, row);
    const event = {
      done: () => ({ type: done, output: (outcome as { output?: unknown }).output, ...child, effect: row.key }),
      failed: () => ({ type: failed, error: (outcome as { error?: unknown }).error, ...child, effect: row.key }),
      aborted: () => ({ type: aborted, effect: row.key }),
      unknown: () => ({ type: "effect.unknown", effect: row.key, name: row.name }),
    }[outcome.kind]() as EngineEvent;
    return this.#take(state, row.child === null ? this.#checked(event, "engine", variant) : event, { settled: row.key });
  }

  /** What the next owner does first: it moves timers, tells, then settles what was started. An orderly end says until when it was there. */
  #restart(before: ModelState, death: Death | undefined): ModelState {
    const { events } = this.watched.registration.schemas;
    const { nowMs, epoch: ended } = death ?? before;
    const epoch = ended + 1;
    const timers = before.timers.map((row) => ({ ...row, dueMs: rebased(row, before.nowMs, nowMs) }));
    let state: ModelState = { ...before, nowMs, epoch, timers, aborting: NONE };
    if (isFinal(state.snapshot)) return state;
    if (events["engine.reopened"]) state = this.#tell(state, { type: "engine.reopened", epoch });
    for (const { key } of before.effects) {
      const row = state.effects.find((one) => one.key === key);
      if (row?.state !== "open" || this.watched.registration.effects.get(row.name)?.delivery !== "at_most_once") continue;
      if (death && !death.started.has(key)) continue;
      if (events["effect.unknown"]) state = this.#outcome(state, row, { kind: "unknown" });
      else state = { ...state, effects: state.effects.map((one) => (one === row ? { ...row, state: "unknown" } : one)) };
    }
    return state;
  }

  #aside(state: ModelState, actor: string): ModelState {
    const owner = state.owned.get(actor);
    if (owner !== undefined && owner !== actor) throw new Taken(actor);
    const owned = new Map(state.owned).set(actor, actor);
    return this.#tell({ ...state, owned, aside: new Set([...state.aside, actor]) }, quarantined(actor));
  }

  /** An event that the engine makes; nobody is told who is final. */
  #tell(state: ModelState, event: EngineEvent): ModelState {
    if (isFinal(state.snapshot) || !this.watched.registration.schemas.events[event.type]) return state;
    return this.#take(state, this.#checked(event, "engine"), {});
  }

  #take(state: ModelState, event: EngineEvent, ended: Ended): ModelState {
    const { registration } = this.watched;
    const outcome = take(registration, state.snapshot, event, stampOf(this.address, state.seq + 1, state.nowMs), purityTrap);
    if (!outcome.taken && ended.settled === undefined && ended.fired === undefined) return state;
    const after = this.#settle({ ...state, event }, outcome, ended);
    const unreached = new Set(outcome.requests.flatMap((one) => (one.type === "deliver" && state.aside.has(one.to) ? [one.to] : [])));
    return [...unreached].reduce((told, actor) => this.#tell(told, quarantined(actor)), after);
  }

  /** What the engine writes for an outcome. */
  #settle(before: Omit<ModelState, "snapshot" | "trace">, outcome: Outcome, { settled, fired }: Ended): ModelState {
    const { registration } = this.watched;
    const { nowMs, epoch } = before;
    const seq = before.seq + 1;
    const done = { registration, actor: this.address, seq, atMs: nowMs, outcome };
    const { effects, aborted } = settleEffects({ ...done, epoch, settled, before: before.effects });
    const { timers } = settleTimers({ ...done, settled: fired, before: before.timers });
    const owned = new Map(before.owned);
    for (const request of outcome.requests)
      if (request.type === "create") this.#own(owned, `${request.machine}/${request.id}`, request.keys);
    const kept = new Set(effects.map(({ key }) => key));
    const aborting = new Set([...before.aborting, ...aborted].filter((key) => kept.has(key)));
    const after: ModelState = {
      ...before,
      snapshot: outcome.snapshot,
      seq,
      effects,
      timers,
      owned,
      aborting,
      last: "taken",
      trace: NOTHING,
    };
    this.#passed.push(after);
    return after;
  }

  #own(owned: Map<string, string>, address: string, keys: readonly string[]): void {
    const owner = owned.get(address);
    if (owner !== undefined && owner !== this.address) throw new Taken(address);
    for (const key of keys) {
      if (owned.has(key)) throw new Taken(key);
      owned.set(key, address);
    }
    owned.set(address, address);
  }

  /** Fires what is due: the engine does so by itself. Throws `machine_threw` where that has no end. */
  #due(state: ModelState): ModelState {
    let now = state;
    for (let fired = 0; fired <= DUE_LIMIT; fired++) {
      const row = first(now.timers);
      if (!row || row.dueMs > now.nowMs || isFinal(now.snapshot)) return now;
      now = this.#take(now, JSON.parse(row.event), { fired: row.key });
    }
    throw engineError(
      "machine_threw",
      `machine ${this.watched.registration.id} does not come to rest: ${countOf(DUE_LIMIT)} of its timers in a row were due at once, so delays of no length lead in a circle`,
    );
  }

  #checked(event: EngineEvent, from: "outside" | "engine", variant?: string): EngineEvent {
    const checked = checkEvent(this.watched.registration, event, from);
    if (checked.ok) return checked.event;
    throw new TypeError(
      `the variant${variant === undefined ? "" : ` ${variant}`} of ${event.type} is refused as ${checked.code}: ${checked.message}`,
    );
  }
}

interface Ended {
  readonly settled?: string | undefined;
  readonly fired?: string | undefined;
}

const NONE: ReadonlySet<string> = new Set();
const NOTHING: Trace = { transitions: NONE, guards: NONE, nodes: NONE };

/** The code under which the kit sets an actor aside: its stored snapshot is unreadable. */
const quarantined = (actor: string): EngineEvent => ({ type: "engine.quarantined", actor, code: "snapshot_damaged" });

/** The nth effect of a name that is requested and not settled. */
export function effectAt(state: Pick<ModelState, "effects">, name: string, nth: number): EffectRow | undefined {
  return state.effects.filter((row) => row.name === name)[nth];
}

/** The timer that is due next. */
export function first(timers: readonly TimerRow[]): TimerRow | undefined {
  return timers.toSorted((a, b) => a.dueMs - b.dueMs)[0];
}

function without(set: ReadonlySet<string>, gone: string): ReadonlySet<string> {
  return new Set([...set].filter((one) => one !== gone));
}

/** All that decides how the actor goes on, as text; the time that has passed does not. */
export function exactKey(watched: Watched, state: ModelState): string {
  return JSON.stringify([dehydrate(watched.registration, state.snapshot), ...boundary(state)]);
}

/** What belongs to the actor besides its snapshot. */
export function boundary({ effects, timers, aborting, abortedNow, aside, owned, nowMs }: ModelState): unknown[] {
  return [
    effects.map((row) => [row.name, row.scope, row.state, aborting.has(row.key), abortedNow.has(row.key)]),
    timers.map((row) => [row.id, row.dueMs - nowMs]).sort(),
    [...aside].sort(),
    [...owned.keys()].sort(),
  ];
}
