/**
 * The tool `write_report`: puts the report in its place, whole or not at all.
 *
 * Guarantees: the call names the text by its digest, so what T1 records is exactly what is written; a call can be repeated. A reader
 * sees the old file or the new one, also after a power failure. A symbolic link at the place is replaced, not followed.
 */

import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { lstat, mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname, isAbsolute, join } from "node:path";
import { z } from "zod";
import { sha256 } from "../../actor/json.ts";
import type { Tool } from "../../agent/backend.ts";
import { REPORT } from "./past.ts";

const countSchema = z.int().nonnegative();

/** What a finished survey found. */
export const surveyTotalsSchema = z.strictObject({
  /** Absolute path of the report. */
  report: z.string().min(1).max(4_096).refine(isAbsolute, "expected an absolute path"),
  /** SHA-256 of the report's text. */
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  /** Files that were read, with their bytes and lines. */
  files: countSchema,
  bytes: countSchema,
  lines: countSchema,
  /** Files and directories that could not be read. */
  unreadable: countSchema,
  /** Bytes that copies of other files take. */
  duplicateBytes: countSchema,
  /** Lines with TODO or FIXME. */
  marks: countSchema,
  brokenLinks: countSchema,
});
export type SurveyTotals = z.infer<typeof surveyTotalsSchema>;

/** Where the report is written before it is moved into place: one file per report, so a killed writer's is written over. */
export function temporaryPath(report: string): string {
  return join(dirname(report), `.survey-${createHash("sha256").update(basename(report)).digest("hex").slice(0, 16)}.tmp`);
}

async function syncDirectory(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Makes a directory and those above it. Not by the recursive option: where a file system refuses new entries with ENOENT, as /proc
 * does, that tries for ever.
 */
async function makeDirectories(path: string): Promise<void> {
  // For this user alone: the report quotes what it read, and may stand in a state root.
  const make = () => mkdir(path, { mode: 0o700 });
  try {
    await make();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
    await makeDirectories(dirname(path));
    await make().catch((again: NodeJS.ErrnoException) => {
      if (again.code !== "EEXIST") throw again;
    });
  }
}

async function writeWhole(path: string, text: string): Promise<void> {
  await makeDirectories(dirname(path));
  const temporary = temporaryPath(path);
  await rm(temporary, { force: true });
  try {
    const handle = await open(temporary, "wx");
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    // A rename would put a file in the place of a device or a pipe.
    const found = await lstat(path).catch(() => undefined);
    if (found && !found.isFile() && !found.isSymbolicLink()) throw new Error(`${path} is not a regular file, and is not replaced`);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncDirectory(dirname(path));
}

/** `textOf` gives the text that this process has composed for a digest; the step that makes the call always has. */
export function writeReport(textOf: (digest: string) => string | undefined): Tool<SurveyTotals> {
  return {
    name: REPORT,
    description: "Writes the survey's report to its place, atomically.",
    parameters: surveyTotalsSchema,
    reconcile: "retry",
    async execute(totals, { signal }) {
      const text = textOf(totals.digest);
      if (text === undefined || sha256(text) !== totals.digest) {
        throw new Error(
          `No report with digest ${totals.digest} is composed here. The survey's next step composes it again and repeats the call.`,
        );
      }
      signal.throwIfAborted();
      await writeWhole(totals.report, text);
      return totals;
    },
  };
}
