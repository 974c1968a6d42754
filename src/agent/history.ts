/** History: what the runs of a lineage did, read from their journals in one pass each. */

import type { Json } from "../actor/json.ts";
import { wholeEntriesOf } from "../actor/page.ts";
import type { StoreReader } from "../actor/store.ts";
import type { Reconcile } from "./backend.ts";
import type { Segment } from "./boundary.ts";

/** A tool call of which no outcome is recorded. */
export interface UnknownCall {
  readonly runId: string;
  readonly callId: string;
  readonly name: string;
  readonly args: Json;
  readonly reconcile: Reconcile | null;
}

/** What runs did that matters to whoever goes on. */
export interface History {
  /** Names of all tools that were called, sorted. */
  readonly called: readonly string[];
  /** Calls of the last run without an outcome; those of earlier ones were dealt with by the run after it. */
  readonly unknown: readonly UnknownCall[];
  /** True where a run was told that a person had denied a permission. */
  readonly isDenied: boolean;
  /** Ids of the permissions that were asked for and whose answers no run was told. */
  readonly undecided: readonly string[];
}

/** Reads the journals of the segments. */
export function historyOf(reader: StoreReader, segments: readonly Segment[]): History {
  const called = new Set<string>();
  const undecided = new Set<string>();
  let isDenied = false;
  let unknown: UnknownCall[] = [];
  for (const { runId } of segments) {
    const calls = new Map<string, UnknownCall>();
    unknown = [];
    for (const row of wholeEntriesOf(reader, `run/${runId}`)) {
      if (!/"(tool\.(called|settled|unknown)|run\.waiting|permission\.decided)"/.test(row.facts)) continue;
      for (const fact of JSON.parse(row.facts)) {
        if (fact.type === "run.waiting" && fact.kind === "permission") undecided.add(fact.id);
        if (fact.type === "permission.decided") {
          undecided.delete(fact.interactionId);
          isDenied ||= !fact.allow;
        }
        // What is settled is not kept in memory: at most so many as may be open at once are.
        if (fact.type === "tool.settled") {
          calls.delete(fact.callId);
          // One that the model only imagined was never there, and is missed by nobody.
          if (JSON.parse(row.event).outcome?.error?.code !== "tool_unknown") called.add(fact.name);
        }
        if (fact.type === "tool.called") {
          const { callId, name, args, reconcile } = JSON.parse(row.event);
          calls.set(callId, { runId, callId, name, args, reconcile });
        }
        if (fact.type === "tool.unknown") {
          const { callId, name } = fact;
          called.add(name);
          unknown.push(calls.get(callId) ?? { runId, callId, name, args: null, reconcile: null });
        }
      }
    }
  }
  return { called: [...called].sort(), unknown, isDenied, undecided: [...undecided] };
}
