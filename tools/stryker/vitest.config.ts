/** The tests that Stryker runs: those of the engine that stay in one process. */

import { defineConfig } from "vitest/config";
import whole from "../../vitest.config.ts";

/** A child process would have all mutants of Stryker and none of them active; the last one only holds types. */
const LEFT_OUT = ["kill", "timer", "inference"];

export default defineConfig({
  ...whole,
  test: { ...whole.test, include: ["test/actor/*.test.ts"], exclude: LEFT_OUT.map((name) => `test/actor/${name}.test.ts`) },
});
