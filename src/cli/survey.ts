/** Survey: the backend of the command, set up so that whoever continues a run works with the same settings as its first process. */

import { join, resolve } from "node:path";
import { z } from "zod";
import type { Json } from "../actor/json.ts";
import type { StoreReader } from "../actor/store.ts";
import type { Backend } from "../agent/backend.ts";
import { agentError } from "../agent/error.ts";
import { transcript } from "../agent/transcript.ts";
import { readSurveyTotals, type SurveyOptions, type SurveyTotals, surveyBackend } from "../backend/survey.ts";
import { realPath } from "./place.ts";

/** The name under which sessions ask for it. */
export const SURVEY = "survey";

/** Where a survey writes, and what it leaves out. */
export type SurveyPlace = Pick<SurveyOptions, "report"> & { readonly exclude: readonly string[] };

/** The place of a new survey: its report in the state root, and the root left out of what is surveyed. */
export function newPlace(root: string, out: string | undefined): SurveyPlace {
  return {
    report: out ?? (({ sessionId }) => join(resolve(root), "reports", `${sessionId.replace(/[^\w.-]/g, "_")}.md`)),
    // Both names, where the root is reached by a link.
    exclude: [...new Set([resolve(root), realPath(root)])],
  };
}

const listArgs = z.object({ exclude: z.array(z.string()).min(2) });

/**
 * The place of the survey that a run was at work on: recorded with its list of files, so that a continuation is the same work, also
 * where the root was moved. Undefined where the run had not listed the folder.
 */
export function recordedPlace(reader: StoreReader, runId: string): SurveyPlace | undefined {
  let place: SurveyPlace | undefined;
  for (const { fact } of transcript(reader, runId)) {
    if (fact.type !== "tool.called" || fact.name !== "list_files") continue;
    const [report, , ...exclude] = listArgs.safeParse(fact.args).data?.exclude ?? [];
    if (report !== undefined) place = { report, exclude };
  }
  return place;
}

/** The backends of the command, by name. */
export function commandBackends(options: SurveyOptions): Readonly<Record<string, Backend>> {
  return { [SURVEY]: surveyBackend(options) };
}

/** True where the command itself can go on with what this backend began. */
export const hasBackend = (name: string): boolean => name === SURVEY;

/** Throws `backend_unknown` for a name that the command does not have. */
export function checkBackend(name: string): void {
  if (!hasBackend(name))
    throw agentError("backend_unknown", `there is no backend ${JSON.stringify(name)}; the command has: ${SURVEY}`, {
      details: { path: "--backend" },
    });
}

/** What a finished survey found, or null where a run did not finish one. */
export function totalsOf(reader: StoreReader, runId: string): SurveyTotals | null {
  return readSurveyTotals(transcript(reader, runId)) ?? null;
}

const progressSchema = z.object({ phase: z.enum(["walk", "read", "report"]), done: z.number(), total: z.number() });
const LABELS = { walk: "listing", read: "reading", report: "writing the report" } as const;

/** What partial output of a survey says for a progress bar; undefined where it is something else. */
export function progressOf(output: Json): { readonly label: string; readonly done: number; readonly total: number } | undefined {
  const { data } = progressSchema.safeParse(output);
  return data && { label: LABELS[data.phase], done: data.done, total: data.total };
}
