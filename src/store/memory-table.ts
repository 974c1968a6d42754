/**
 * The tables of the memory store, with an undo log in place of a transaction.
 *
 * Guarantees: after `undo` every row and every position is as it was at the last `keep`; only ordinals may skip numbers.
 */

import { breach } from "./check.ts";

/** What was done since the last `keep`, as the steps that take it back. */
export class UndoLog {
  #steps: (() => void)[] = [];

  add(step: () => void): void {
    this.#steps.push(step);
  }

  keep(): void {
    this.#steps = [];
  }

  undo(): void {
    for (const step of this.#steps.reverse()) step();
    this.#steps = [];
  }
}

/** Rows by key, listed in the order of their ordinals. A used ordinal is not given out again. Rows are frozen, so they can be handed out. */
export class KeyedTable<Row extends object> {
  readonly #log: UndoLog;
  #entries = new Map<string, { readonly ordinal: number; readonly row: Row }>();
  #lastOrdinal = 0;
  /** False after a deletion was taken back: a Map puts the returned entry at its end. */
  #inOrder = true;

  constructor(log: UndoLog) {
    this.#log = log;
  }

  get(key: string): Row | undefined {
    return this.#entries.get(key)?.row;
  }

  put(key: string, row: Row): void {
    const before = this.#entries.get(key);
    if (before) {
      this.#log.add(() => this.#entries.set(key, before));
    } else {
      this.#lastOrdinal++;
      this.#log.add(() => this.#entries.delete(key));
    }
    this.#entries.set(key, { ordinal: before?.ordinal ?? this.#lastOrdinal, row: Object.freeze(row) });
  }

  delete(key: string): void {
    const before = this.#entries.get(key);
    if (!before) return;
    this.#entries.delete(key);
    this.#log.add(() => {
      this.#entries.set(key, before);
      this.#inOrder = false;
    });
  }

  /** All rows that fit, in the order of their ordinals. */
  all(fits: (row: Row) => boolean = () => true): (Row & { readonly ordinal: number })[] {
    return this.page({ after: 0, limit: Infinity }, fits);
  }

  /** Rows that fit, with an ordinal above `after`, at most `limit`. */
  page(bounds: { readonly after: number; readonly limit: number }, fits: (row: Row) => boolean): (Row & { readonly ordinal: number })[] {
    if (!this.#inOrder) {
      this.#entries = new Map([...this.#entries].sort(([, a], [, b]) => a.ordinal - b.ordinal));
      this.#inOrder = true;
    }
    const found: (Row & { readonly ordinal: number })[] = [];
    for (const { ordinal, row } of this.#entries.values()) {
      if (found.length >= bounds.limit) break;
      if (ordinal > bounds.after && fits(row)) found.push({ ...row, ordinal });
    }
    return found;
  }
}

/** Rows with rising positions 1, 2, 3, …; a used position is not given out again. Frozen as well. */
export class PlacedTable<Row extends object> {
  readonly #log: UndoLog;
  #rows: (Row & { readonly position: number })[] = [];
  #lastPosition = 0;

  constructor(log: UndoLog) {
    this.#log = log;
  }

  get lastPosition(): number {
    return this.#lastPosition;
  }

  get last(): (Row & { readonly position: number }) | undefined {
    return this.#rows.at(-1);
  }

  append(row: Row): Row & { readonly position: number } {
    const placed = Object.freeze({ ...row, position: ++this.#lastPosition });
    this.#rows.push(placed);
    this.#log.add(() => {
      this.#rows.pop();
      this.#lastPosition--;
    });
    return placed;
  }

  /** Removes the rows that fit. */
  remove(fits: (row: Row & { readonly position: number }) => boolean): void {
    const before = this.#rows;
    this.#rows = before.filter((row) => !fits(row));
    this.#log.add(() => {
      this.#rows = before;
    });
  }

  /** Rows that fit, with a position above `after`, at most `limit`. */
  page(bounds: { readonly after: number; readonly limit: number }, fits: (row: Row) => boolean): (Row & { readonly position: number })[] {
    const found: (Row & { readonly position: number })[] = [];
    for (let index = firstAfter(this.#rows, bounds.after, (row) => row.position); found.length < bounds.limit; index++) {
      const row = this.#rows[index];
      if (!row) break;
      if (fits(row)) found.push(row);
    }
    return found;
  }
}

/** The entries of each actor, in the order of their seqs. */
export class SequenceIndex<Row extends { readonly actor: string; readonly seq: number }> {
  readonly #log: UndoLog;
  readonly #rows = new Map<string, Row[]>();

  constructor(log: UndoLog) {
    this.#log = log;
  }

  has(actor: string, seq: number): boolean {
    const rows = this.#rows.get(actor) ?? [];
    return rows[firstAfter(rows, seq - 1, seqOf)]?.seq === seq;
  }

  add(row: Row): void {
    const rows = this.#rows.get(row.actor) ?? [];
    if (this.has(row.actor, row.seq)) throw breach(`journal entry ${row.seq} of ${row.actor} exists already`);
    this.#rows.set(row.actor, rows);
    rows.splice(firstAfter(rows, row.seq, seqOf), 0, row);
    this.#log.add(() => rows.splice(rows.indexOf(row), 1));
  }

  /** Removes all rows of one actor. */
  remove(actor: string): void {
    const rows = this.#rows.get(actor);
    if (!rows) return;
    this.#rows.delete(actor);
    this.#log.add(() => this.#rows.set(actor, rows));
  }

  page(actor: string, bounds: { readonly after: number; readonly limit: number }): Row[] {
    const rows = this.#rows.get(actor) ?? [];
    const start = firstAfter(rows, bounds.after, seqOf);
    return rows.slice(start, start + bounds.limit);
  }
}

const seqOf = (row: { readonly seq: number }) => row.seq;

/** Index of the first row that is placed above `after`: long journals are paged at a flat cost. */
function firstAfter<Row>(rows: readonly Row[], after: number, placeOf: (row: Row) => number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const row = rows[middle];
    if (row === undefined || placeOf(row) > after) high = middle;
    else low = middle + 1;
  }
  return low;
}
