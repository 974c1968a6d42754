/** Pages: a list of any length walked in bounded memory. A list that is read while others write goes on with what they added. */

import { inflated } from "./journal.ts";
import type { PlacedJournalRow, StoreReader } from "./store.ts";

/** Rows that one page may have, at most. */
export const PAGE_LIMIT = 1000;

/** Rows that are read at a time. */
export const PAGE = 500;

/** The pages of a list; `cursor` gives the place behind a row. Each is read when the one before it has been gone through. */
export function* pagesOf<Row>(read: (after: number) => readonly Row[], cursor: (row: Row) => number, from = 0): Generator<readonly Row[]> {
  for (let after = from; ; ) {
    const page = read(after);
    yield page;
    const last = page.at(-1);
    if (!last || page.length < PAGE) return;
    after = cursor(last);
  }
}

/** All rows of a list, page by page. */
export function* pages<Row>(read: (after: number) => readonly Row[], cursor: (row: Row) => number, from = 0): Generator<Row> {
  for (const page of pagesOf(read, cursor, from)) yield* page;
}

/** All entries of one actor, page by page. */
export function entriesOf(reader: StoreReader, actor: string, after = 0): Generator<PlacedJournalRow> {
  return pages(
    (cursor) => reader.journal(actor, { after: cursor, limit: PAGE }),
    (row) => row.seq,
    after,
  );
}

/** One entry of an actor; also for a number that no entry can have. */
export function entryAt(reader: StoreReader, actor: string, seq: number): PlacedJournalRow | undefined {
  if (!Number.isSafeInteger(seq) || seq < 1) return undefined;
  const row = reader.journal(actor, { after: seq - 1, limit: 1 })[0];
  return row?.seq === seq ? row : undefined;
}

/** All entries of one actor, with their large columns. */
export function* wholeEntriesOf(reader: StoreReader, actor: string, after = 0): Generator<PlacedJournalRow> {
  for (const row of entriesOf(reader, actor, after)) yield inflated(reader, row);
}
