/**
 * The whole protocol: everything that may happen to a turn, in every order, as a graph of the composed model. Each of its edges has its
 * shortest prefix, so that a path can end in it.
 */

import { adjacencyMapToArray, getAdjacencyMap } from "@xstate/graph";
import { fromTransition } from "xstate";
import { actorsOf, BEGINNING, type Happening, happen, hasEnded, type Model, type PathStep, possible, statesOf } from "../model.ts";
import { HANDOFF, SESSION, TURN } from "../turn.ts";

/** Everything that may happen now: what the person and the backend may do, a signal, and the end of the process. */
export function anything(model: Model): Happening[] {
  if (!(`session/${SESSION.id}` in statesOf(model))) return possible(model);
  return [
    ...possible(model),
    ...(model.isSignalled ? ([{ type: "abort" }] as const) : []),
    { type: "restart", how: "closed" },
    { type: "restart", how: "killed" },
  ];
}

/** Two states with the same key are the same: all that decides what may happen next is in it, and nothing of how it came to it. */
export const keyOf = (model: Model): string => JSON.stringify([model.decision, model.sealIsLost, model.isSignalled, actorsOf(model)]);

/** An edge, as the path that ends with it. */
export type Path = readonly PathStep[];

/** What there is. */
export interface Protocol {
  /** Every state that can be reached, by its shortest path. */
  readonly states: readonly Path[];
  /** Every edge, behind the shortest path to where it begins; the shortest first. */
  readonly edges: readonly Path[];
  /** States of session, runs and handoff in which the turn is over, each with a path to it. */
  readonly ends: ReadonlyMap<string, Path>;
}

/** States and edges together are bounded by this; beyond it the exploration fails. */
const LIMIT = 20_000;

/** Explores all of it; deterministic. */
export function explore(): Protocol {
  const map = getAdjacencyMap(
    fromTransition(happen, BEGINNING) as never,
    {
      events: (state: { readonly context: Model }) => anything(state.context),
      serializeState: (state: { readonly context: Model }) => keyOf(state.context),
      serializeEvent: (happening: Happening) => JSON.stringify(happening),
      limit: LIMIT,
    } as never,
  );
  const found = adjacencyMapToArray(map) as unknown as { state: Snapshot; event: Happening; nextState: Snapshot }[];
  // States come in the order in which they were found, so the first edge to one is the last of its shortest path.
  const paths = new Map<string, Path>([[keyOf(BEGINNING), []]]);
  const edges: Path[] = [];
  for (const { state, event: happening, nextState } of found) {
    const prefix = paths.get(keyOf(state.context));
    if (!prefix) throw new Error("the graph has an edge out of nowhere");
    // From where the shortest path comes, not from where the graph came: time and names are the same then.
    const model = happen(prefix.at(-1)?.model ?? BEGINNING, happening);
    const path = [...prefix, { happening, model }];
    const key = keyOf(nextState.context);
    if (!paths.has(key)) paths.set(key, path);
    edges.push(path);
  }
  const states = [...paths.values()].filter((path) => path.length > 0);
  const ends = new Map<string, Path>();
  for (const path of states) {
    const { model } = path.at(-1) as PathStep;
    const name = isOver(model) ? JSON.stringify(statesOf(model)) : undefined;
    if (name !== undefined && !ends.has(name)) ends.set(name, path);
  }
  return { states, edges: edges.toSorted((one, next) => one.length - next.length), ends };
}

interface Snapshot {
  readonly context: Model;
}

/** True where the turn has its outcome, and every run and handoff has ended. */
function isOver(model: Model): boolean {
  const existing = Object.keys(statesOf(model));
  const deciders = [`run/${TURN.runId}`, `run/${HANDOFF.successorRunId}`, `handoff/${HANDOFF.id}`];
  return (
    existing.includes(`run/${TURN.runId}`) &&
    deciders.every((address) => !existing.includes(address) || hasEnded(model, address)) &&
    statesOf(model)[`session/${SESSION.id}`] === "idle"
  );
}

/** States from which the turn cannot come to its end, whatever anybody does, unless a process ends: somebody would wait for ever. */
export function stranded({ states, edges }: Protocol): Path[] {
  const before = new Map<string, string[]>();
  for (const path of edges) {
    if (path.at(-1)?.happening.type === "restart") continue;
    const [from, to] = [keyOf(path.at(-2)?.model ?? BEGINNING), keyOf((path.at(-1) as PathStep).model)];
    before.set(to, [...(before.get(to) ?? []), from]);
  }
  const ending = new Set(
    states.filter((path) => isOver((path.at(-1) as PathStep).model)).map((path) => keyOf((path.at(-1) as PathStep).model)),
  );
  // What is added while it is gone through is gone through as well.
  for (const key of ending) for (const one of before.get(key) ?? []) ending.add(one);
  return states.filter((path) => !ending.has(keyOf((path.at(-1) as PathStep).model)));
}

/** What a path does, for people. */
export const textOf = (path: Path): string =>
  path.map(({ happening: { type, ...rest } }) => [type, ...Object.values(rest)].join(" ")).join(", ");
