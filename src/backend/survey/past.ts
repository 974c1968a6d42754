/**
 * What is settled already, read from the transcript alone.
 *
 * Guarantees: a result counts only if it is settled and ok; everything else is done again. Any process reads the same from the same
 * transcript.
 * A user's message starts a new survey, and a run that continues nothing starts one: what is before does not count.
 */

import type { Json } from "../../actor/json.ts";
import type { StepInput, TranscriptEntry } from "../../agent/backend.ts";

/** Names of the tools; they decide what a settled call means. */
export const LIST = "list_files";
export const READ = "read_file";
export const REPORT = "write_report";

export interface Past {
  /** Result of the walk. */
  readonly list: Json | undefined;
  /** Results of reads, by the file's index in the manifest. */
  readonly reads: Map<number, Json>;
  readonly report: Json | undefined;
  /** True if the assistant has spoken since the walk: the trace of a read step that had nothing to read. */
  readonly spoken: boolean;
  /** An unused id for a call in this run: `base`, or `base~2`, `base~3` where earlier calls came to nothing. */
  freshCallId(base: string): string;
}

const READ_CALL = /^read:(\d{1,15})(?:~\d+)?$/;

/** Reads the transcript once. */
export function readPast(input: Pick<StepInput, "runId" | "continuation" | "transcript">): Past {
  const used = new Set<string>();
  let list: Json | undefined;
  let report: Json | undefined;
  let spoken = false;
  const reads = new Map<number, Json>();
  for (const { runId, fact } of input.transcript()) {
    if (runId !== input.runId && input.continuation === null) continue;
    if (fact.type === "message.added") {
      if (fact.role === "user") {
        list = undefined;
        report = undefined;
        reads.clear();
      }
      spoken = fact.role === "assistant" && list !== undefined;
      continue;
    }
    if (fact.type === "permission.decided") continue;
    if (runId === input.runId) used.add(fact.callId);
    if (fact.type !== "tool.settled" || !fact.outcome.ok) continue;
    if (fact.name === LIST) list ??= fact.outcome.result;
    else if (fact.name === REPORT) report = fact.outcome.result;
    else if (fact.name === READ) {
      const index = READ_CALL.exec(fact.callId)?.[1];
      if (index !== undefined) reads.set(Number(index), fact.outcome.result);
    }
  }
  const freshCallId = (base: string) => {
    let id = base;
    for (let attempt = 2; used.has(id); attempt++) id = `${base}~${attempt}`;
    used.add(id);
    return id;
  };
  return { list, reads, report, spoken, freshCallId };
}

/** The result of the last report that was written, or undefined. */
export function lastReport(transcript: Iterable<TranscriptEntry>): Json | undefined {
  let report: Json | undefined;
  for (const { fact } of transcript) {
    if (fact.type === "tool.settled" && fact.name === REPORT && fact.outcome.ok) report = fact.outcome.result;
  }
  return report;
}
