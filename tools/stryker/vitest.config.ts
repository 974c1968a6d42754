/** The tests that Stryker runs: those of the engine that stay in one process, over the store in memory, the shortest files first. */

import { statSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import whole from "../../vitest.config.ts";

/** A child process would have all mutants of Stryker and none of them active; the last one only holds types. */
const LEFT_OUT = ["kill", "inference"];

/** Stryker stops at the first test that fails: what is quick to ask is asked first. */
class ShortFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const size = ({ moduleId }: TestSpecification) => statSync(moduleId).size;
    return files.toSorted((a, b) => size(a) - size(b));
  }
}

export default defineConfig({
  ...whole,
  test: {
    ...whole.test,
    include: ["test/actor/*.test.ts"],
    exclude: LEFT_OUT.map((name) => `test/actor/${name}.test.ts`),
    // Their modules are the same in every run, so files may share them.
    setupFiles: [],
    // A mutant that lets its caller wait for ever is found out by this.
    testTimeout: 1500,
    hookTimeout: 500,
    teardownTimeout: 1000,
    env: { HOLDFAST_STORES: process.env.HOLDFAST_STORES ?? "memory" },
    sequence: { ...whole.test?.sequence, sequencer: ShortFirst },
  },
});
