/** The paths of the decisions: what may happen where a person does what a decision says, in its order, to its end. */

import { getAdjacencyMap, getShortestPaths } from "@xstate/graph";
import { fromTransition } from "xstate";
import { type Decision, surroundingsOf, WISHES } from "./decision.ts";
import { actorsOf, BEGINNING, type Happening, happen, isHeld, type Model, type PathStep, possible } from "./model.ts";

/** What may happen now where the person does what the decision says, in its order. */
function wanted(model: Model): Happening[] {
  const wishes = model.decision === null ? [] : surroundingsOf(model.decision).wishes;
  const next = wishes[model.made.length];
  return possible(model).filter(({ type }) => {
    if (!(WISHES as readonly string[]).includes(type)) return true;
    return type === next && (type !== "cancel" || isHeld(model));
  });
}

/** True where all that was wanted is done and nothing is under way. */
const isOver = (model: Model): boolean =>
  model.decision !== null && model.made.length === surroundingsOf(model.decision).wishes.length && wanted(model).length === 0;

/** Two states with the same key are the same: all that decides what may happen next is in it. */
function keyOf(model: Model): string {
  const { decision, made, refusals, sealIsLost } = model;
  return JSON.stringify([decision, made, refusals, sealIsLost, actorsOf(model)]);
}

/** States and edges of a model are bounded by this; beyond it the generation fails. */
const LIMIT = 20_000;

export interface Generated {
  readonly states: number;
  readonly edges: number;
  /** The shortest way to the end of each decision. */
  readonly paths: ReadonlyMap<Decision, readonly PathStep[]>;
}

/** The states and edges of what is wanted, and for each decision the shortest path to a state in which nothing is left to do. */
export function generate(): Generated {
  const logic = fromTransition(happen, BEGINNING);
  const options = {
    events: (state: { readonly context: Model }) => wanted(state.context),
    serializeState: (state: { readonly context: Model }) => keyOf(state.context),
    limit: LIMIT,
  };
  const map = Object.values(getAdjacencyMap(logic as never, options as never));
  const paths = new Map<Decision, readonly PathStep[]>();
  for (const path of getShortestPaths(logic as never, { ...options, toState: (state: any) => isOver(state.context) } as never)) {
    const steps = path.steps.flatMap(({ event, state }) =>
      String((event as { type: string }).type).startsWith("xstate.")
        ? []
        : [{ happening: event as unknown as Happening, model: (state as unknown as { context: Model }).context }],
    );
    const decision = steps.at(-1)?.model.decision as Decision;
    if (steps.length < (paths.get(decision)?.length ?? Number.POSITIVE_INFINITY)) paths.set(decision, steps);
  }
  return { states: map.length, edges: map.reduce((sum, { transitions }) => sum + Object.keys(transitions).length, 0), paths };
}
