/** The paths of our own machines, from what their tests say can happen to them. */

import { type MachinePaths, pathsFor } from "../../src/testing/paths.ts";
import { EXPLORED } from "../../test/machines/paths/index.ts";

/** One for each machine, in the order of their dependence. */
export function explored(): MachinePaths[] {
  return EXPLORED.map(({ machine, options }) => pathsFor(machine, options));
}
