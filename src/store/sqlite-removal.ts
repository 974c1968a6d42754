/**
 * What retention removes from the database: final actors, old answers, old dead letters.
 *
 * Guarantees: a position that was given out stays given out; of a removed actor a tombstone is left; everything that was removed of
 * the answers and the dead letters is older than the watermark, and a watermark rises only as far as that needs.
 * Refuses to decide what is old enough, or worth keeping: the engine does.
 *
 * Next: `sqlite-epoch.ts`.
 */

import type { ActorRow } from "../actor/store.ts";
import { breach, pageBounds } from "./check.ts";
import type { Connection } from "./connection.ts";
import { watermark } from "./retention.ts";
import { removeChain } from "./sqlite-journal.ts";

const PUT_TOMBSTONE = `
INSERT INTO tombstones (address, machine, version, state, seq, hash, deleted_ms) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (address) DO UPDATE SET
  machine = excluded.machine, version = excluded.version, state = excluded.state, seq = excluded.seq, hash = excluded.hash,
  deleted_ms = excluded.deleted_ms`;

/** Below 0, which tells it from the time of an orderly end; an entry of an ownership before says nothing of this one. */
const KEEP_TIME = "UPDATE root SET rested_ms = -? WHERE opened_position < ?";

const REMOVE_WITH_ACTOR = [
  "DELETE FROM answers WHERE actor = ?",
  "DELETE FROM identities WHERE actor = ?",
  "DELETE FROM effects WHERE actor = ?",
  "DELETE FROM timers WHERE actor = ?",
  "DELETE FROM dead_letters WHERE receiver = ?",
  "DELETE FROM actors WHERE address = ?",
];

// One more than may be removed: whether the limit cut it short, and at which time.
const OLD_ANSWERS = "SELECT actor, key, at_ms AS atMs FROM answers INDEXED BY answers_by_time WHERE at_ms < ? ORDER BY at_ms LIMIT ? + 1";
/** Those that wait are delivered when their receiver can take them. */
const OLD_DEAD_LETTERS = `
SELECT position, at_ms AS atMs FROM dead_letters INDEXED BY dead_letters_by_time
WHERE at_ms < ? AND NOT (
  reason IN (SELECT value FROM json_each(?))
  AND EXISTS (SELECT 1 FROM actors WHERE address = receiver AND (status = 'active' OR quarantine IS NOT NULL))
)
ORDER BY at_ms, position LIMIT ? + 1`;

/** Removes a final actor and everything of it. Throws where it is missing or not final. */
export function removeActor(
  connection: Connection,
  { address, atMs, lastPosition }: { readonly address: string; readonly atMs: number; readonly lastPosition: number },
): void {
  type Row = Pick<ActorRow, "machine" | "version" | "status" | "state" | "seq" | "hash">;
  const row = connection.get<Row>("SELECT machine, version, status, state, seq, hash FROM actors WHERE address = ?", address);
  if (row?.status !== "final") throw breach(`${address} cannot be deleted: it is ${row ? "not final" : "not there"}`);
  const last = connection.get<{ actor: string; atMs: number }>("SELECT actor, at_ms AS atMs FROM journal WHERE position = ?", lastPosition);
  if (last?.actor === address) {
    keepPosition(connection, lastPosition);
    connection.run(KEEP_TIME, last.atMs, lastPosition);
  }
  connection.run(PUT_TOMBSTONE, address, row.machine, row.version, row.state, row.seq, row.hash, atMs);
  removeChain(connection, address, row.seq);
  for (const sql of REMOVE_WITH_ACTOR) connection.run(sql, address);
}

/** Remembers the last position apart from the journal, where its row may go. */
export function keepPosition(connection: Connection, position: number): void {
  connection.run("UPDATE root SET kept_position = max(kept_position, ?)", position);
}

/** Removes answers given before `beforeMs`, oldest first; returns how many. */
export function removeAnswers(connection: Connection, beforeMs: number, limit: number): number {
  const found = connection.all<{ actor: string; key: string; atMs: number }>(OLD_ANSWERS, beforeMs, pageBounds({ limit }).limit);
  const removed = found.slice(0, limit);
  for (const { actor, key } of removed) connection.run("DELETE FROM answers WHERE actor = ? AND key = ?", actor, key);
  if (removed.length > 0) connection.run("UPDATE root SET answers_ms = max(answers_ms, ?)", watermark(found, limit, beforeMs));
  return removed.length;
}

/** Removes dead letters from before `beforeMs` that do not wait for somebody, oldest first; returns how many. */
export function removeDeadLetters(connection: Connection, beforeMs: number, limit: number, waiting: readonly string[]): number {
  const bound = pageBounds({ limit }).limit;
  const found = connection.all<{ position: number; atMs: number }>(OLD_DEAD_LETTERS, beforeMs, JSON.stringify(waiting), bound);
  const removed = found.slice(0, limit);
  for (const { position } of removed) connection.run("DELETE FROM dead_letters WHERE position = ?", position);
  if (removed.length > 0) connection.run("UPDATE root SET dead_letters_ms = max(dead_letters_ms, ?)", watermark(found, limit, beforeMs));
  return removed.length;
}
