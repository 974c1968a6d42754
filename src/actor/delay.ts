/**
 * Delay: the delays of a machine, by the timers that they set.
 *
 * Owns: which timer id belongs to which name of `setup({ delays })`, and the policy that the name was given (ACT-8).
 * Guarantees: what a delay's function gives is a number of milliseconds, or its transition throws; XState would raise the event at once.
 */

import type { AnyStateMachine } from "xstate";
import type { TimerPolicy } from "./store.ts";
import { type BuiltIn, builtInName, definedIn, everyAction, nodesOf } from "./structure.ts";
import { afterEvent } from "./xstate-event.ts";

/** How a delay was declared. */
export interface DelayDeclaration {
  readonly delay: string;
  readonly policy: TimerPolicy;
}

/** The longest delay: a hundred years, in ms. */
export const DELAY_LIMIT_MS = 100 * 365 * 24 * 60 * 60 * 1000;

/** The last moment that a date can have: no timer is due after it. */
export const TIME_LIMIT_MS = 8.64e15;

/** A place that sets a timer. */
export interface SetTimer {
  readonly path: string;
  /** The timer's id; for a delayed raise without id, its event type. Undefined where neither can be known. */
  readonly key: string | undefined;
  /** As it was written: the name of a delay, or what should have been one. */
  readonly delay: unknown;
  /** As it was written; the type is undefined where only a function knows it. Undefined for an `after`. */
  readonly raise: { readonly type: unknown; readonly id: unknown } | undefined;
}

/** Every place that sets a timer. A raise that `enqueueActions` makes by itself cannot be seen. */
export function* setTimers(machine: AnyStateMachine): Generator<SetTimer> {
  for (const node of nodesOf(machine.root))
    for (const delay of Object.keys((node.config as { after?: object }).after ?? {}))
      yield { path: `${node.id}.after.${delay}`, key: afterEvent(delay, node.id), delay, raise: undefined };
  for (const { path, value } of everyAction(machine)) {
    if (builtInName(value) !== "raise") continue;
    const { delay, id, event } = value as BuiltIn;
    if (delay === undefined) continue;
    const type = (event as { type?: unknown } | null | undefined)?.type;
    const key = id ?? type;
    yield { path, key: typeof key === "string" ? key : undefined, delay, raise: { type, id } };
  }
}

/** Why this is no delay; undefined where it is one. */
export function notDelay(ms: unknown): string | undefined {
  if (typeof ms !== "number" || !(ms >= 0 && ms <= DELAY_LIMIT_MS)) return `is no number of milliseconds from 0 to ${DELAY_LIMIT_MS}`;
  return undefined;
}

/** The delays among these names that are functions, each held to give a number; for `machine.provide({ delays })`. */
export function checkedDelays(machine: AnyStateMachine, names: Iterable<string>): Record<string, (...args: any[]) => number> {
  const checked: Record<string, (...args: any[]) => number> = {};
  for (const name of names) {
    const delay = definedIn(machine, "delays", name);
    if (typeof delay !== "function") continue;
    checked[name] = (...args) => {
      const ms = delay(...args);
      const problem = notDelay(ms);
      if (problem) throw new Error(`what the delay ${name} gave ${problem}`);
      return ms;
    };
  }
  return checked;
}
