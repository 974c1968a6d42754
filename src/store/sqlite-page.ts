/**
 * One page of a list in SQL: its conditions, its cursor, its bound.
 *
 * Guarantees: every page is bounded and in the order of its cursor; each combination of conditions is one constant text, so its
 * statement is prepared once.
 *
 * Next: `sqlite-reader.ts`.
 */

import type { Page } from "../actor/store.ts";
import { pageBounds } from "./check.ts";
import type { Connection } from "./connection.ts";

export class SqlPage {
  readonly #cursor: string;
  readonly #limit: number;
  readonly #conditions: string[];
  readonly #values: unknown[];

  constructor(page: Page, cursor: string) {
    const { after, limit } = pageBounds(page);
    this.#cursor = cursor;
    this.#limit = limit;
    this.#conditions = [`${cursor} > ?`];
    this.#values = [after];
  }

  /** A condition without a parameter: SQLite uses a partial index only where it can see the value. */
  literal(condition: string): this {
    this.#conditions.push(condition);
    return this;
  }

  /** A condition with one parameter. */
  add(condition: string, value: unknown): this {
    this.#values.push(value);
    return this.literal(condition);
  }

  /** The rows where `column` is `value`; all rows where that is undefined. */
  equal(column: string, value: string | undefined): this {
    return value === undefined ? this : this.add(`${column} = ?`, value);
  }

  /** The rows of the page. */
  select<Row>(connection: Connection, columns: string, table: string): Row[] {
    return connection.all<Row>(this.#sql(columns, table), ...this.#values, this.#limit);
  }

  /**
   * The same rows by way of their cursors: what is passed over or sorted on the way is an index's entries, and only rows that are
   * listed are read.
   */
  selectByCursor<Row>(connection: Connection, columns: string, table: string, index: string): Row[] {
    const cursors = this.#sql(this.#cursor, `${table} INDEXED BY ${index}`);
    const sql = `SELECT ${columns} FROM ${table} WHERE ${this.#cursor} IN (${cursors}) ORDER BY ${this.#cursor}`;
    return connection.all<Row>(sql, ...this.#values, this.#limit);
  }

  #sql(columns: string, table: string): string {
    return `SELECT ${columns} FROM ${table} WHERE ${this.#conditions.join(" AND ")} ORDER BY ${this.#cursor} LIMIT ?`;
  }
}
