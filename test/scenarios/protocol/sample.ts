/** Which paths of the protocol are driven, and from which step on they are new. */

import { covering, isChosen } from "../../../src/testing/sampling.ts";
import { BEGINNING, isHeld, statesOf } from "../model.ts";
import type { Path } from "./graph.ts";

/** A path, and its first step that no path before it has. */
export interface Sampled {
  readonly path: Path;
  readonly from: number;
}

/** Those that no other one begins with. */
export function whole(paths: readonly Path[]): Path[] {
  const passed = new Set(paths.flatMap((path) => path.slice(0, -1)));
  return paths.filter((path) => !passed.has(path.at(-1) as Path[number]));
}

/**
 * First those that cover everything that `shapesOf` tells apart, by default each way in which states change, whatever the decision; then
 * `more`, evenly of the rest.
 */
export function choose(paths: readonly Path[], more: number, shapesOf = changesOf): Sampled[] {
  const first = covering(paths, shapesOf);
  const rest = paths.filter((path) => !first.includes(path));
  const isChosen = evenly(more, rest.length);
  const driven = new Set<Path[number]>();
  return [...first, ...rest.filter(() => isChosen())].map((path) => {
    const from = path.findIndex((step) => !driven.has(step));
    for (const step of path) driven.add(step);
    return { path, from };
  });
}

const changesOf = (path: Path): string[] =>
  path.map(({ happening, model }, index) =>
    JSON.stringify([happening.type === "setting" ? null : happening, statesOf(path[index - 1]?.model ?? BEGINNING), statesOf(model)]),
  );

/** True where something is written in the last step. */
export const isWritten = (path: Path): boolean =>
  (path.at(-1) as Path[number]).model.journal.length > (path.at(-2)?.model ?? BEGINNING).journal.length;

/** What the last step asks of the store: what happens, whether anything is written, and whether the run is held then. */
export const askOf = (path: Path): string[] => {
  const { happening, model } = path.at(-1) as Path[number];
  return [JSON.stringify([happening.type, isWritten(path), isHeld(model)])];
};

/** Says of one after another, beginning with the given place, whether it is one of `atMost`, evenly of all. */
export function evenly(atMost: number, ofAll: number, place = 0): () => boolean {
  let index = place;
  return () => isChosen(index++, ofAll, atMost);
}
