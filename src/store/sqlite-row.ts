/**
 * How rows look in SQL: the columns of each table under the names of the contract, and what is read from text again.
 *
 * Guarantees: a record that cannot be read stands for itself and stops no list that contains it (ACT-10).
 *
 * Next: `sqlite-page.ts`.
 */

import { checkOwn, later, own } from "../actor/own-schema.ts";
import type { ActorRow, Quarantine } from "../actor/store.ts";

/** Columns of `actors`. */
export const ACTOR = `address, machine, id, version, definition, status, state, seq, hash, snapshot, epoch,
  created_ms AS createdMs, updated_ms AS updatedMs, quarantine`;
/** Columns of `journal`. */
export const JOURNAL = "position, actor, seq, at_ms AS atMs, cause, event, facts, actions, version, hash";
/** Columns of `effects`; with the table's name, for they are joined with actors. */
export const EFFECT = `effects.key, effects.actor, effects.name, effects.params, effects.scope, effects.state, effects.child, effects.epoch,
  effects.opened_ms AS openedMs, effects.error`;
/** Columns of `timers`. */
export const TIMER = "key, actor, id, event, delay, policy, delay_ms AS delayMs, due_ms AS dueMs, state";
/** Columns of `dead_letters`. */
export const DEAD_LETTER = "position, receiver, sender, seq, event, reason, at_ms AS atMs";
/** Columns of `blobs` without the bytes; their length is known without reading them. */
export const BLOB = "ordinal, digest, length(bytes) AS size, stored_ms AS storedMs";
/** Columns of `tombstones`. */
export const TOMBSTONE = "address, machine, version, state, seq, hash, deleted_ms AS deletedMs";

const quarantineSchema = later(() => {
  const text = own.string();
  return own.object({ code: text, message: text, atMs: own.number(), event: own.exactOptional(text), source: own.exactOptional(text) });
});

/** An actor's row with its quarantine still as text. */
export type StoredActor<Row extends ActorRow = ActorRow> = Omit<Row, "quarantine"> & { readonly quarantine: string | null };

/** An actor's row as the contract has it. */
export function readActor<Row extends ActorRow>(row: StoredActor<Row>): Row {
  return { ...row, quarantine: row.quarantine === null ? null : readQuarantine(row.quarantine) } as unknown as Row;
}

/** A quarantine record that cannot be read keeps its actor aside all the same. */
function readQuarantine(text: string): Quarantine {
  try {
    const found = checkOwn(quarantineSchema(), JSON.parse(text));
    if (found.ok) return found.data;
  } catch {
    // Answered below.
  }
  return { code: "journal_damaged", message: "The record of why this actor was set aside cannot be read.", atMs: 0 };
}
