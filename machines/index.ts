/** The machines of the agent runtime: every lifecycle rule of Holdfast. Each is a plain XState machine. */

import { handoff } from "./handoff.ts";
import { interaction } from "./interaction.ts";
import { run } from "./run.ts";
import { session } from "./session.ts";
import { workPlan } from "./work-plan.ts";

export { abortEffect, cancelEffect, createActor, deliver, effect, engineActions } from "./action.ts";
export { DRIFT_POLICY, type DriftPolicy, driftBetween } from "./composition.ts";
export { type Doubt, doubts, type Evidence } from "./evidence.ts";
export type { Proposal } from "./proposal.ts";
export type { Composition as CompositionRecord, Drift, Interaction, InteractionAnswer, Outcome, Seal, Source } from "./schema.ts";
export { isStepSettled, type PlanStepStatus } from "./work-plan-schema.ts";
export { handoff, interaction, run, session, workPlan };

/** All of them, in the order of their dependence. */
export const machines = [session, run, handoff, interaction, workPlan] as const;
