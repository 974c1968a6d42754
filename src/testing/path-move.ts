/** Moves: what can happen to one durable actor, and which of it can happen now. */

import type { AnyStateMachine } from "xstate";
import { outcomesOf } from "../actor/action.ts";
import type { Json } from "../actor/json.ts";
import type { Registration } from "../actor/registration.ts";
import type { EffectRow } from "../actor/store.ts";
import { builtInName, everyAction } from "../actor/structure.ts";
import type { ModelState } from "./path-state.ts";
import type { Told, Variant } from "./path-variant.ts";

/** What an effect comes to. */
export type Outcome =
  | { readonly kind: "done"; readonly output: Json }
  | { readonly kind: "failed"; readonly error: { readonly code: string; readonly message: string } }
  | { readonly kind: "aborted" }
  | { readonly kind: "unknown" };

/** One thing that happens to an actor. `variant`: which one of several payloads its event has, as names of paths show it. */
export type Move =
  /** Somebody outside sends an event. */
  | { readonly kind: "send"; readonly event: Variant; readonly variant?: string }
  /** The handler of an effect comes to this. `raced`: in one commit with the move before it, which asked the handler to stop. */
  | {
      readonly kind: "outcome";
      readonly effect: string;
      readonly nth: number;
      readonly outcome: Outcome;
      readonly variant?: string;
      readonly raced?: true;
    }
  /** Time passes until the first timer is due. */
  | { readonly kind: "timer" }
  /** The process ends, and another one opens the store. */
  | { readonly kind: "restart" }
  /** An actor that this one supervises is set aside, or taken back. */
  | { readonly kind: "aside" | "back"; readonly actor: string };

const SCRIPTED = { code: "effect_failed", message: "the path says so" };

/** Event types that the engine makes by itself for a machine that has them. */
const MADE = ["engine.reopened", "effect.unknown"];

/** Everything that can happen to an actor in a state; what the engine refuses anyway is left out. */
export function movesOf(registration: Registration, state: ModelState, variants: readonly Told[]): Move[] {
  if (state.snapshot.status !== "active") return [];
  const { events } = registration.schemas;
  const moves: Move[] = [];
  for (const one of variants) if (isSent(registration, one.event.type)) moves.push({ kind: "send", ...one });
  const seen = new Map<string, number>();
  for (const row of state.effects) {
    const nth = seen.get(row.name) ?? 0;
    seen.set(row.name, nth + 1);
    for (const { outcome, ...which } of outcomes(registration, state, row, variants)) {
      // A handler that was asked to stop fails only where it had failed before it was asked.
      const isRaced = outcome.kind === "failed" && state.aborting.has(row.key);
      if (isRaced && !state.abortedNow.has(row.key)) continue;
      moves.push({ kind: "outcome", effect: row.name, nth, outcome, ...which, ...(isRaced ? { raced: true as const } : {}) });
    }
  }
  if (state.timers.length > 0) moves.push({ kind: "timer" });
  if (events["engine.reopened"]) moves.push({ kind: "restart" });
  for (const actor of supervised(variants)) if (!state.aside.has(actor)) moves.push({ kind: "aside", actor });
  if (events["engine.released"]) for (const actor of state.aside) moves.push({ kind: "back", actor });
  return moves;
}

/** The actors that may be set aside. */
function supervised(variants: readonly Told[]): Set<string> {
  const events = variants.map(({ event }) => event as Variant & { readonly actor?: string });
  return new Set(events.flatMap(({ type, actor }) => (type === "engine.quarantined" && actor !== undefined ? [actor] : [])));
}

/** True where an event of this type comes from outside. */
function isSent(registration: Registration, type: string): boolean {
  return !registration.reserved.has(type) && !/^(xstate|engine|effect)\./.test(type);
}

/** An outcome, and which variant it is. */
interface Come {
  readonly outcome: Outcome;
  readonly variant?: string;
}

function outcomes(registration: Registration, state: ModelState, row: EffectRow, variants: readonly Told[]): Come[] {
  if (row.state !== "open") return [];
  const { done, failed, aborted } = outcomesOf(registration, row);
  const found: Come[] = [];
  const given = (type: string | undefined) => variants.filter(({ event }) => event.type === type);
  if (done !== undefined)
    for (const { event, ...which } of given(done))
      found.push({ outcome: { kind: "done", output: (event.output ?? null) as Json }, ...which });
  if (failed !== undefined) {
    const errors = given(failed).map(({ event, ...which }) => ({ error: asThrown(event.error), ...which }));
    for (const { error, ...which } of errors.length > 0 ? errors : [{ error: SCRIPTED }])
      found.push({ outcome: { kind: "failed", error }, ...which });
  }
  if (aborted !== undefined && state.aborting.has(row.key)) found.push({ outcome: { kind: "aborted" } });
  const isOnce = registration.effects.get(row.name)?.delivery === "at_most_once";
  if (isOnce && registration.schemas.events["effect.unknown"]) found.push({ outcome: { kind: "unknown" } });
  return found;
}

/** All that the engine tells of an error. */
function asThrown(error: unknown): typeof SCRIPTED {
  const { code, message } = (error ?? SCRIPTED) as typeof SCRIPTED;
  return { code, message };
}

/**
 * Event types of a machine that nothing in a path can bring about: no variant is given, neither the engine nor the machine makes them, and
 * none was `seen`.
 */
export function withoutWay(registration: Registration, variants: readonly Variant[], seen: ReadonlySet<string>): string[] {
  const { schemas, effects, invocations, source } = registration;
  const given = new Set(variants.map(({ type }) => type));
  const made = new Set([...MADE, ...raised(source), ...seen]);
  for (const { failed, aborted } of effects.values()) for (const type of [failed, aborted]) if (type !== undefined) made.add(type);
  if (given.has("engine.quarantined")) made.add("engine.released");
  const wanted = [...Object.keys(schemas.events), ...[...invocations.values()].flatMap(({ done }) => done ?? [])];
  return wanted.filter((type) => !given.has(type) && !made.has(type));
}

/** Event types that a machine raises by itself, at once or after a delay, where its definition shows them. */
function raised(machine: AnyStateMachine): string[] {
  return [...everyAction(machine)].flatMap(({ value }) => {
    const { event } = (typeof value === "function" ? value : {}) as { event?: { type?: unknown } };
    return builtInName(value) === "raise" && typeof event?.type === "string" ? [event.type] : [];
  });
}

/** Variants of types that the machine does not have. */
export function unknownVariants(registration: Registration, variants: readonly Variant[]): string[] {
  const known = new Set([...Object.keys(registration.schemas.events), ...registration.reserved]);
  for (const { done, failed } of registration.invocations.values()) for (const type of [done, failed]) if (type) known.add(type);
  return [...new Set(variants.map(({ type }) => type))].filter((type) => !known.has(type));
}

/** A move for people, unlike that of any other move: the event's type, where it comes from, and which of its payloads it has. */
export function moveText(move: Move): string {
  switch (move.kind) {
    case "send":
      return `${move.event.type}${which(move)}`;
    case "outcome": {
      const effect = move.nth === 0 ? move.effect : `${move.effect} (${move.nth + 1} of its name)`;
      return `${effect} ${move.outcome.kind}${which(move)}${move.raced ? " (raced)" : ""}`;
    }
    case "timer":
      return "(time)";
    case "restart":
      return "(restart)";
    default:
      return `${move.actor} ${move.kind}`;
  }
}

const which = ({ variant }: { readonly variant?: string }): string => (variant === undefined ? "" : ` ${variant}`);
