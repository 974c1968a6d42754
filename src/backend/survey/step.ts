/**
 * The steps of a survey: walk, reads, report.
 *
 * Guarantees: a step does only what the transcript does not show as settled. When it ends, by result or by error, no call of it is
 * in flight.
 * After an abort no call is started and the abort's reason is thrown. The report of steps left is exact from the walk on.
 */

import { basename, resolve } from "node:path";
import { z } from "zod";
import { type Json, sha256 } from "../../actor/json.ts";
import type { StepInput, StepReport } from "../../agent/backend.ts";
import { countOf, plural } from "../../agent/count.ts";
import { LIST, type Past, READ, REPORT } from "./past.ts";
import { inParallel } from "./pool.ts";
import { readResultSchema } from "./read.ts";
import { composeReport } from "./report.ts";
import { listResultSchema, type Manifest, manifestSchema } from "./walk.ts";
import { type SurveyTotals, surveyTotalsSchema } from "./write.ts";

const READS_IN_FLIGHT = 32;
const FILES_PER_PROGRESS = 16;

/** A point at which `gate` is awaited. `step` counts over the whole survey, from 1; `of` is null before the walk. */
export type SurveyMoment =
  | { readonly at: "step"; readonly step: number; readonly of: number | null; readonly kind: "walk" | "read" | "report" }
  | { readonly at: "file"; readonly done: number; readonly total: number };

/** One step of a survey: what the runtime gave, what is settled, and how this backend is set up. */
export interface Job {
  readonly input: StepInput;
  readonly past: Past;
  /** Absolute. */
  readonly report: string;
  readonly exclude: readonly string[];
  batchSize(files: number): number;
  gate(moment: SurveyMoment): Promise<void> | void;
  readManifest(input: StepInput, digest: string): Manifest;
}

/** The reads of a survey, cut into batches at places that depend on the manifest and the batch size only. */
interface Batches {
  readonly count: number;
  /** The first batch with a file that is not read; undefined when all are. */
  readonly next: { readonly number: number; readonly files: readonly number[] } | undefined;
  /** Batches with work to do, `next` included. */
  readonly left: number;
}

/** Passes a gate, or throws the abort's reason as soon as there is one. */
async function pass({ input, gate }: Job, moment: SurveyMoment): Promise<void> {
  const { signal } = input;
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([gate(moment), promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Calls a tool and answers with its result; a call that failed is an error. */
async function call({ input, past }: Job, name: string, base: string, args: Json): Promise<Json> {
  input.signal.throwIfAborted();
  const callId = past.freshCallId(base);
  const outcome = await input.callTool(name, args, { callId }).catch((error: unknown) => {
    input.signal.throwIfAborted();
    throw error;
  });
  if (outcome.ok) return outcome.result;
  input.signal.throwIfAborted();
  throw new Error(`${name} (call ${callId}) failed: ${outcome.error.code}: ${outcome.error.message}`);
}

/** A stored value that does not fit is an error that says which. */
function parse<T>(what: string, schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new Error(`The survey's transcript holds ${what} that does not fit: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** Reads lists of files. The last one is remembered: by its digest, so what is remembered cannot be wrong. */
export function manifestReader(): Job["readManifest"] {
  let last: { readonly digest: string; readonly manifest: Manifest } | undefined;
  return (input, digest) => {
    if (last?.digest === digest) return last.manifest;
    const bytes = input.getBlob(digest);
    if (!bytes) throw new Error(`The survey's list of files is missing: there is no blob ${digest}.`);
    const manifest = parse("a list of files", manifestSchema, JSON.parse(Buffer.from(bytes).toString("utf8")));
    last = { digest, manifest };
    return manifest;
  };
}

/** Lists the folder. */
export async function walkStep(job: Job): Promise<StepReport> {
  await pass(job, { at: "step", step: 1, of: null, kind: "walk" });
  const result = await call(job, LIST, "list", { exclude: job.exclude });
  const { files } = parse("a result of list_files", listResultSchema, result);
  job.input.progress({ phase: "walk", done: 0, total: files });
  return { next: "continue", remainingSteps: Math.max(1, Math.ceil(files / job.batchSize(files))) + 1 };
}

function batchesOf({ past, batchSize }: Job, files: number): Batches {
  const size = batchSize(files);
  const count = Math.max(1, Math.ceil(files / size));
  if (files === 0) return past.spoken ? { count, next: undefined, left: 0 } : { count, next: { number: 0, files: [] }, left: 1 };
  let next: Batches["next"];
  let left = 0;
  for (let number = 0; number < count; number++) {
    const unread: number[] = [];
    for (let index = number * size; index < Math.min(files, (number + 1) * size); index++) if (!past.reads.has(index)) unread.push(index);
    if (unread.length === 0) continue;
    left++;
    next ??= { number, files: unread };
  }
  return { count, next, left };
}

/** Reads a batch, or writes the report where every file is read. */
export async function workStep(job: Job, compose: (digest: string, text: string) => Disposable): Promise<StepReport> {
  const { manifest: digest } = parse("a result of list_files", listResultSchema, job.past.list);
  const manifest = job.readManifest(job.input, digest);
  const batches = batchesOf(job, manifest.files.length);
  const of = batches.count + 2;
  if (!batches.next) {
    await pass(job, { at: "step", step: of, of, kind: "report" });
    return reportStep(job, manifest, compose);
  }
  await pass(job, { at: "step", step: batches.next.number + 2, of, kind: "read" });
  await readBatch(job, manifest, batches.next.files);
  const report = { next: "continue", remainingSteps: batches.left } as const;
  // An empty batch makes no call; what it says is its trace in the transcript.
  return manifest.files.length === 0 ? { ...report, text: "The folder holds no files to read." } : report;
}

async function readBatch(job: Job, manifest: Manifest, batch: readonly number[]): Promise<void> {
  const total = manifest.files.length;
  let done = 0;
  for (const index of job.past.reads.keys()) if (index < total) done++;
  const end = done + batch.length;
  await inParallel(batch, READS_IN_FLIGHT, async (index) => {
    await call(job, READ, `read:${index}`, manifest.files[index] as Manifest["files"][number]);
    const now = ++done;
    if (now % FILES_PER_PROGRESS === 0 || now === end) job.input.progress({ phase: "read", done: now, total });
    await pass(job, { at: "file", done: now, total });
  });
}

async function reportStep(job: Job, manifest: Manifest, compose: (digest: string, text: string) => Disposable): Promise<StepReport> {
  const total = manifest.files.length;
  const results = manifest.files.map((_, index) =>
    parse(`a result of read_file for file ${index}`, readResultSchema, job.past.reads.get(index)),
  );
  const { text, totals } = composeReport(basename(resolve(job.input.cwd)) || "/", manifest, results);
  const digest = sha256(text);
  using _composed = compose(digest, text);
  const result = await call(job, REPORT, "report", { report: job.report, digest, ...totals });
  job.input.progress({ phase: "report", done: total, total });
  return endReport(result);
}

/** The end of a survey whose report is written. */
export function endReport(result: Json): StepReport {
  return {
    next: "end",
    stopReason: "end_turn",
    remainingSteps: 0,
    text: summary(parse("a result of write_report", surveyTotalsSchema, result)),
  };
}

function summary(totals: SurveyTotals): string {
  return [
    `Surveyed ${plural(totals.files, "file")}, ${plural(totals.bytes, "byte")}, ${plural(totals.lines, "line")}.`,
    `Found ${countOf(totals.unreadable)} unreadable, ${plural(totals.duplicateBytes, "byte")} of duplicates, ${plural(totals.marks, "TODO or FIXME line")}, ${plural(totals.brokenLinks, "broken link")}.`,
    `Report: ${totals.report}`,
  ].join("\n");
}
