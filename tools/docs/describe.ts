/**
 * Describe: what a machine's transitions say, as plain data for the table and the diagram.
 *
 * Owns: reading XState's node tree and naming guards, conditions and actions for people.
 */

import type { AnyStateMachine, AnyStateNode } from "xstate";
import { arrowId } from "../../src/testing/path-trace.ts";

/** What a machine's `schemas` hold; see `MachineSchemas` in the engine. */
export interface Schemas {
  readonly input?: import("zod").ZodType;
  readonly context?: import("zod").ZodType;
  readonly events?: Readonly<Record<string, import("zod").ZodType>>;
  readonly facts?: Readonly<Record<string, import("zod").ZodType>>;
  readonly effects?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** One row of the transition table. */
export interface Row {
  readonly source: AnyStateNode;
  /** An event type in code, or a condition in words: `(always)`, `(entry)`. */
  readonly trigger: string;
  readonly guard: string;
  readonly targets: readonly AnyStateNode[];
  readonly reenter: boolean;
  readonly actions: readonly string[];
  readonly description: string | undefined;
  /** Id of the transition, as the paths of the testing kit name it; undefined for entry and exit. */
  readonly arrow?: string;
}

interface Transition {
  readonly target?: readonly AnyStateNode[];
  readonly guard?: unknown;
  readonly actions: readonly unknown[];
  readonly reenter: boolean;
  readonly description?: string;
}

/** What XState's own actions do, in our words; `about` is what could be read from the action. */
const BUILTIN: Readonly<Record<string, (about: string) => string>> = {
  "xstate.assign": () => "updates context",
  "xstate.emit": (about) => `states ${about || "a fact"}`,
  "xstate.raise": (about) => `raises ${about || "an event"}`,
  "xstate.enqueueActions": (about) => `decides whether to do ${about || "more"}`,
  "xstate.log": () => "logs",
};

/** All nodes of a machine in the order of the file, the root first. */
export function nodesOf(node: AnyStateNode): AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap((child) => nodesOf(child as AnyStateNode))];
}

/** `running.stepping`; the root is empty. */
export function pathOf(node: AnyStateNode): string {
  return node.path.join(".");
}

export function schemasOf(machine: AnyStateMachine): Schemas {
  return (machine.schemas ?? {}) as Schemas;
}

/** What a node does and takes, in the order of the file: entry, exit, events, conditions. */
export function rowsOf(machine: AnyStateMachine, node: AnyStateNode): Row[] {
  const rows: Row[] = [];
  const plain = { source: node, guard: "", targets: [], reenter: false, description: undefined };
  if (node.entry.length > 0) rows.push({ ...plain, trigger: "(entry)", actions: node.entry.map((action) => actionText(machine, action)) });
  if (node.exit.length > 0) rows.push({ ...plain, trigger: "(exit)", actions: node.exit.map((action) => actionText(machine, action)) });
  for (const [type, transitions] of node.transitions as ReadonlyMap<string, readonly Transition[]>)
    transitions.forEach((transition, index) => {
      rows.push({ ...row(machine, node, triggerText(type, node), transition), arrow: arrowId(node, type, index) });
    });
  ((node.always ?? []) as readonly Transition[]).forEach((transition, index) => {
    rows.push({ ...row(machine, node, "(always)", transition), arrow: arrowId(node, "", index) });
  });
  return rows;
}

function row(machine: AnyStateMachine, source: AnyStateNode, trigger: string, transition: Transition): Row {
  return {
    source,
    trigger,
    guard: transition.guard === undefined ? "" : guardText(transition.guard),
    targets: transition.target ?? [],
    reenter: transition.reenter,
    actions: transition.actions.map((action) => actionText(machine, action)),
    description: transition.description,
  };
}

function triggerText(type: string, node: AnyStateNode): string {
  if (type === `xstate.done.state.${node.id}`) return "(done)";
  const delayed = /^xstate\.after\.(.+?)\./.exec(type);
  if (delayed) return `(after ${delayed[1]})`;
  if (type === "*") return "(any other event)";
  return type;
}

/** A guard's name; combined guards are written as they are combined. */
export function guardText(guard: unknown): string {
  if (typeof guard === "string") return guard;
  if (typeof guard === "function") {
    const parts = (guard as { guards?: readonly unknown[] }).guards;
    if (!parts) return guard.name || "(unnamed)";
    return `${guard.name}(${parts.map(guardText).join(", ")})`;
  }
  const { type, params } = guard as { type?: string; params?: unknown };
  return `${type ?? "(unnamed)"}${staticParams(params)}`;
}

/** An action in words: the name of a named action in code, what a built-in does otherwise. */
export function actionText(machine: AnyStateMachine, action: unknown): string {
  if (typeof action === "function") return builtinText(machine, action) ?? "(unnamed)";
  const { type, params } =
    typeof action === "string" ? { type: action, params: undefined } : (action as { type: string; params?: unknown });
  if (schemasOf(machine).effects?.[type]) return `effect \`${type}\``;
  const about = mentioned(params);
  if (type === "deliver") return `delivers ${about || "an event"}`;
  if (type === "createActor") return `creates ${readCreated(params)}`;
  if (type === "cancelEffect" || type === "abortEffect") {
    const effect = (params as { effect?: string } | undefined)?.effect;
    return `${type === "cancelEffect" ? "cancels" : "aborts"} ${effect === undefined ? "an effect" : `effect \`${effect}\``}`;
  }
  return `\`${type}${staticParams(params)}\``;
}

/** What a named action of `setup({ actions })` does, in words. */
export function implementationText(machine: AnyStateMachine, name: string): string {
  if (schemasOf(machine).effects?.[name]) return "requests the effect";
  const implementation = (machine.implementations.actions as Record<string, unknown>)[name];
  const text = typeof implementation === "function" ? builtinText(machine, implementation) : undefined;
  return text?.replace(/^decides whether to do (?=`)/, "may state ") ?? "done by the engine";
}

function builtinText(machine: AnyStateMachine, action: object): string | undefined {
  const parts = action as { type?: string; event?: unknown; collect?: unknown };
  if (!parts.type) return undefined;
  // An emit's source names the events that it reads as well; what it states is among the machine's facts.
  const facts = Object.keys(schemasOf(machine).facts ?? {});
  const stated = parts.type === "xstate.raise" ? undefined : facts;
  return BUILTIN[parts.type]?.(mentioned(parts.event ?? parts.collect, stated)) ?? parts.type;
}

/**
 * Facts, events and actions that a value names. A value may be a function of context and event: nothing is called, its source is
 * searched for names of the form `noun.past`.
 */
function mentioned(value: unknown, among?: readonly string[]): string {
  if (value === undefined) return "";
  const source =
    typeof value === "function"
      ? value.toString()
      : JSON.stringify(value, (_, part) => (typeof part === "function" ? part.toString() : part));
  const literals = new Set([...(source ?? "").matchAll(/\\?["'`]([a-z]+(?:\.[a-z]+)+)\\?["'`]/g)].map((match) => match[1] as string));
  return [...literals]
    .filter((name) => among === undefined || among.includes(name))
    .map((name) => `\`${name}\``)
    .join(", ");
}

function readCreated(params: unknown): string {
  const source = typeof params === "function" ? params.toString() : JSON.stringify(params ?? {});
  const found = /\bmachine"?:\s*"([a-z-]+)"/.exec(source);
  return found ? `a \`${found[1]}\` actor` : "an actor";
}

function staticParams(params: unknown): string {
  if (params === undefined || typeof params === "function") return "";
  return `(${JSON.stringify(params)})`;
}
