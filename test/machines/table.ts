/** Rows of a machine's transition table, taken by the engine's own pure transition; and what all rows together must have covered. */

import { type AnyMachineSnapshot, type AnyStateMachine, type AnyStateNode, createActor } from "xstate";
import type { Json } from "../../src/actor/json.ts";
import { type Registration, register } from "../../src/actor/registration.ts";
import { dehydrate, hydrate, isFinal, type Outcome, type Request, refusalOf, start, stateName, take } from "../../src/actor/transition.ts";

export interface Event {
  readonly type: string;
  readonly [key: string]: Json;
}

/** How a machine came to where a row begins: its input and the events since. */
export interface Situation {
  readonly input: { readonly [key: string]: Json };
  readonly events: readonly Event[];
}

/** Where a row begins with the making of its actor. */
export const CREATION: Event = { type: "(creation)" };

export interface Row {
  readonly given: string;
  readonly when: Event;
  /** The state after; `ignored`, or `ignored: <code>` where the machine says why. */
  readonly to: string;
  /** Types of the facts, in order; absent: none. */
  readonly facts?: readonly string[];
  /** Requests in short, in order; absent: none. */
  readonly requests?: readonly string[];
  /** Part of the context after. */
  readonly context?: { readonly [key: string]: unknown };
}

const enclose = <T>(transition: () => T): T => transition();

export class Table {
  readonly registration: Registration;
  readonly machine: AnyStateMachine;
  readonly situations: Readonly<Record<string, Situation>>;
  readonly #reached = new Map<string, { snapshot: AnyMachineSnapshot; seq: number }>();

  constructor(machine: AnyStateMachine, situations: Readonly<Record<string, Situation>>) {
    this.machine = machine;
    this.registration = register(machine);
    this.situations = situations;
  }

  /** The snapshot of a situation, stored and read again after each event, as the engine may do. */
  at(name: string): AnyMachineSnapshot {
    return this.#reach(name).snapshot;
  }

  create(name: string): Outcome {
    return start(this.registration, this.#situation(name).input, stamp(1), enclose);
  }

  take(name: string, event: Event): Outcome {
    const { snapshot, seq } = this.#reach(name);
    return take(this.registration, snapshot, event, stamp(seq + 1), enclose);
  }

  /** What a row says, as found. */
  found({ given, when, context = {} }: Row): Omit<Row, "given" | "when"> {
    const outcome = when === CREATION ? this.create(given) : this.take(given, when);
    if (!outcome.taken) {
      const reason = refusalOf(this.registration, this.at(given), when, enclose);
      return { to: reason === undefined ? "ignored" : `ignored: ${reason}`, facts: [], requests: [], context: {} };
    }
    const after = outcome.snapshot.context as Record<string, unknown>;
    return {
      to: stateName(outcome.snapshot.value),
      facts: outcome.facts.map((fact) => fact.type),
      requests: outcome.requests.map(short),
      context: Object.fromEntries(Object.keys(context).map((key) => [key, after[key]])),
    };
  }

  /** Transitions of the machine that no row takes; those on the way to a row are asserted by none. */
  untaken(rows: readonly Row[]): string[] {
    const seen = new Set<object>();
    this.#play(rows, this.machine, { isRow: false }, (transitions) => {
      for (const transition of transitions) seen.add(transition);
    });
    return nodesOf(this.machine.root).flatMap((node) =>
      [...[...node.transitions.values()].flat(), ...(node.always ?? [])]
        .filter((transition) => !seen.has(transition))
        .map(({ eventType, guard, target }) => `${node.id}: ${eventType} [${guardName(guard)}] -> ${target?.map(({ id }) => id)}`),
    );
  }

  /** Guards that give only one answer over all rows; what they say on the way to a row is asserted by none. */
  halfTested(rows: readonly Row[]): string[] {
    const answers = new Map<string, Set<boolean>>();
    const guards = this.machine.implementations.guards as Record<string, (...args: any[]) => boolean>;
    const now = { isRow: false };
    const watched = Object.fromEntries(
      Object.entries(guards).map(([name, guard]) => [
        name,
        (...args: any[]) => {
          const answer = guard(...args);
          if (now.isRow) answers.set(name, (answers.get(name) ?? new Set()).add(answer));
          return answer;
        },
      ]),
    );
    this.#play(rows, this.machine.provide({ guards: watched } as never), now);
    return Object.keys(guards).filter((name) => answers.get(name)?.size !== 2);
  }

  /** States in which an actor can rest, and every situation that is in each. */
  get resting(): Map<string, string[]> {
    const found = new Map<string, string[]>();
    for (const name of Object.keys(this.situations)) {
      const snapshot = this.at(name);
      if (isFinal(snapshot)) continue;
      const state = stateName(snapshot.value);
      found.set(state, [...(found.get(state) ?? []), name]);
    }
    return found;
  }

  /** States in which rows begin. */
  begun(rows: readonly Row[]): string[] {
    const begins = new Set(rows.filter(({ when }) => when !== CREATION).map(({ given }) => given));
    return [...this.resting].flatMap(([state, names]) => (names.some((name) => begins.has(name)) ? [state] : []));
  }

  /** Plays every row in an actor of XState. `now` says whether the row's own event is at hand; `took` is told what that one takes. */
  #play(
    rows: readonly Row[],
    machine: AnyStateMachine,
    now: { isRow: boolean },
    took: (transitions: readonly object[]) => void = () => {},
  ): void {
    for (const { given, when } of rows) {
      const { input, events } = this.#situation(given);
      if (when === CREATION && events.length > 0) throw new Error(`${given} is more than a creation`);
      now.isRow = when === CREATION;
      const actor = createActor(machine, {
        input,
        inspect: (inspected) => {
          if (now.isRow && inspected.type === "@xstate.microstep") took(inspected._transitions);
        },
      });
      actor.start();
      if (when === CREATION) continue;
      for (const event of events) actor.send(event);
      now.isRow = true;
      actor.send(when);
    }
  }

  #situation(name: string): Situation {
    const situation = this.situations[name];
    if (!situation) throw new Error(`there is no situation ${name}`);
    return situation;
  }

  #reach(name: string): { snapshot: AnyMachineSnapshot; seq: number } {
    const known = this.#reached.get(name);
    if (known) return known;
    let { snapshot } = this.create(name);
    let seq = 1;
    for (const event of this.#situation(name).events) {
      const outcome = take(this.registration, snapshot, event, stamp(++seq), enclose);
      if (!outcome.taken) throw new Error(`${name}: ${event.type} is not taken in ${stateName(snapshot.value)}`);
      snapshot = hydrate(this.registration, dehydrate(this.registration, outcome.snapshot));
    }
    const reached = { snapshot, seq };
    this.#reached.set(name, reached);
    return reached;
  }
}

const stamp = (seq: number) => ({ at: 1_700_000_000_000 + seq, seq, id: `actor:${seq}` });

export function short(request: Request): string {
  switch (request.type) {
    case "effect":
      return Object.keys(request.params as object).length === 0 ? request.name : `${request.name} ${JSON.stringify(request.params)}`;
    case "deliver":
      return `${request.to} ! ${request.event.type}`;
    case "create":
      return `create ${request.machine}/${request.id} [${request.keys.join(", ")}]`;
    case "timer":
      return `timer ${request.id || request.event.type}`;
    case "cancelTimer":
      return `cancelTimer ${request.id}`;
    default:
      return `${request.type} ${request.effect}`;
  }
}

export function nodesOf(node: AnyStateNode): AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap((child) => nodesOf(child as AnyStateNode))];
}

/** Leaves that are neither final nor left at once. */
export function restingStates(machine: AnyStateMachine): string[] {
  return nodesOf(machine.root)
    .filter((node) => node.type === "atomic" && !(node.always ?? []).some((transition) => transition.guard === undefined))
    .map((node) => node.path.join("."))
    .sort();
}

function guardName(guard: unknown): string {
  if (guard === undefined) return "";
  if (typeof guard === "string") return guard;
  return (guard as { type?: string }).type ?? (guard as { name?: string }).name ?? "and";
}

/** Functions in a machine's config that are neither XState's own nor the params of a named action. */
export function inlineFunctions(machine: AnyStateMachine): string[] {
  const found: string[] = [];
  const look = (value: unknown, path: string): void => {
    if (typeof value === "function") {
      const { type } = value as { type?: string };
      const own = type?.startsWith("xstate.") || "check" in value;
      if (!own && !path.endsWith(".params") && path !== ".context") found.push(path);
    } else if (value && typeof value === "object") for (const [key, child] of Object.entries(value)) look(child, `${path}.${key}`);
  };
  const { schemas: _, ...config } = machine.config as Record<string, unknown>;
  look(config, "");
  return found;
}
