/** Pages: a list of any length walked in bounded memory. A list that is read while others write goes on with what they added. */

import type { PlacedJournalRow, StoreReader } from "./store.ts";

/** Rows that are read at a time. */
export const PAGE = 500;

/** All rows of a list, page by page; `cursor` gives the place behind a row. */
export function* pages<Row>(read: (after: number) => readonly Row[], cursor: (row: Row) => number, from = 0): Generator<Row> {
  for (let after = from; ; ) {
    const page = read(after);
    yield* page;
    const last = page.at(-1);
    if (!last || page.length < PAGE) return;
    after = cursor(last);
  }
}

/** All entries of one actor, page by page. */
export function entriesOf(reader: StoreReader, actor: string, after = 0): Generator<PlacedJournalRow> {
  return pages(
    (cursor) => reader.journal(actor, { after: cursor, limit: PAGE }),
    (row) => row.seq,
    after,
  );
}
