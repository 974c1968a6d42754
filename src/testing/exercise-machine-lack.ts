/** Lack: why the paths of a machine do not prove it, in words. */

import { isDeepStrictEqual } from "node:util";
import { countOf, plural } from "../agent/count.ts";
import { LIMIT, type MachinePaths } from "./paths.ts";

/** Paths that are driven where nobody has said how many; more come of a context that takes many values. */
const PATHS = 1000;

/**
 * What no path comes to and should, and what is covered though it need not be; undefined where there is neither. `isMerged`: states that
 * `serialize` does not tell apart were gone on from once.
 */
export function uncoveredText({ uncovered, isComplete }: MachinePaths, expected: readonly string[], isMerged: boolean): string | undefined {
  if (isDeepStrictEqual(uncovered, expected)) return undefined;
  const missing = uncovered.filter((what) => !expected.includes(what));
  const covered = expected.filter((what) => !uncovered.includes(what));
  if (missing.length === 0 && covered.length === 0) return "`uncovered` lists this in another order";
  const limit = isComplete
    ? ""
    : `; the limit was reached: give ${isMerged ? "a `serialize` that says less" : "`serialize`"}, or fewer variants`;
  const merged = isMerged ? ", or let `serialize` tell more apart: of states that it takes for one, the first alone is gone on from" : "";
  return [
    ...(missing.length === 0 ? [] : [`no path comes to this: ${missing.join("; ")}: give another variant or input${merged}${limit}`]),
    ...(covered.length === 0 ? [] : [`\`uncovered\` lists what is covered, or is not there: ${covered.join("; ")}`]),
  ].join("\n");
}

/** Why a machine cannot be driven whole, where it cannot and nobody has said how much of it is enough. */
export function endlessness({ isComplete, paths }: MachinePaths, isCut: boolean, atMost: number | undefined): string | undefined {
  const remedy = "give `serialize`, which says what of the context matters, fewer variants";
  if (!isComplete && !isCut)
    return `there are more states than the ${countOf(LIMIT)} that were gone on from: ${remedy}, or a \`limit\` that is far enough`;
  if (atMost !== undefined || paths.length <= PATHS) return undefined;
  const longest = Math.max(...paths.map(({ moves }) => moves.length));
  return `there are ${plural(paths.length, "path")}, the longest of ${plural(longest, "move")}: ${remedy}, or say with \`paths\` how many are driven`;
}
