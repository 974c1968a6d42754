/** What a transition's requests do to the actor's open effects and timers: which rows open, which close, which handlers are asked to stop. */

import { TIME_LIMIT_MS } from "./delay.ts";
import { engineError } from "./error.ts";
import type { Registration } from "./registration.ts";
import { activeNodes } from "./scope.ts";
import type { EffectRow, TimerRow } from "./store.ts";
import { isFinal, type Outcome } from "./transition.ts";

/** Effects that one actor may have requested and not settled. */
export const EFFECTS_LIMIT = 1000;

/** Timers that one actor may have set. */
export const TIMERS_LIMIT = 1000;

export interface EffectChange {
  /** The actor's effects after the transition. */
  readonly effects: readonly EffectRow[];
  readonly opened: readonly EffectRow[];
  /** Keys of rows that end with this commit. */
  readonly closed: readonly string[];
  /** Keys of effects whose handlers are asked to stop and still report. */
  readonly aborted: readonly string[];
}

interface Transitioned {
  readonly registration: Registration;
  readonly actor: string;
  readonly seq: number;
  readonly atMs: number;
  readonly epoch: number;
  /** The effect whose outcome was taken. */
  readonly settled: string | undefined;
  readonly outcome: Outcome;
  /** The actor's effects before the transition. */
  readonly before: readonly EffectRow[];
}

/**
 * Pure. Requests are applied in the machine's order; then every effect whose state is not active any more ends, and all of them
 * where the actor has ended. A state that requests an effect again, in a later microstep or by a later event, replaces what it
 * requested before; requests of one microstep stand side by side. Throws `action_invalid` beyond `EFFECTS_LIMIT`.
 */
export function settleEffects(done: Transitioned): EffectChange {
  const { registration, outcome } = done;
  if (done.before.length === 0 && outcome.requests.length === 0) return { effects: [], opened: [], closed: [], aborted: [] };
  const active = activeNodes(outcome.snapshot);
  let effects = done.before.filter((row) => row.key !== done.settled);
  const aborted: string[] = [];
  const madeIn = new Map<string, number>();
  outcome.requests.forEach((request, index) => {
    if (request.type === "cancel") effects = effects.filter((row) => row.name !== request.effect);
    if (request.type === "abort") for (const row of effects) if (row.name === request.effect) aborted.push(row.key);
    if (request.type !== "effect") return;
    const made = outcome.made[index] ?? { step: 0, scope: "" };
    const key = `${done.actor}:${done.seq}:${index}`;
    const invoking = request.child === undefined ? undefined : registration.invocations.get(request.child)?.node;
    const scope = invoking ?? made.scope;
    const child = request.child ?? null;
    const isReplaced = (row: EffectRow) =>
      row.name === request.name && row.scope === scope && row.child === child && madeIn.get(row.key) !== made.step;
    if (scope !== "") effects = effects.filter((row) => !isReplaced(row));
    madeIn.set(key, made.step);
    effects.push({
      key,
      actor: done.actor,
      name: request.name,
      params: JSON.stringify(request.params),
      scope,
      child,
      state: "open",
      epoch: done.epoch,
      openedMs: done.atMs,
      error: null,
    });
  });
  effects = isFinal(outcome.snapshot) ? [] : effects.filter((row) => row.scope === "" || active.has(row.scope));
  if (effects.length > EFFECTS_LIMIT)
    throw engineError("action_invalid", `${done.actor} would have more than ${EFFECTS_LIMIT} open effects`, {
      details: { actor: done.actor },
    });
  const kept = new Set(effects.map((row) => row.key));
  const known = new Set(done.before.map((row) => row.key));
  return {
    effects,
    opened: effects.filter((row) => !known.has(row.key)),
    closed: done.before.filter((row) => !kept.has(row.key)).map((row) => row.key),
    aborted: aborted.filter((key) => kept.has(key)),
  };
}

/** What became of an actor's timers. */
export interface TimerChange {
  /** The actor's timers after the transition. */
  readonly timers: readonly TimerRow[];
  readonly opened: readonly TimerRow[];
  /** Keys of rows that end with this commit. */
  readonly closed: readonly string[];
}

interface TimedTransition extends Omit<Transitioned, "before" | "epoch"> {
  /** The actor's timers before the transition; `settled` names the one that fired. */
  readonly before: readonly TimerRow[];
}

/**
 * Pure. Requests are applied in the machine's order, because a state that is entered again cancels its timer and sets it anew under
 * the same id; a timer replaces the one with its id; all end where the actor has ended. Throws `action_invalid` beyond `TIMERS_LIMIT`.
 */
export function settleTimers(done: TimedTransition): TimerChange {
  const { registration, outcome, before } = done;
  if (before.length === 0 && outcome.requests.length === 0) return { timers: [], opened: [], closed: [] };
  let timers = before.filter((row) => row.key !== done.settled);
  outcome.requests.forEach((request, index) => {
    if (request.type === "cancelTimer" || (request.type === "timer" && request.id !== ""))
      timers = timers.filter((row) => row.id !== request.id);
    if (request.type !== "timer") return;
    const { id, delay, delayMs } = request;
    const declared = registration.delays.get(id) ?? registration.delays.get(request.event.type);
    timers.push({
      key: `${done.actor}:${done.seq}:${index}`,
      actor: done.actor,
      id,
      event: JSON.stringify(request.event),
      delay,
      policy: declared?.policy ?? "absolute",
      delayMs,
      dueMs: Math.min(done.atMs + delayMs, TIME_LIMIT_MS),
      state: "armed",
    });
  });
  if (isFinal(outcome.snapshot)) timers = [];
  if (timers.length > TIMERS_LIMIT)
    throw engineError("action_invalid", `${done.actor} would have more than ${TIMERS_LIMIT} timers`, { details: { actor: done.actor } });
  const kept = new Set(timers.map((row) => row.key));
  const known = new Set(before.map((row) => row.key));
  return {
    timers,
    opened: timers.filter((row) => !known.has(row.key)),
    closed: before.filter((row) => !kept.has(row.key)).map((row) => row.key),
  };
}
