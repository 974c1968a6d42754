/** What the proof of a machine says, run without a framework. */

import type { AnyStateMachine } from "xstate";
import { type Exercised, type ExerciseOptions, exerciseMachine } from "../../src/testing/index.ts";

/** A test that was declared. */
export type Declared = readonly [name: string, body: () => Promise<void>];

/** The tests of a machine's proof, which nobody has run, and what they will have driven. */
export function proofOf(
  machine: AnyStateMachine,
  given: ExerciseOptions,
): { readonly tests: readonly Declared[]; readonly done: Exercised } {
  const tests: Declared[] = [];
  const quiet = given && { tell: () => {}, ...given };
  const done = exerciseMachine(machine, quiet, { describe: (_, body) => body(), test: (...one) => void tests.push(one) });
  return { tests, done };
}

/** Those tests that fail, with what they say. */
export async function failuresOf(tests: readonly Declared[]): Promise<Record<string, string>> {
  const failed: Record<string, string> = {};
  for (const [name, body] of tests) await body().catch((error: Error) => (failed[name] = error.message));
  return failed;
}

/** What fails of a machine's proof. */
export const failing = (machine: AnyStateMachine, given: ExerciseOptions): Promise<Record<string, string>> =>
  failuresOf(proofOf(machine, given).tests);
