/**
 * The `survey` backend: an offline backend that does a real job. It surveys the session's folder and writes a report.
 *
 * A survey is at least three steps: a walk, reads in batches, the report. All that a step knows of earlier ones is in the
 * transcript, so any process can go on between two steps or in the middle of one, and the report is the same to the byte.
 * Next, in the order of the work: survey/step.ts, survey/walk.ts, survey/read.ts, survey/report.ts, survey/write.ts.
 */

import { resolve } from "node:path";
import { z } from "zod";
import { canonical, type Json, sha256 } from "../actor/json.ts";
import type { Backend, Composition, Tool, TranscriptEntry } from "../agent/backend.ts";
import { lastReport, readPast } from "./survey/past.ts";
import { readFileTool } from "./survey/read.ts";
import { endReport, type Job, manifestReader, type SurveyMoment, walkStep, workStep } from "./survey/step.ts";
import { listFiles } from "./survey/walk.ts";
import { type SurveyTotals, surveyTotalsSchema, temporaryPath, writeReport } from "./survey/write.ts";

export type { SurveyMoment } from "./survey/step.ts";
export type { SurveyTotals } from "./survey/write.ts";

/** How a survey is set up. All but `gate` and `revision` is part of the composition: where it differs, a continuation drifts. */
export interface SurveyOptions {
  /** Where the report goes: a path, relative to the surveyed folder where it is not absolute. The survey leaves this file out. */
  readonly report: string | ((input: { readonly sessionId: string; readonly cwd: string }) => string);
  /** Files and directories that the survey leaves out besides, such as a state root in the folder; at most 62. */
  readonly exclude?: readonly string[];
  /** Files per read step, from 1. Absent: such that there are at most 20 read steps, and at least 2 for more than one file. */
  readonly batchSize?: number;
  /** The composer's revision, 1..128 characters; "1" where absent. */
  readonly revision?: string;
  /** Awaited before each step and after each settled read; it may hold the survey there. */
  readonly gate?: (moment: SurveyMoment) => Promise<void> | void;
}

const PROMPT =
  "Survey the working directory: list its files, read each of them, and write a report of totals, extensions, largest files, duplicates, TODO and FIXME lines, and broken links.";

/** More files than this are read in up to `MAX_BATCHES` steps, fewer in two. */
const SMALL_SURVEY_FILES = 40;
const MAX_BATCHES = 20;

const hash = (value: unknown) => `sha256:${sha256(canonical(value))}`;

function checkOptions({ batchSize, revision = "1", exclude = [] }: SurveyOptions): void {
  if (batchSize !== undefined && !(Number.isSafeInteger(batchSize) && batchSize >= 1))
    throw new RangeError("batchSize: expected an integer from 1");
  if (revision.length < 1 || revision.length > 128) throw new RangeError("revision: expected 1 to 128 characters");
  if (exclude.length > 62) throw new RangeError("exclude: expected at most 62 paths");
}

function composition(options: SurveyOptions, report: string, tools: readonly Tool<any>[]): Composition {
  const toolNames = tools.map((tool) => tool.name).sort();
  return {
    composerId: "holdfast.survey",
    composerRevision: options.revision ?? "1",
    sourceRevisions: [],
    promptHash: hash(PROMPT),
    toolsHash: hash(tools.map(({ name, description, parameters }) => ({ name, description, parameters: z.toJSONSchema(parameters) }))),
    availabilityHash: hash(toolNames),
    providerOptionsHash: hash({ batchSize: options.batchSize ?? null, exclude: options.exclude ?? [], report }),
    toolNames,
    contextWindow: null,
  };
}

/**
 * A backend that surveys `input.cwd`. Its tools are `list_files`, `read_file` and `write_report`; all may be retried. Calls are named
 * `list`, `read:<index>` and `report`; a call that is repeated in one run gets `~2`, `~3`.
 *
 * A step throws where a tool's call fails, where the folder itself cannot be listed, or where the list of files is missing from the blobs.
 */
export function surveyBackend(options: SurveyOptions): Backend {
  checkOptions(options);
  /** Texts of reports that are being written at this moment, by digest. */
  const texts = new Map<string, string>();
  const compose = (digest: string, text: string): Disposable => {
    texts.set(digest, text);
    return { [Symbol.dispose]: () => void texts.delete(digest) };
  };
  const readManifest = manifestReader();
  const tools: readonly Tool<any>[] = [listFiles, readFileTool, writeReport((digest) => texts.get(digest))];
  const reportOf = ({ sessionId, cwd }: { sessionId: string; cwd: string }) =>
    resolve(cwd, typeof options.report === "string" ? options.report : options.report({ sessionId, cwd }));
  return {
    tools,
    prepare: async (input) => composition(options, reportOf(input), tools),
    step: async (input) => {
      input.signal.throwIfAborted();
      const report = reportOf(input);
      const job: Job = {
        input,
        past: readPast(input),
        report,
        exclude: [report, temporaryPath(report), ...(options.exclude ?? [])],
        batchSize: (files) =>
          options.batchSize ?? Math.max(1, files <= SMALL_SURVEY_FILES ? Math.ceil(files / 2) : Math.ceil(files / MAX_BATCHES)),
        readManifest,
        gate: options.gate ?? (() => {}),
      };
      if (job.past.report !== undefined) return endReport(job.past.report as Json);
      return job.past.list === undefined ? walkStep(job) : workStep(job, compose);
    },
  };
}

/** What the last finished survey of a transcript found, or undefined where none is finished. */
export function readSurveyTotals(transcript: Iterable<TranscriptEntry>): SurveyTotals | undefined {
  const report = lastReport(transcript);
  return report === undefined ? undefined : surveyTotalsSchema.parse(report);
}
