/** Choice: which of the paths of a machine are driven, in which parts, and what their tests are called. */

import { plural } from "../agent/count.ts";
import type { MachinePath } from "./paths.ts";
import { covering, isChosen } from "./sampling.ts";

/** The paths that are run: all that cover something new, then evenly of the rest until there are `atMost`. */
export function choose(paths: readonly MachinePath[], atMost = paths.length): readonly MachinePath[] {
  const first = new Set(covering(paths, ({ transitions, guards }) => [...transitions, ...guards]));
  const rest = paths.filter((path) => !first.has(path));
  const chosen = new Set([...first, ...rest.filter((_, index) => isChosen(index, rest.length, Math.max(0, atMost - first.size)))]);
  return paths.filter((path) => chosen.has(path));
}

/** For each path the first move that no path before it has made in the same way; -1 where even its creation is new. */
export function freshness(paths: readonly MachinePath[]): number[] {
  const known = new Set<string>();
  return paths.map(({ input, moves }) => {
    let way = JSON.stringify(input);
    let fresh = known.has(way) ? moves.length : -1;
    known.add(way);
    moves.forEach((move, index) => {
      way += JSON.stringify(move);
      if (!known.has(way)) fresh = Math.min(fresh, index);
      known.add(way);
    });
    return fresh;
  });
}

/** New moves of which one test tries each crash: a recovery takes longer the longer a path is, and frameworks bound the time of a test. */
const PART = 20;

/** A path up to a move, and the move from which on it is tried; `moves`, for people, where it is not all that is new. */
export interface Part {
  readonly path: MachinePath;
  readonly from: number;
  readonly isLast: boolean;
  readonly moves: string;
}

/** A path whose moves are new from this one on, in parts of which each begins with those before it. */
export function partsOf(path: MachinePath, from: number): Part[] {
  const { length } = path.moves;
  const parts: Part[] = [];
  for (let at = from; parts.length === 0 || at < length; at += PART) {
    const end = Math.min(at + PART, length);
    const isAll = at === from && end === length;
    const first = Math.max(at, 0) + 1;
    const moves = isAll ? "" : first === end ? `, move ${end}` : `, moves ${first} to ${end}`;
    parts.push({ path: { ...path, moves: path.moves.slice(0, end) }, from: at, isLast: end === length, moves });
  }
  return parts;
}

/** Characters of a path in the name of a test: of a longer one, so many of its start and its end. */
const [NAME_LIMIT, START, END] = [300, 200, 80];

/** A path in the name of a test. */
export function shortText({ text, moves }: MachinePath): string {
  if (text.length <= NAME_LIMIT) return text;
  return `${text.slice(0, START)}… (${plural(moves.length, "move")}) …${text.slice(-END)}`.toWellFormed();
}
