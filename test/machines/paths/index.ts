/** The machines of the agent runtime, each with what can happen to it: what paths are made from. */

import type { AnyStateMachine } from "xstate";
import { handoff, interaction, run, session, workPlan } from "../../../machines/index.ts";
import type { PathOptions } from "../../../src/testing/index.ts";
import { handoffPaths } from "./handoff.ts";
import { interactionPaths } from "./interaction.ts";
import { runPaths } from "./run.ts";
import { sessionPaths } from "./session.ts";
import { workPlanPaths } from "./work-plan.ts";

export interface Explored {
  readonly machine: AnyStateMachine;
  readonly options: PathOptions;
}

const explored = <Machine extends AnyStateMachine>(machine: Machine, options: PathOptions<Machine>): Explored => ({
  machine,
  options: options as PathOptions,
});

/** One for each machine. */
export const EXPLORED: readonly Explored[] = [
  explored(session, sessionPaths),
  explored(run, runPaths),
  explored(handoff, handoffPaths),
  explored(interaction, interactionPaths),
  explored(workPlan, workPlanPaths),
];
