/**
 * Invocation: promise logic that a state invokes, made an effect.
 *
 * Owns: telling promise logic from all other logic; the logic that stands in for it while transitions are computed; its handler.
 * Guarantees: what stands in does nothing, and is the same after its way through JSON. The promise is created by a handler, after
 * the commit that asked for it (ACT-1).
 */

import type { AnyActorLogic, AnyStateMachine, AnyStateNode } from "xstate";
import { engineError } from "./error.ts";
import type { EffectHandler } from "./handler.ts";
import { definedIn, invocationsOf, nodesOf } from "./structure.ts";
import { doneEvent, errorEvent, PROMISE_KEPT } from "./xstate-event.ts";

/** Promise logic that a state invokes, by the id of the child that it would be. */
export interface Invocation {
  /** Name of the logic in `setup({ actors })`; the name of its effect. */
  readonly src: string;
  /** Id of the invoking state node. */
  readonly node: string;
  /** Event types of its outcome; `failed` absent where the machine has no transition for it. */
  readonly done: string;
  readonly failed?: string;
}

/** Kinds of logic that XState makes. */
export type LogicKind = "promise" | "machine" | "transition" | "callback" | "observable" | "unknown";

/**
 * What kind of logic this is. XState puts no mark on it: a machine has states, `fromTransition` gives nothing to start, and of the
 * others only promise logic is done when it is told that its promise is. None of these questions runs the author's code.
 */
export function kindOfLogic(logic: unknown): LogicKind {
  const { transition, start, config, root } = (logic ?? {}) as Record<string, unknown>;
  if (typeof transition !== "function") return "unknown";
  if (typeof root === "object" && root !== null) return "machine";
  if (typeof config !== "function") return "unknown";
  if (typeof start !== "function") return "transition";
  const probe = {};
  try {
    const after = transition({ status: "active" }, { type: PROMISE_KEPT, data: probe }, { self: {} });
    if (after?.status === "done" && after.output === probe) return "promise";
  } catch {
    // Callback logic looks for what its start has left, and there was none.
    return "callback";
  }
  const initial = (logic as { getInitialSnapshot?: (scope: unknown, input: unknown) => unknown }).getInitialSnapshot?.({}, undefined);
  return typeof initial === "object" && initial !== null && "_subscription" in initial ? "observable" : "unknown";
}

/** Name of promise logic → where it is invoked. Invocations that cannot be made durable are left out. */
export function invokedLogic(machine: AnyStateMachine): Map<string, InvokedLogic[]> {
  const invoked = new Map<string, InvokedLogic[]>();
  for (const node of nodesOf(machine.root))
    for (const [index, { path, value }] of invocationsOf(node).entries()) {
      const { src } = value ?? {};
      const id = (node.invoke as { id: unknown }[])[index]?.id;
      if (typeof src !== "string" || typeof id !== "string" || kindOfLogic(definedIn(machine, "actors", src)) !== "promise") continue;
      invoked.set(src, [...(invoked.get(src) ?? []), { path, node, id, input: value.input }]);
    }
  return invoked;
}

/** One place where promise logic is invoked. */
export interface InvokedLogic {
  readonly path: string;
  readonly node: AnyStateNode;
  readonly id: string;
  readonly input: unknown;
}

/** By child id. */
export function invocationsByChild(
  machine: AnyStateMachine,
  invoked: ReadonlyMap<string, readonly InvokedLogic[]>,
): Map<string, Invocation> {
  const found = new Map<string, Invocation>();
  for (const [src, places] of invoked)
    for (const { node, id } of places) {
      const failed = errorEvent(id);
      const takesFailure = [...nodesOf(machine.root)].some((other) => takes(other, failed, isAround(node, other)));
      found.set(id, { src, node: node.id, done: doneEvent(id), ...(takesFailure ? { failed } : {}) });
    }
  return found;
}

/** True where one node is in the other, so that both can be active at once whatever else is. */
function isAround(node: AnyStateNode, other: AnyStateNode): boolean {
  const begins = (path: readonly string[], longer: readonly string[]) => path.every((key, index) => longer[index] === key);
  return begins(node.path, other.path) || begins(other.path, node.path);
}

/** True where a node has a transition for this event. Elsewhere in the machine only its very name counts, for `*` is not about it. */
function takes(node: AnyStateNode, type: string, withPatterns: boolean): boolean {
  return [...node.transitions.keys()].some((descriptor) => {
    if (descriptor === type) return true;
    return withPatterns && (descriptor === "*" || (descriptor.endsWith(".*") && `${type}.`.startsWith(descriptor.slice(0, -1))));
  });
}

/** What stands in for promise logic: a child that is there, and nothing more. */
const inert = {
  transition: (snapshot: unknown) => snapshot,
  getInitialSnapshot: () => ({ status: "active", output: undefined, error: undefined }),
  getPersistedSnapshot: () => ({ status: "active" }),
  restoreSnapshot: () => ({ status: "active", output: undefined, error: undefined }),
} as unknown as AnyActorLogic;

/** Stand-ins by name, for `machine.provide({ actors })`. */
export function standIns(names: Iterable<string>): Record<string, AnyActorLogic> {
  return Object.fromEntries([...names].map((name) => [name, inert]));
}

/** Handlers by name: each creates the promise of its logic. */
export function promiseHandlers(
  machine: AnyStateMachine,
  invoked: ReadonlyMap<string, readonly InvokedLogic[]>,
): Record<string, EffectHandler> {
  return Object.fromEntries(
    [...invoked].map(([name, places]) => {
      const { config: create } = definedIn(machine, "actors", name) as { config: (given: object) => unknown };
      const hasInput = places.some(({ input }) => input !== undefined);
      const live = { self: absent(name, "self"), system: absent(name, "system"), emit: absent(name, "emit") };
      const handler: EffectHandler = async ({ params, signal }) => create({ input: hasInput ? params : undefined, signal, ...live });
      return [name, handler];
    }),
  );
}

/** Stands where XState hands promise logic a live actor. Says so when it is used. */
function absent(name: string, part: string): unknown {
  const refuse = () => {
    throw engineError(
      "action_invalid",
      `the promise logic ${name} uses ${part}, which is a live actor's: give what it needs as its input, and return what it finds`,
    );
  };
  return new Proxy(refuse, { get: refuse, set: refuse, has: refuse, apply: refuse });
}
