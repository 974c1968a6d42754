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

interface Placed<Row> {
  readonly ordinal: number;
  readonly row: Row;
}

/** Rows by key, in the order of their ordinals. */
class Ordered<Row> {
  #entries = new Map<string, Placed<Row>>();
  #last = 0;
  #inOrder = true;

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Placed<Row> | undefined {
    return this.#entries.get(key);
  }

  set(key: string, placed: Placed<Row>): void {
    // A Map puts what comes back, or comes late, at its end.
    if (placed.ordinal < this.#last && !this.#entries.has(key)) this.#inOrder = false;
    this.#last = Math.max(this.#last, placed.ordinal);
    this.#entries.set(key, placed);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  values(): Iterable<Placed<Row>> {
    if (!this.#inOrder) this.#entries = new Map([...this.#entries].sort(([, a], [, b]) => a.ordinal - b.ordinal));
    this.#inOrder = true;
    return this.#entries.values();
  }
}

/**
 * Rows by key, listed in the order of their ordinals. A used ordinal is not given out again. Rows are frozen, so they can be handed out.
 * `groupsOf` names the groups that a row belongs to: a group is listed without a look at any other row.
 */
export class KeyedTable<Row extends object> {
  readonly #log: UndoLog;
  readonly #groupsOf: (row: Row) => readonly string[];
  readonly #rows = new Ordered<Row>();
  readonly #groups = new Map<string, Ordered<Row>>();
  #lastOrdinal = 0;

  constructor(log: UndoLog, groupsOf: (row: Row) => readonly string[] = () => []) {
    this.#log = log;
    this.#groupsOf = groupsOf;
  }

  get(key: string): Row | undefined {
    return this.#rows.get(key)?.row;
  }

  put(key: string, row: Row): void {
    const before = this.#rows.get(key);
    const after = { ordinal: before?.ordinal ?? ++this.#lastOrdinal, row: Object.freeze(row) };
    this.#place(key, before, after);
    this.#log.add(() => this.#place(key, after, before));
  }

  delete(key: string): void {
    const before = this.#rows.get(key);
    if (!before) return;
    this.#place(key, before, undefined);
    this.#log.add(() => this.#place(key, undefined, before));
  }

  /** All rows that fit, in the order of their ordinals. */
  all(fits: (row: Row) => boolean = () => true): (Row & { readonly ordinal: number })[] {
    return this.page({ after: 0, limit: Infinity }, fits);
  }

  /** All rows of a group, in the order of their ordinals. */
  of(group: string): (Row & { readonly ordinal: number })[] {
    return this.page({ after: 0, limit: Infinity }, () => true, group);
  }

  /** Rows that fit, with an ordinal above `after`, at most `limit`; only of one group, where it is named. */
  page(
    bounds: { readonly after: number; readonly limit: number },
    fits: (row: Row) => boolean,
    group?: string,
  ): (Row & { readonly ordinal: number })[] {
    const rows = group === undefined ? this.#rows : this.#groups.get(group);
    const found: (Row & { readonly ordinal: number })[] = [];
    for (const { ordinal, row } of rows?.values() ?? []) {
      if (found.length >= bounds.limit) break;
      if (ordinal > bounds.after && fits(row)) found.push({ ...row, ordinal });
    }
    return found;
  }

  /** Puts `after` in the place of `before`; undefined: there is no row. */
  #place(key: string, before: Placed<Row> | undefined, after: Placed<Row> | undefined): void {
    const joined = after ? this.#groupsOf(after.row) : [];
    for (const group of before ? this.#groupsOf(before.row) : []) if (!joined.includes(group)) this.#leave(group, key);
    if (after) this.#rows.set(key, after);
    else this.#rows.delete(key);
    for (const group of joined) {
      const members = this.#groups.get(group) ?? new Ordered<Row>();
      this.#groups.set(group, members);
      members.set(key, after as Placed<Row>);
    }
  }

  #leave(group: string, key: string): void {
    const members = this.#groups.get(group);
    members?.delete(key);
    if (members?.size === 0) this.#groups.delete(group);
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
