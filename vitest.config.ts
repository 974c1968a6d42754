import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { LongFirst } from "./tools/test/long-first.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Where the runner of `npm test` wants vitest's JSON report; absent when vitest is started by hand. */
const report = process.env.HOLDFAST_VITEST_REPORT;

// Most of a child process's time is the loading of its modules. Node keeps their compiled code here, by path and content, also without types.
process.env.NODE_COMPILE_CACHE ??= here("./node_modules/.cache/node-compile");

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
    // A process for each file costs as much as the file; fresh modules keep files apart.
    isolate: false,
    setupFiles: ["tools/test/fresh-modules.ts"],
    // Every core: by default vitest leaves one to itself, which is half of two.
    maxWorkers: "100%",
    watch: false,
    // Tests that kill processes take long where many run at once.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 10_000,
    // A poll waits for what comes for certain; by default one second is all it has, also on a busy machine.
    expect: { poll: { timeout: 60_000 } },
    sequence: { shuffle: false, concurrent: false, hooks: "stack", sequencer: LongFirst },
    allowOnly: false,
    passWithNoTests: false,
    reporters: report === undefined ? ["default"] : ["default", ["json", { outputFile: report }]],
  },
});
