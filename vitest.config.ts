import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Where the runner of `npm test` wants vitest's JSON report; absent when vitest is started by hand. */
const report = process.env.HOLDFAST_VITEST_REPORT;

export default defineConfig({
  resolve: {
    // The examples in docs/ import the package by its name; in a checkout that is the source.
    alias: [
      { find: /^holdfast$/, replacement: here("./src/index.ts") },
      { find: /^holdfast\/actors$/, replacement: here("./src/actors.ts") },
      { find: /^holdfast\/machines$/, replacement: here("./machines/index.ts") },
      { find: /^holdfast\/testing$/, replacement: here("./src/testing/index.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    environment: "node",
    pool: "forks",
    watch: false,
    // Tests that kill processes take long where many run at once.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 10_000,
    sequence: { shuffle: false, concurrent: false, hooks: "stack" },
    allowOnly: false,
    passWithNoTests: false,
    reporters: report === undefined ? ["default"] : ["default", ["json", { outputFile: report }]],
  },
});
