/**
 * The journal of one actor in SQL: a chain of entries, each with the position of the one before it, and marks along it.
 *
 * An index over (actor, seq) of all entries would be one more page for each actor that takes a step: with a thousand actors that is most
 * of what a commit writes. So only each sixteenth entry is in the index (a mark), and `heads` says where each actor's chain ends; its rows
 * are small and lie close together. A page of the chain is walked backwards from the first mark behind it, or from the head.
 *
 * Guarantees: marks, links and heads are never trusted. A walk must give the very entries that were asked for, without a gap, and a head
 * must not be behind its actor's row, nor behind a mark. Otherwise the journal itself is searched, which takes longer and gives what is
 * there (ACT-10).
 *
 * Next: `sqlite-reader.ts`.
 */

import type { PlacedJournalRow } from "../actor/store.ts";
import { breach } from "./check.ts";
import type { Connection } from "./connection.ts";
import { JOURNAL } from "./sqlite-row.ts";

/** Where an actor's chain ends; without a position where that is not to be believed. No row where nothing speaks of such an actor. */
const HEAD = `
SELECT heads.seq, entry.position FROM (SELECT ? AS actor) AS asked
LEFT JOIN heads USING (actor)
LEFT JOIN journal AS entry ON entry.position = heads.position AND entry.actor = heads.actor AND entry.seq = heads.seq
  AND entry.seq >= coalesce((SELECT seq FROM actors WHERE address = heads.actor), 0)
  AND NOT EXISTS (SELECT 1 FROM journal INDEXED BY journal_marks WHERE actor = heads.actor AND seq > heads.seq AND seq % 16 = 1)
WHERE heads.actor IS NOT NULL OR EXISTS (SELECT 1 FROM actors WHERE address = asked.actor)
  OR EXISTS (SELECT 1 FROM journal INDEXED BY journal_marks WHERE actor = asked.actor AND seq % 16 = 1)`;

/** Entries of an actor from one of its marks, or from its head, back to the entry behind `after`. */
const WALK = `
WITH RECURSIVE chain (position, seq, earlier) AS (
  SELECT position, seq, before FROM journal WHERE position = coalesce(
    (SELECT position FROM journal INDEXED BY journal_marks WHERE actor = ? AND seq >= ? AND seq % 16 = 1 ORDER BY seq LIMIT 1), ?)
  UNION ALL
  SELECT entry.position, entry.seq, entry.before FROM chain CROSS JOIN journal AS entry ON entry.position = chain.earlier
  WHERE chain.seq > ? AND entry.seq < chain.seq AND entry.actor = ?
)`;

const CHAIN = `${WALK} SELECT ${JOURNAL} FROM journal WHERE position IN (SELECT position FROM chain WHERE seq <= ?) AND actor = ? ORDER BY seq`;
const REMOVE_CHAIN = `${WALK} DELETE FROM journal WHERE position IN (SELECT position FROM chain) AND actor = ?`;

/** Reads all of the journal. */
const SEARCH = `SELECT ${JOURNAL} FROM journal WHERE actor = ? AND seq > ? ORDER BY seq, position LIMIT ?`;

/** The first entry begins a chain; each later one goes where the chain ends. */
const FIRST_HEAD = "INSERT INTO heads (actor, seq, position) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
const NEXT_HEAD = "UPDATE heads SET seq = ?, position = ? WHERE actor = ? AND seq = ?";

/** Entries of one actor with seq > `after`, ascending, at most `limit`. */
export function chainOf(connection: Connection, actor: string, after: number, limit: number): PlacedJournalRow[] {
  const head = connection.get<{ seq: number | null; position: number | null }>(HEAD, actor);
  if (!head) return [];
  if (head.seq !== null && head.position !== null) {
    const count = Math.min(head.seq - after, limit);
    if (count <= 0) return [];
    const rows = connection.all<PlacedJournalRow>(CHAIN, actor, after + count, head.position, after + 1, actor, after + count, actor);
    if (rows.length === count && rows.every((row, index) => row.seq === after + 1 + index)) return rows;
  }
  return connection.all(SEARCH, actor, after, limit);
}

/** Moves the head of a chain to an entry that was just written with the head's position before it. */
export function moveHead(connection: Connection, actor: string, seq: number, position: number): void {
  const moved = seq === 1 ? connection.run(FIRST_HEAD, actor, seq, position) : connection.run(NEXT_HEAD, seq, position, actor, seq - 1);
  if (moved.changes === 0) relink(connection, actor, seq, position);
}

/** A head that is not where the entry goes: the entry exists already, or the head is damaged and is made anew from the journal. */
function relink(connection: Connection, actor: string, seq: number, position: number): void {
  const others = connection.all<{ seq: number; position: number }>(
    "SELECT seq, position FROM journal WHERE actor = ? AND position <> ? ORDER BY seq",
    actor,
    position,
  );
  if (others.some((other) => other.seq === seq)) {
    // Whoever goes on after the refusal must not commit it.
    connection.run("DELETE FROM journal WHERE position = ?", position);
    throw breach(`journal entry ${seq} of ${actor} exists already`);
  }
  const before = others.findLast((other) => other.seq < seq)?.position ?? 0;
  connection.run("UPDATE journal SET before = ? WHERE position = ?", before, position);
  const end = others.findLast((other) => other.seq > seq) ?? { seq, position };
  connection.run("INSERT OR REPLACE INTO heads (actor, seq, position) VALUES (?, ?, ?)", actor, end.seq, end.position);
}

/** Removes all entries of an actor that has `count` of them. */
export function removeChain(connection: Connection, actor: string, count: number): void {
  const head = connection.get<{ position: number | null }>(HEAD, actor);
  const removed = connection.run(REMOVE_CHAIN, actor, Number.MAX_SAFE_INTEGER, head?.position ?? 0, 1, actor, actor).changes;
  if (removed !== count) connection.run("DELETE FROM journal WHERE actor = ?", actor);
  connection.run("DELETE FROM heads WHERE actor = ?", actor);
}
