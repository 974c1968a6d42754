/**
 * The conformance suite of the backend contract (`agent/backend.ts`): what any backend promises, as tests.
 *
 * Drives the real runtime on roots in a temporary folder, and the contract directly. Works with any test framework that has `describe` and
 * `test`; asserts with node:assert. The names of the tests are the promises. Next, group by group: exercise-backend-turn.ts,
 * exercise-backend-tool.ts, exercise-backend-abort.ts, exercise-backend-continuation.ts; below them exercise-backend-trial.ts.
 */

import { aborts } from "./exercise-backend-abort.ts";
import { compositions, deaths, drains, successions } from "./exercise-backend-continuation.ts";
import { CLAUSES, tellingAll } from "./exercise-backend-failure.ts";
import { checkBackendOptions, type ExerciseBackendOptions } from "./exercise-backend-option.ts";
import { Place, type Promised } from "./exercise-backend-place.ts";
import { tools } from "./exercise-backend-tool.ts";
import { playWhole, steps, turns, type WholeTurn } from "./exercise-backend-turn.ts";
import type { TestFramework } from "./exercise-store.ts";

/**
 * Declares the conformance tests of one backend: its turn comes to its end; it keeps the four duties of the contract; it declares what lets it
 * be handed off; it takes `flush` and `ended` at any time; and where its process is killed, a new one completes the turn. A failure says
 * what was asked, what the backend did, what the contract expects, and where that is documented. What a turn is without is said beforehand,
 * so that nothing passes for want of a case. No promise waits for time to pass, unless it is broken. Options that are wrong are one failing
 * test.
 */
export function exerciseBackend(name: string, options: ExerciseBackendOptions, { describe, test }: TestFramework): void {
  const group = (part: keyof typeof CLAUSES, declare: (promised: Promised) => void) => {
    const clause = CLAUSES[part];
    const promises: Parameters<Promised>[] = [];
    declare((...promise) => void promises.push(promise));
    const proof = ([promise, asked, body]: Parameters<Promised>) =>
      test(promise, () => tellingAll(clause, promise, asked, () => inPlace(options, body)));
    // Some frameworks take a group without a test for a fault.
    if (promises.length > 0) describe(clause.title, () => promises.forEach(proof));
  };
  let turn: Promise<WholeTurn> | undefined;
  const whole = () => {
    turn ??= inPlace(options, playWhole);
    return turn;
  };
  const wrong = wrongIn(options);
  describe(`backend contract: ${name}`, () => {
    if (wrong) {
      // Not while the file is read, where many frameworks do not say whose fault it is.
      test("can be tried", () => Promise.reject(wrong));
      return;
    }
    group("turn", (promised) => turns(promised, options, whole));
    group("steps", steps);
    group("successions", (promised) => successions(promised, options));
    group("tools", (promised) => tools(promised, options, whole));
    group("aborts", (promised) => aborts(promised, options));
    group("compositions", (promised) => compositions(promised, options));
    group("drains", drains);
    group("deaths", (promised) => deaths(promised, options));
  });
}

function wrongIn(options: ExerciseBackendOptions): Error | undefined {
  try {
    checkBackendOptions(options);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

async function inPlace<T>(options: ExerciseBackendOptions, body: (place: Place) => Promise<T>): Promise<T> {
  const place = new Place(options);
  try {
    return await body(place);
  } finally {
    await place.end();
  }
}
