/** Tally: what the store says that a run did, counted from its journal; the demo believes this and not what its processes tell. */

import { entriesOf } from "../../actor/page.ts";
import type { StoreReader } from "../../actor/store.ts";
import { contextOf } from "../../agent/snapshot.ts";
import { cliError } from "../error.ts";
import { plural } from "../format.ts";

export interface RunTally {
  readonly id: string;
  readonly state: string;
  /** The composer's revision, as it was recorded. */
  readonly revision: string | null;
  readonly dispatches: number;
  readonly steps: number;
  /** Tool calls by their work, `read:17`, whatever attempt it was. */
  readonly called: ReadonlySet<string>;
  readonly settled: ReadonlySet<string>;
  /** Calls whose outcome was lost with their process. */
  readonly unknown: ReadonlySet<string>;
  /** The code of its failure, or null. */
  readonly failure: string | null;
}

/** Counts one run. */
export function tallyOf(reader: StoreReader, runId: string): RunTally {
  const row = reader.actor(`run/${runId}`);
  const context = contextOf(reader, "run", runId);
  if (!row || !context) throw cliError("demo_failed", `the run ${runId} is not in the state root`);
  const called = new Set<string>();
  const settled = new Set<string>();
  const unknown = new Set<string>();
  let dispatches = 0;
  let revision: string | null = null;
  for (const entry of entriesOf(reader, row.address)) {
    if (entry.facts === "[]") continue;
    for (const fact of JSON.parse(entry.facts) as { type: string; [key: string]: any }[]) {
      if (fact.type === "run.dispatched") dispatches++;
      else if (fact.type === "composition.recorded") revision = fact.composerRevision;
      else if (fact.type === "tool.called") called.add(workOf(fact.callId));
      else if (fact.type === "tool.unknown") unknown.add(workOf(fact.callId));
      else if (fact.type === "tool.settled" && JSON.parse(entry.event).outcome.ok === true) settled.add(workOf(fact.callId));
    }
  }
  const failure = context.outcome?.kind === "failed" ? context.outcome.error.code : null;
  return { id: runId, state: row.state, revision, dispatches, steps: context.stepsTaken, called, settled, unknown, failure };
}

/** A repeated call of the survey has `~2`, `~3` behind the name of its work. */
function workOf(callId: string): string {
  return callId.replace(/~\d+$/, "");
}

/** Throws `demo_failed` unless each run was dispatched once and none repeated what an earlier one had settled. */
export function demandExactlyOnce(runs: readonly RunTally[]): void {
  const settled = new Set<string>();
  for (const run of runs) {
    if (run.dispatches !== 1) throw cliError("demo_failed", `the run ${run.id} was dispatched ${plural(run.dispatches, "time")}`);
    const again = [...run.called].filter((work) => settled.has(work));
    if (again.length > 0) throw cliError("demo_failed", `the run ${run.id} repeated settled calls: ${again.slice(0, 5).join(", ")}`);
    for (const work of run.settled) settled.add(work);
  }
}
