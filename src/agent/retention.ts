/**
 * Retention of the agent's actors: a session goes as a whole, with all its runs and handoffs, or not at all.
 *
 * Guarantees: nothing of a session that is not archived goes, so no turn loses what was said before it; the session itself goes last,
 * and each run after what goes on from it, so that what a crash leaves is a shorter conversation, which the next retention finds again.
 */

import { isFaultOf, isStoreFailure } from "../actor/cascade.ts";
import type { Engine } from "../actor/engine.ts";
import { inflated } from "../actor/journal.ts";
import { entriesOf } from "../actor/page.ts";
import type { Candidate, Retained, RetentionPolicy } from "../actor/retention.ts";
import type { ActorRow, StoreReader } from "../actor/store.ts";
import { agentError } from "./error.ts";

/** Machines whose actors are parts of a session. */
export const SESSION_PARTS: readonly string[] = ["run", "handoff", "interaction", "work-plan"];

/** Forgets what the policy lets go: archived sessions as wholes, and actors of other machines each alone. Throws `input_invalid`. */
export async function retainSessions(engine: Engine, policy: RetentionPolicy): Promise<Retained> {
  const part = Array.isArray(policy?.machines) && policy.machines.find((machine) => SESSION_PARTS.includes(machine));
  if (part)
    throw agentError("input_invalid", `the policy is wrong at machines: a ${part} goes with its session; say session`, {
      details: { path: "machines" },
    });
  return engine.retain(policy, (row) => {
    if (row.machine === "session") return wholeSession(engine.reader, row);
    return SESSION_PARTS.includes(row.machine) ? [] : [row];
  });
}

/** A session and all that came of it, each before what it came of; nothing where its record is not whole. */
export function wholeSession(reader: StoreReader, session: ActorRow): readonly Candidate[] {
  const whole: Candidate[] = [];
  const open = [session.address];
  for (let address = open.pop(); address !== undefined; address = open.pop()) {
    const row = reader.actor(address);
    if (!row) {
      // Gone already, and before it all that came of it.
      if (reader.tombstone(address)) continue;
      return [];
    }
    const { status, quarantine, seq, updatedMs } = row;
    whole.push({ address, status, quarantine, seq, updatedMs });
    const created = createdBy(reader, row);
    if (!created) return [];
    open.push(...created.reverse());
  }
  return whole.reverse();
}

/** Runs and handoffs that an actor created, in their order; undefined where its journal cannot tell. */
function createdBy(reader: StoreReader, { address, seq }: ActorRow): string[] | undefined {
  const created: string[] = [];
  let entries = 0;
  try {
    for (const row of entriesOf(reader, address)) {
      entries++;
      const { actions } = inflated(reader, { ...row, event: "", facts: "" });
      if (!actions.includes('"create"')) continue;
      for (const { type, machine, id } of JSON.parse(actions)) if (type === "create") created.push(`${machine}/${id}`);
    }
  } catch (error) {
    // A blob that is missing is damage in this one record, and no failure of the store.
    if (isStoreFailure(error) && !isFaultOf(address, error)) throw error;
    return undefined;
  }
  return entries === seq ? created : undefined;
}
