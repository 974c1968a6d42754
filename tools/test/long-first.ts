/**
 * Long first: the order of the test files. A long file that starts last leaves every other core idle until it ends.
 *
 * Vitest orders by the durations of its last run; where there was none, as after a fresh install, by size, which says little.
 */

import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { ROOT } from "../command.ts";

/** The files that take longest, longest first. */
const LONG: readonly string[] = [
  "test/scenarios/crash.test.ts",
  "test/cli/demo.test.ts",
  "test/actor/kill.test.ts",
  "test/scenarios/matrix.test.ts",
  "test/scenarios/protocol.test.ts",
  "test/simulation/campaign-first.test.ts",
  "test/simulation/campaign-second.test.ts",
  "test/scenarios/chain.test.ts",
  "test/simulation/simulation.test.ts",
  "test/machines/paths.test.ts",
  "test/testing/exercise-machine.test.ts",
  "test/scenarios/walk.test.ts",
  "test/testing/exercise-backend.test.ts",
  "test/testing/exercise-backend-continuation.test.ts",
  "test/backend/conformance.test.ts",
  "test/agent/receipt.test.ts",
  "test/actor/random/random.test.ts",
  "test/actor/random/kill.test.ts",
  "test/actor/damage.test.ts",
  "test/actor/retention.test.ts",
  "test/store/owner.test.ts",
  "test/cli/run.test.ts",
  "test/cli/care.test.ts",
  "test/backend/survey.test.ts",
];

/** Orders test files for `vitest.config.ts`. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification) => {
      const index = LONG.indexOf(relative(ROOT, moduleId).replaceAll("\\", "/"));
      return index < 0 ? LONG.length : index;
    };
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}
