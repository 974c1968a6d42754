/**
 * Structure: a machine's definition, walked: its state nodes, and the transitions, actions, guards and invocations in them, each with
 * its place.
 *
 * It reads `config`, which is what the machine's author wrote, and not what XState made of it.
 */

import type { AnyStateMachine, AnyStateNode } from "xstate";

/** A place in a definition, and what stands there. */
export interface Placed<Value = unknown> {
  /** `<state node id>.entry`, `<state node id>.on.<event type>`, … */
  readonly path: string;
  readonly node: AnyStateNode;
  readonly value: Value;
}

/** The parts of a built-in action or guard that a definition can show: what its maker was called with. */
export interface BuiltIn {
  readonly type?: string;
  readonly [part: string]: unknown;
}

/** How the types of XState's own actions start. */
const PREFIX = "xstate.";

/** The name of one of XState's own actions, such as `assign`; undefined for everything else. */
export function builtInName(action: unknown): string | undefined {
  const type = typeof action === "function" ? (action as unknown as BuiltIn).type : undefined;
  return typeof type === "string" && type.startsWith(PREFIX) ? type.slice(PREFIX.length) : undefined;
}

/** The name by which an action or guard is referred to; undefined where it stands there itself. */
export function nameOf(reference: unknown): string | undefined {
  if (typeof reference === "string") return reference;
  const type = typeof reference === "object" && reference !== null ? (reference as BuiltIn).type : undefined;
  return typeof type === "string" ? type : undefined;
}

/** What `setup()` defines under this name. */
export function definedIn(machine: AnyStateMachine, part: "actions" | "guards" | "delays" | "actors", name: string): unknown {
  const defined = machine.implementations[part] as Readonly<Record<string, unknown>>;
  return Object.hasOwn(defined, name) ? defined[name] : undefined;
}

/** What one field of XState's configuration holds, which takes one thing or a list. */
export function listOf(value: unknown): any[] {
  return value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
}

/** A state node and all nodes in it, in document order. */
export function* nodesOf(node: AnyStateNode): Generator<AnyStateNode> {
  yield node;
  for (const child of Object.values(node.states)) yield* nodesOf(child as AnyStateNode);
}

/** What a state node invokes, as it was written. */
export function invocationsOf(node: AnyStateNode): Placed<Record<string, any>>[] {
  const { invoke } = node.config as { invoke?: unknown };
  return listOf(invoke).map((value, index) => ({
    path: `${node.id}.invoke${Array.isArray(invoke) ? `.${index}` : ""}`,
    node,
    value,
  }));
}

/** The transitions of a state node that are more than a target. */
function* transitionsOf(node: AnyStateNode): Generator<Placed<Record<string, any>>> {
  const config = node.config as Record<string, any>;
  const groups: [string, unknown][] = [
    [`${node.id}.always`, config.always],
    [`${node.id}.onDone`, config.onDone],
    [`${node.id}.initial`, config.initial],
  ];
  for (const [type, value] of Object.entries(config.on ?? {})) groups.push([`${node.id}.on.${type}`, value]);
  for (const [delay, value] of Object.entries(config.after ?? {})) groups.push([`${node.id}.after.${delay}`, value]);
  for (const { path, value } of invocationsOf(node))
    for (const part of ["onDone", "onError", "onSnapshot"]) groups.push([`${path}.${part}`, value[part]]);
  for (const [path, value] of groups)
    for (const item of listOf(value)) if (typeof item === "object" && item !== null) yield { path, node, value: item };
}

/** The actions of a state node, of its entry and exit, then of its transitions. */
export function* actionsOf(node: AnyStateNode): Generator<Placed> {
  const config = node.config as Record<string, any>;
  for (const part of ["entry", "exit"] as const)
    for (const value of listOf(config[part])) yield { path: `${node.id}.${part}`, node, value };
  for (const { path, value } of transitionsOf(node)) for (const action of listOf(value.actions)) yield { path, node, value: action };
}

/** The guards of a state node's transitions. */
export function* guardsOf(node: AnyStateNode): Generator<Placed> {
  for (const { path, value } of transitionsOf(node)) if (value.guard !== undefined) yield { path, node, value: value.guard };
}

/** All of a machine's actions: those in its states, then the ones that `setup()` defines and `enqueueActions` may name. */
export function* everyAction(machine: AnyStateMachine): Generator<Placed> {
  for (const node of nodesOf(machine.root)) yield* actionsOf(node);
  for (const [name, value] of Object.entries(machine.implementations.actions))
    yield { path: `setup.actions.${name}`, node: machine.root, value };
}
