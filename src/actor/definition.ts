/**
 * Definition: a digest of what a machine is, to tell two machines of one version apart.
 *
 * It covers structure and names: states, transitions, targets, static params, tags, the static parts of what `setup()` defines under
 * the names that are used, what effects declare, and policies of delays. Functions and schemas count as present, never by their text,
 * which differs between builds. Left out: `description` and `meta`, for a corrected comment is no change; what `log` writes; limits of
 * effects, which are tuned; `version`, so that an upgrade can be seen to have changed nothing else.
 * The order of keys does not matter, except where XState goes by it: the regions of a parallel state. The order of lists does.
 */

import { type AnyStateMachine, type AnyStateNode, and, not, or, stateIn } from "xstate";
import type { MachineSchemas } from "./declaration.ts";
import { kindOfLogic } from "./invocation.ts";
import { canonical, JSON_DEPTH, sha256 } from "./json.ts";
import { type BuiltIn, builtInName, definedIn, invocationsOf, listOf, nameOf } from "./structure.ts";

/** SHA-256 of a machine's definition, in lower-case hex. */
export function definitionOf(machine: AnyStateMachine): string {
  return sha256(canonical(plain(new Reading(machine).machine())));
}

/** Stands for a function: that there is one can be told, and not what it does. */
const FUNCTION = { $: "function" };

/** What XState's combined guards are known by; the names of its functions may not survive a bundler. */
const COMBINATIONS: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.entries({ and: and([]), or: or([]), not: not(""), stateIn: stateIn("") }).map(([name, guard]) => [name, (guard as any).check]),
);

/** One reading of a machine, which notes the names that it comes across. */
class Reading {
  readonly #machine: AnyStateMachine;
  readonly #used = { actions: new Set<string>(), guards: new Set<string>(), delays: new Set<string>(), actors: new Set<string>() };

  constructor(machine: AnyStateMachine) {
    this.#machine = machine;
  }

  machine(): object {
    const { root, implementations, schemas } = this.#machine;
    const { effects = {}, delays: policies = {} } = (schemas ?? {}) as MachineSchemas;
    const structure = this.#node(root);
    // A delayed raise is known by its definition alone, so it counts as used (see delay.ts).
    for (const [name, action] of Object.entries(implementations.actions))
      if ((action as unknown as BuiltIn).delay !== undefined) this.#used.actions.add(name);
    const actions = this.#definitions("actions", (action) => this.#action(action));
    const guards = this.#definitions("guards", (guard) => this.#guard(guard));
    return {
      structure,
      context: (root.config as { context?: unknown }).context,
      actions,
      guards,
      delays: this.#definitions("delays", (delay) => delay),
      actors: this.#definitions("actors", kindOfLogic),
      effects: Object.fromEntries(
        Object.entries(effects).map(([name, { done, failed, aborted, delivery }]) => [name, { done, failed, aborted, delivery }]),
      ),
      policies,
    };
  }

  /** What `setup()` defines under the names that are used; telling of one may use more of them. */
  #definitions(part: "actions" | "guards" | "delays" | "actors", tell: (defined: unknown) => unknown): object {
    const told: Record<string, unknown> = {};
    for (const name of this.#used[part]) {
      const defined = definedIn(this.#machine, part, name);
      if (defined !== undefined) told[name] = tell(defined);
    }
    return told;
  }

  #node(node: AnyStateNode): object {
    const config = node.config as Record<string, any>;
    for (const delay of Object.keys(config.after ?? {})) this.#used.delays.add(delay);
    const states = Object.entries(node.states).map(([key, child]) => [key, this.#node(child as AnyStateNode)]);
    return {
      id: node.id,
      type: node.type,
      history: node.history,
      target: config.target === undefined ? undefined : listOf(config.target),
      initial: this.#transitions(config.initial),
      states: node.type === "parallel" ? states : Object.fromEntries(states),
      entry: listOf(config.entry).map((action) => this.#action(action)),
      exit: listOf(config.exit).map((action) => this.#action(action)),
      on: this.#byKey(config.on),
      after: this.#byKey(config.after),
      always: this.#transitions(config.always),
      onDone: this.#transitions(config.onDone),
      invoke: invocationsOf(node).map(({ value }, index) => this.#invocation(node, index, value)),
      output: config.output,
      tags: node.tags,
    };
  }

  #invocation(node: AnyStateNode, index: number, { src, input, onDone, onError }: Record<string, unknown>): object {
    if (typeof src === "string") this.#used.actors.add(src);
    const { id } = node.invoke[index] as { id: unknown };
    return { src, id, input, onDone: this.#transitions(onDone), onError: this.#transitions(onError) };
  }

  #byKey(transitions: Record<string, unknown> = {}): object {
    return Object.fromEntries(Object.entries(transitions).map(([key, value]) => [key, this.#transitions(value) ?? []]));
  }

  #transitions(value: unknown): object[] | undefined {
    if (value === undefined) return undefined;
    return listOf(value).map((transition) => {
      const { target, guard, actions, reenter } = typeof transition === "string" ? ({ target: transition } as any) : transition;
      return {
        target: target === undefined ? undefined : listOf(target),
        guard: guard === undefined ? undefined : this.#guard(guard),
        actions: listOf(actions).map((action) => this.#action(action)),
        reenter: reenter ?? false,
      };
    });
  }

  #action(action: unknown): unknown {
    const name = nameOf(action);
    if (name !== undefined) {
      this.#used.actions.add(name);
      return { name, params: (action as BuiltIn).params };
    }
    const type = builtInName(action);
    if (type === undefined) return FUNCTION;
    const { assignment, event, id, delay, sendId } = action as unknown as BuiltIn;
    if (typeof delay === "string") this.#used.delays.add(delay);
    return { type, assignment, event, id, delay, sendId };
  }

  #guard(guard: unknown): unknown {
    const name = nameOf(guard);
    if (name !== undefined) {
      this.#used.guards.add(name);
      return { name, params: (guard as BuiltIn).params };
    }
    const { check, guards, stateValue } = guard as { check?: unknown; guards?: unknown; stateValue?: unknown };
    const kind = Object.keys(COMBINATIONS).find((name) => COMBINATIONS[name] === check);
    if (kind === undefined) return FUNCTION;
    return { kind, guards: listOf(guards).map((part) => this.#guard(part)), stateValue };
  }
}

/** As plain JSON: functions are marked as such, what JSON has no form for by its kind. */
function plain(value: unknown, depth = 0): unknown {
  if (typeof value === "function") return FUNCTION;
  if (typeof value === "number" && !Number.isFinite(value)) return { $: String(value) };
  if (typeof value === "bigint" || typeof value === "symbol") return { $: typeof value };
  if (typeof value !== "object" || value === null) return value;
  // What refers to itself is refused elsewhere, at run time; here it must only come to an end.
  if (depth === 4 * JSON_DEPTH) return { $: "deep" };
  if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1) ?? null);
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return { $: "object" };
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item, depth + 1)]));
}
