/**
 * The beginning of an ownership: the next epoch, and the timers moved over the time without an owner (ACT-8).
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
/**
 * Where the end of a chain is not believed, the journal is searched: an actor whose row is behind its journal is then found to be, and is
 * set aside. A row says itself where its chain ends, so that one which was put back whole, as by a write that a disk has lost, would
 * contradict nothing.
 */
const DISTRUST = `
UPDATE actors SET position = 0 WHERE address IN (
  SELECT actor FROM journal WHERE position > ? GROUP BY actor HAVING max(journal.seq) > (SELECT seq FROM actors WHERE address = journal.actor)
)`;

/** Begins the next epoch inside a transaction and returns it. */
export function beginEpoch(connection: Connection, standing: Standing, atMs: number): number {
  checkRow({ atMs });
  connection.run(DISTRUST, standing.lastPosition - TAIL);
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
