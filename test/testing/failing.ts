/** What the proof of a machine says, run without a framework. */

import type { AnyStateMachine } from "xstate";
import { type ExerciseOptions, exerciseMachine } from "../../src/testing/index.ts";

/** The tests that fail, with what they say. */
export async function failing(machine: AnyStateMachine, given: ExerciseOptions): Promise<Record<string, string>> {
  const tests: [string, () => Promise<void>][] = [];
  const quiet = given && { tell: () => {}, ...given };
  exerciseMachine(machine, quiet, { describe: (_, body) => body(), test: (name, body) => void tests.push([name, body]) });
  const failed: Record<string, string> = {};
  for (const [name, body] of tests) await body().catch((error: Error) => (failed[name] = error.message));
  return failed;
}
