/**
 * The beginning of an ownership: the next epoch, and the timers moved over the time without an owner (ACT-8). And what is looked at where
 * others may have written: at a beginning, and behind another connection's commit.
 *
 * Guarantees: what a `remaining` timer has left is counted from the last commit to now by the root's own record of both, so neither a
 * jump of the clock while nobody owned the root nor a death right after this transaction lengthens or shortens it.
 */

import { breach, checkRow } from "./check.ts";
import type { Connection } from "./connection.ts";
import type { Standing } from "./sqlite-reader.ts";

// `policy <> 'absolute'` is the condition of the partial index: only a query that repeats it is answered from that index.
// Bounded, so that no stored number, however damaged, makes the sum a fraction, which the column would refuse (ACT-10).
const REBASE = `
UPDATE timers SET due_ms = min(${Number.MAX_SAFE_INTEGER}, ? + max(0, due_ms - ?)) WHERE policy <> 'absolute' AND policy = 'remaining'`;
const RESTART = `
UPDATE timers SET due_ms = min(${Number.MAX_SAFE_INTEGER}, ? + max(0, delay_ms)) WHERE policy <> 'absolute' AND policy = 'restart'`;
const ARM = "UPDATE timers SET state = 'armed' WHERE state = 'parked'";
const BEGIN = "UPDATE root SET epoch = epoch + 1, opened_ms = ?, opened_position = ?, rested_ms = 0 RETURNING epoch";

/** Entries at the end of the journal that the actors' rows are held against. */
const TAIL = 1024;
/** The entry behind the one that a row is at is that actor's own: its row was put back. */
const DISTRUST = `
UPDATE actors SET position = 0 WHERE ordinal IN (
  SELECT behind.ordinal FROM journal CROSS JOIN actors AS behind ON behind.address = journal.actor
  WHERE journal.position > coalesce((SELECT position FROM journal ORDER BY position DESC LIMIT 1 OFFSET ${TAIL}), 0)
    AND journal.seq = behind.seq + 1 AND journal.before = behind.position AND behind.position <> 0
)`;

/**
 * Forgets where the chain of an actor ends whose row was put back whole to an earlier revision, as by a write that a disk has lost: such a row
 * contradicts nothing but the journal behind it, and says itself where that ends. It is searched for then, the row is found to be behind it,
 * and the actor is set aside (ACT-10). Looks at the last 1,024 entries.
 */
export function distrustRows(connection: Connection): void {
  connection.run(DISTRUST);
}

/** Begins the next epoch inside a transaction and returns it. */
export function beginEpoch(connection: Connection, standing: Standing, atMs: number): number {
  checkRow({ atMs });
  distrustRows(connection);
  connection.run(REBASE, atMs, lastCommitMs(connection, standing));
  connection.run(RESTART, atMs);
  connection.run(ARM);
  // From here on the last commit is this one, and timers are due by its clock: a second beginning without an entry in between
  // counts from here.
  const row = connection.get<{ epoch: number }>(BEGIN, atMs, standing.lastPosition);
  if (!row) throw breach("the root row is missing");
  return row.epoch;
}

/** When the ownership that ended was last there: its orderly end, its last entry, or its beginning where it wrote none. */
export function lastCommitMs(connection: Connection, { openedMs, openedPosition, restedMs, keptPosition }: Standing): number {
  if (restedMs > 0) return restedMs;
  // Its last entry may be deleted: then the root remembers that one's time, and what is left in the journal is older.
  const isDeleted = restedMs < 0;
  const sql = "SELECT at_ms AS atMs FROM journal WHERE position > ? ORDER BY position DESC LIMIT 1";
  const last = connection.get<{ atMs: number }>(sql, isDeleted ? Math.max(openedPosition, keptPosition) : openedPosition);
  return last?.atMs ?? (isDeleted ? -restedMs : openedMs);
}
