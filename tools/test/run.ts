/**
 * `npm test`: lint and format, types, then the tests; all three always run, and the last line is the total.
 *
 * Arguments go to vitest: `npm test -- test/actor` runs one folder's tests.
 */

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plural } from "../../src/agent/count.ts";
import { conclude, run } from "../command.ts";

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly { readonly status: string }[] }[];
}

/** What runs longer hangs. All tests take some eight minutes on two cores; a longer run of some of them is somebody's wish. */
const BOUND_MINUTES = process.argv.length > 2 ? 24 * 60 : 20;
/** Lines of a failed lint or type check that are shown. */
const SHOWN = 80;

const started = performance.now();
let passed = 0;
let failed = 0;

for (const [name, program, args] of [
  ["lint", "biome", ["check", "--error-on-warnings"]],
  ["types", "tsc", []],
] as const) {
  const ended = run(program, args);
  console.log(`${name.padEnd(5)}  ${ended.ok ? "ok" : "failed"}`);
  if (ended.ok) passed += 1;
  else {
    failed += 1;
    const lines = ended.output.split("\n");
    console.log(lines.slice(0, SHOWN).join("\n"));
    if (lines.length > SHOWN) console.log(`(${plural(lines.length - SHOWN, "more line")}: \`npm run check\`)`);
  }
}

const folder = mkdtempSync(join(tmpdir(), "holdfast-test-"));
const file = join(folder, "report.json");
const ended = run("vitest", ["run", ...process.argv.slice(2)], {
  show: true,
  timeoutMs: BOUND_MINUTES * 60_000,
  env: { HOLDFAST_VITEST_REPORT: file },
});
const report = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Report) : undefined;
rmSync(folder, { recursive: true, force: true });

const tests = (report?.numPassedTests ?? 0) + (report?.numFailedTests ?? 0);
// A file that could not be loaded has no failed test of its own.
const broken = (report?.testResults ?? []).filter(
  (result) => result.status === "failed" && !result.assertionResults.some((test) => test.status === "failed"),
).length;
const red = (report?.numFailedTests ?? 0) + broken;
passed += report?.numPassedTests ?? 0;
failed += ended.ok ? red : Math.max(red, 1);
if (ended.code === 124) console.log(`tests  stopped after ${BOUND_MINUTES} minutes`);
const skipped = report && report.numPendingTests > 0 ? `, ${report.numPendingTests} skipped` : "";
conclude(passed, failed, `lint, types and ${plural(tests, "test")}${skipped} in ${Math.round((performance.now() - started) / 1000)} s`);
