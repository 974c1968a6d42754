/** Folders for tests of the survey, and what `find`, `cat` and `grep` say of them. */

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { readSurveyTotals, type SurveyOptions, surveyBackend } from "../../../src/backend/survey.ts";
import { Driver, type DriverOptions, type World, world } from "./driver.ts";

/** A new directory that is removed when the test ends. `rm` also removes what is too deep for Node. */
export function temporaryFolder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "survey-")));
  onTestFinished(() => void execFileSync("rm", ["-rf", path]));
  return path;
}

/** A folder named `project` with these files, in a temporary one. */
export function folder(files: Record<string, string | Uint8Array> = {}): string {
  const root = join(temporaryFolder(), "project");
  mkdirSync(root);
  for (const [path, content] of Object.entries(files)) put(root, path, content);
  return root;
}

export function put(root: string, path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

const FIND = ["(", "-name", ".git", "-o", "-name", "node_modules", ")", "-type", "d", "-prune", "-o", "-type", "f"];

/** Files of two lines in seven directories, each with a mark. */
export function manyFiles(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`d${n % 7}/file ${n}.txt`, `${n}\nTODO ${n}`]));
}

/** Counts by the system's own tools. */
export function counted(root: string): { files: number; bytes: number; lines: number } {
  const shell = (script: string) => Number(execFileSync("sh", ["-c", script, "sh", ...FIND], { cwd: root, encoding: "utf8" }).trim());
  return {
    files: shell('find . "$@" -printf x | wc -c'),
    bytes: shell('find . "$@" -exec cat {} + | wc -c'),
    lines: shell(`find . "$@" -exec grep -a -c -h '' {} + | awk '{ sum += $1 } END { print sum + 0 }'`),
  };
}

/** Where the tests' reports go: beside the folder. */
export const reportPath = (root: string) => join(dirname(root), "report.md");

export interface Surveyed {
  readonly driver: Driver;
  readonly world: World;
  readonly report: string;
  readonly totals: NonNullable<ReturnType<typeof readSurveyTotals>>;
}

/** A whole survey in one process. */
export async function survey(root: string, options: Partial<SurveyOptions> = {}, driverOptions: DriverOptions = {}): Promise<Surveyed> {
  const given = world(root);
  const driver = new Driver(given, surveyBackend({ report: reportPath(root), ...options }), driverOptions);
  await driver.finish();
  const totals = readSurveyTotals(given.entries);
  if (!totals) throw new Error("The survey left no totals.");
  return { driver, world: given, totals, report: readFileSync(totals.report, "utf8") };
}

/** The lines of one section of a report, without its heading. */
export function sectionOf(report: string, title: string): string[] {
  const [, body] = report.split(`\n## ${title}\n\n`);
  if (body === undefined) throw new Error(`The report has no section ${title}.`);
  return body.split("\n\n## ")[0]?.trimEnd().split("\n") ?? [];
}
