/** Sum: what the proof of a machine covered, in words and in one line of the run's output. */

import { countOf, plural } from "../agent/count.ts";
import type { MachinePaths } from "./paths.ts";

/** What there is, and what was done of it. */
export interface Exercised {
  /** All paths and what they cover; throws what `pathsFor` does where the machine cannot be explored. */
  readonly found: MachinePaths;
  /** Paths that ran to their end on the real store, and the transitions of the machine that they took. */
  readonly paths: number;
  readonly transitions: ReadonlySet<string>;
  /** Crashes that were recovered from, and the moments at which there could have been one. */
  readonly crashes: number;
  readonly moments: number;
  /** Paths that ran to their end on a failing store, and the transactions that were made to fail. */
  readonly failing: number;
  readonly faults: number;
}

/** What will be tried, as far as it is known before the paths run. */
export function planText(chosen: number, of: number, crashes: number | undefined, failing: number): string {
  const each = crashes === undefined ? "a crash before, inside and after each commit" : `at most ${plural(crashes, "crash")}`;
  return `${countOf(chosen)} of ${plural(of, "path")}, ${crashes === 0 ? "no crash" : each}, a failing store on ${plural(failing, "path")}`;
}

/** What was tried. */
export function sumText({ found, transitions, paths, crashes, moments, failing, faults }: Exercised): string {
  return [
    `${found.machine}: ${countOf(transitions.size)} of ${plural(found.transitions, "transition")}`,
    ` on ${countOf(paths)} of ${plural(found.paths.length, "path")},`,
    ` ${countOf(crashes)} of ${plural(moments, "crash")},`,
    ` ${plural(faults, "failed transaction")} on ${plural(failing, "path")}`,
  ].join("");
}

/** Shows a line where a test framework shows what its tests print. */
export function show(line: string): void {
  // biome-ignore lint/suspicious/noConsole: frameworks have no other way in common to show what is no failure
  console.log(line);
}
