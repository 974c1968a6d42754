/** The machines of the agent runtime: every lifecycle rule of Holdfast. Each is a plain XState machine. */

import { handoff } from "./handoff.ts";
import { run } from "./run.ts";
import { session } from "./session.ts";

export { abortEffect, cancelEffect, createActor, deliver, effect, engineActions } from "./action.ts";
export { driftBetween } from "./composition.ts";
export type { Composition as CompositionRecord, Drift, Outcome, Seal, Source } from "./schema.ts";
export { handoff, run, session };

/** All of them, in the order of their dependence. */
export const machines = [session, run, handoff] as const;
