/** Reading the machines' snapshots from a store, typed. */

import type { SnapshotFrom } from "xstate";
import { handoff, interaction, run, session, workPlan } from "../../machines/index.ts";
import type { StoreReader } from "../actor/store.ts";
import { agentError } from "./error.ts";

const byName = { session, run, handoff, interaction, "work-plan": workPlan };

export type AgentMachine = keyof typeof byName;
export type SnapshotOf<Name extends AgentMachine> = SnapshotFrom<(typeof byName)[Name]>;
export type ContextOf<Name extends AgentMachine> = SnapshotOf<Name>["context"];

/** The context of a stored actor, or undefined where there is none. Throws `snapshot_damaged`. */
export function contextOf<Name extends AgentMachine>(reader: StoreReader, machine: Name, id: string): ContextOf<Name> | undefined {
  const row = reader.actor(`${machine}/${id}`);
  if (!row) return undefined;
  try {
    return JSON.parse(row.snapshot).context;
  } catch (cause) {
    throw agentError("snapshot_damaged", `the snapshot of ${row.address} cannot be read`, { cause, details: { actor: row.address } });
  }
}

/** The run that a source continues; null in a run that continues none. */
export function sourceRunId(source: { readonly kind: string; readonly runId?: string }): string | null {
  return source.runId ?? null;
}
