/**
 * The beginning of an ownership: the next epoch, and the timers moved over the time without an owner (ACT-8).
 *
 * Guarantees: what a `remaining` timer has left is counted from the last commit to now by the root's own record of both, so neither a
 * jump of the clock while nobody owned the root nor a death right after this transaction lengthens or shortens it.
 */

import { breach, checkRow } from "./check.ts";
import type { Connection } from "./connection.ts";
import type { Standing } from "./sqlite-reader.ts";

// Bounded, so that no stored number, however damaged, makes the sum a fraction, which the column would refuse (ACT-10).
const REBASE = `
UPDATE timers SET due_ms = min(${Number.MAX_SAFE_INTEGER}, ? + max(0, due_ms - ?)) WHERE policy <> 'absolute' AND policy = 'remaining'`;
const RESTART = `
UPDATE timers SET due_ms = min(${Number.MAX_SAFE_INTEGER}, ? + max(0, delay_ms)) WHERE policy <> 'absolute' AND policy = 'restart'`;
const ARM = "UPDATE timers SET state = 'armed' WHERE state = 'parked'";
const BEGIN = "UPDATE root SET epoch = epoch + 1, opened_ms = ?, opened_position = ? RETURNING epoch";

/** Begins the next epoch inside a transaction and returns it. */
export function beginEpoch(connection: Connection, standing: Standing, atMs: number): number {
  checkRow({ atMs });
  connection.run(REBASE, atMs, lastCommitMs(connection, standing));
  connection.run(RESTART, atMs);
  connection.run(ARM);
  // From here on the last commit is this one, and timers are due by its clock: a second beginning without an entry in between
  // counts from here.
  const row = connection.get<{ epoch: number }>(BEGIN, atMs, standing.lastPosition);
  if (!row) throw breach("the root row is missing");
  return row.epoch;
}

/** The time of the last entry of the ownership that ended; of its beginning where it wrote none. */
function lastCommitMs(connection: Connection, { openedMs, openedPosition }: Standing): number {
  const sql = "SELECT at_ms AS atMs FROM journal WHERE position > ? ORDER BY position DESC LIMIT 1";
  return connection.get<{ atMs: number }>(sql, openedPosition)?.atMs ?? openedMs;
}
