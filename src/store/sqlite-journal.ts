/**
 * The journal of one actor in SQL: a chain of entries, each with the position of the one before it, and marks along it.
 *
 * An index over (actor, seq) of all entries would be one more page for each actor that takes a step: with a thousand actors that is most
 * of what a commit writes. So only each sixteenth entry is in the index (a mark), and the actor's row says where its chain ends. A page of
 * the chain is walked backwards from the first mark behind it, or from the end.
 *
 * Guarantees: marks, links and ends are never trusted. A walk must give the very entries that were asked for, without a gap, and an end
 * must not be behind its actor's revision, nor behind a mark. Otherwise the journal itself is searched, which takes longer and gives what is
 * there (ACT-10).
 *
 * Next: `sqlite-reader.ts`.
 */

import type { PlacedJournalRow } from "../actor/store.ts";
import type { Connection } from "./connection.ts";
import { JOURNAL } from "./sqlite-row.ts";

/** Where an actor's chain ends; without a position where that is not to be believed. No row where nothing speaks of such an actor. */
const END = `
SELECT entry.position, entry.seq FROM (SELECT ? AS actor, ? AS appended) AS asked
LEFT JOIN actors ON actors.address = asked.actor
LEFT JOIN journal AS entry ON entry.position = coalesce(asked.appended, actors.position) AND entry.actor = asked.actor
  AND entry.seq >= coalesce(actors.seq, 0)
  AND NOT EXISTS (SELECT 1 FROM journal INDEXED BY journal_marks WHERE actor = asked.actor AND seq > entry.seq AND seq % 16 = 1)
WHERE entry.position IS NOT NULL OR actors.address IS NOT NULL
  OR EXISTS (SELECT 1 FROM journal INDEXED BY journal_marks WHERE actor = asked.actor AND seq % 16 = 1)`;

/** Entries of an actor from one of its marks, or from its end, back to the entry behind `after`. */
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

/** Reads all of the journal, and sorts no more than numbers. */
const SEARCH = `
SELECT ${JOURNAL} FROM journal
WHERE position IN (SELECT position FROM journal WHERE actor = ? AND seq > ? ORDER BY seq, position LIMIT ?) ORDER BY seq, position`;

/** What is asked of an actor's journal. */
export interface Asked {
  readonly actor: string;
  /** Only entries with a higher seq. */
  readonly after: number;
  readonly limit: number;
  /** Position of its last entry, where its row may not say so yet. */
  readonly end: number | undefined;
}

/** Entries of one actor, ascending. */
export function chainOf(connection: Connection, { actor, after, limit, end }: Asked): PlacedJournalRow[] {
  const last = endOf(connection, actor, end);
  if (!last) return [];
  if (last.position !== null) {
    const count = Math.min(last.seq - after, limit);
    if (count <= 0) return [];
    const rows = connection.all<PlacedJournalRow>(CHAIN, actor, after + count, last.position, after + 1, actor, after + count, actor);
    if (rows.length === count && rows.every((row, index) => row.seq === after + 1 + index)) return rows;
  }
  return connection.all(SEARCH, actor, after, limit);
}

type End = { readonly position: number; readonly seq: number } | { readonly position: null };

function endOf(connection: Connection, actor: string, appended: number | undefined): End | undefined {
  return connection.get(END, actor, appended ?? null);
}

/** Removes all entries of an actor that has `count` of them. */
export function removeChain(connection: Connection, actor: string, count: number): void {
  const end = endOf(connection, actor, undefined);
  const removed = connection.run(REMOVE_CHAIN, actor, Number.MAX_SAFE_INTEGER, end?.position ?? 0, 1, actor, actor).changes;
  if (removed !== count) connection.run("DELETE FROM journal WHERE actor = ?", actor);
}
