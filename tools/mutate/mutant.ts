/**
 * Mutant: a machine that lacks one thing. All mutants of a machine are found in its own config, under ids that stay the same for as long
 * as the place does: `run: boundary on handoff.commit: guard part compositionIsDurable`.
 *
 * What is deleted: a guard, and each part of one that is made of several; a target, so that its transition goes nowhere; an action; a
 * transition; a state, and with it the target of every transition that led into it, while its actions are still taken. Where the initial
 * state is deleted, the next of its siblings is the initial one.
 */

import { type AnyStateMachine, and, createMachine, or } from "xstate";
import { listOf } from "../../src/actor/structure.ts";
import { type Config, changed, dropped, type Path } from "./config.ts";

/** What a mutant can lack, in the order of the report. */
export const KINDS = ["guard", "target", "action", "transition", "state"] as const;

export type Kind = (typeof KINDS)[number];

export interface Mutant {
  readonly id: string;
  readonly machine: string;
  readonly kind: Kind;
  /** The machine's config without it. */
  readonly config: () => Config;
}

/** Microsteps of one event; a mutant that takes more never comes to rest. */
const MICROSTEPS = 1000;

/** A state of a config: where it stands, and the names on the way to it. */
interface Place {
  readonly path: Path;
  readonly names: readonly string[];
  readonly config: Config;
}

/** All mutants of a machine, in its own order. Throws where two have one id. */
export function mutantsOf({ id: machine, config }: AnyStateMachine): Mutant[] {
  const found = [...placesOf(config as Config)].flatMap((place) => [
    ...lacking(config as Config, place),
    ...(place.names.length === 0 ? [] : [withoutState(config as Config, place, machine)]),
  ]);
  const mutants = found.map(({ what, ...mutant }) => ({ ...mutant, machine, id: `${machine}: ${what}` }));
  const ids = new Set(mutants.map(({ id }) => id));
  if (ids.size < mutants.length) throw new Error(`two mutants of ${machine} have one id`);
  return mutants;
}

/** The machine with a mutant's config, and the implementations of the whole one. Throws where XState refuses it. */
export function mutatedBy({ implementations }: AnyStateMachine, config: Config): AnyStateMachine {
  const bounded = { ...config, options: { maxIterations: MICROSTEPS } };
  return createMachine(bounded as never, implementations as never) as unknown as AnyStateMachine;
}

type Found = Omit<Mutant, "id" | "machine"> & { readonly what: string };

function* placesOf(config: Config, path: Path = [], names: readonly string[] = []): Generator<Place> {
  yield { path, names, config };
  for (const [name, state] of Object.entries((config.states ?? {}) as Record<string, Config>))
    yield* placesOf(state, [...path, "states", name], [...names, name]);
}

/** What can be deleted in one state, but the states in it. */
function* lacking(whole: Config, { path, names, config }: Place): Generator<Found> {
  const state = names.join(".") || "root";
  for (const part of ["entry", "exit"]) yield* lackingActions(whole, [...path, part], `${state} ${part}`, config[part]);
  if (config.initial !== undefined) yield deletion(whole, [...path, "initial"], "target", `${state} initial`, String(config.initial));
  for (const part of ["always", "onDone"]) yield* lackingTransitions(whole, [...path, part], `${state} ${part}`, config[part]);
  for (const part of ["on", "after"])
    for (const [key, value] of Object.entries((config[part] ?? {}) as Config))
      yield* lackingTransitions(whole, [...path, part, key], `${state} ${part} ${key}`, value);
}

function* lackingTransitions(whole: Config, path: Path, where: string, value: unknown): Generator<Found> {
  const isList = Array.isArray(value);
  for (const [index, transition] of listOf(value).entries()) {
    const [at, place] = isList ? [[...path, index], `${where}[${index}]`] : [path, where];
    yield deletion(whole, at, "transition", place, "");
    if (typeof transition === "string") {
      yield { kind: "target", what: `${place}: target ${transition}`, config: () => changed(whole, at, () => ({})) };
      continue;
    }
    const { guard, target, actions } = transition as Config;
    if (guard !== undefined) yield* lackingGuards(whole, [...at, "guard"], place, guard);
    if (target !== undefined) yield deletion(whole, [...at, "target"], "target", place, String(target));
    yield* lackingActions(whole, [...at, "actions"], place, actions);
  }
}

/** The whole guard, then each part of it where it is made of several. */
function* lackingGuards(whole: Config, path: Path, place: string, guard: unknown): Generator<Found> {
  yield deletion(whole, path, "guard", place, guardName(guard));
  const { parts, combine } = combination(guard);
  for (const [index, part] of parts.entries())
    yield {
      kind: "guard",
      what: `${place}: guard part ${guardName(part)}`,
      config: () => changed(whole, path, () => combine(parts.toSpliced(index, 1))),
    };
}

function* lackingActions(whole: Config, path: Path, place: string, value: unknown): Generator<Found> {
  const names = listOf(value).map((action) => (typeof action === "string" ? action : String((action as Config).type)));
  for (const [index, name] of names.entries()) {
    const earlier = names.slice(0, index).filter((other) => other === name).length;
    const at = Array.isArray(value) ? [...path, index] : path;
    yield deletion(whole, at, "action", place, earlier === 0 ? name : `${name} (${earlier + 1})`);
  }
}

function deletion(whole: Config, path: Path, kind: Kind, place: string, name: string): Found {
  return { kind, what: `${place}: ${kind}${name && ` ${name}`}`, config: () => changed(whole, path, () => undefined) };
}

type Combine = (parts: readonly unknown[]) => unknown;

const COMBINATIONS: readonly [check: unknown, name: string, combine: Combine][] = [
  [(and([]) as any).check, "and", (parts) => and(parts as never)],
  [(or([]) as any).check, "or", (parts) => or(parts as never)],
];

/** A guard's parts, and how fewer of them make a guard again. A guard of one part has none: it is deleted whole. */
function combination(guard: unknown): { readonly name?: string; readonly parts: readonly unknown[]; readonly combine: Combine } {
  const { check, guards } = guard as { readonly check?: unknown; readonly guards?: readonly unknown[] };
  const found = COMBINATIONS.find(([of]) => of === check);
  if (!found || !guards) return { parts: [], combine: () => undefined };
  return { name: found[1], parts: guards, combine: (parts) => (parts.length === 1 ? parts[0] : found[2](parts)) };
}

function guardName(guard: unknown): string {
  if (typeof guard === "string") return guard;
  const { name, parts } = combination(guard);
  return name ? `${name}(${parts.map(guardName).join(", ")})` : String((guard as Config).type ?? "not");
}

function withoutState(whole: Config, { path, names }: Place, machine: string): Found {
  return {
    kind: "state",
    what: `state ${names.join(".")}`,
    config: () => dropped(whole, path, names, machine),
  };
}
