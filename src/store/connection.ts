/**
 * One SQLite connection: its statement cache, its transactions, and the translation of its errors.
 *
 * Guarantees: a transaction is committed whole or rolled back; no raw SQLite error leaves; an error that the body of a
 * transaction throws itself passes through unchanged.
 * Knows nothing of tables.
 *
 * Next: `sqlite-reader.ts`.
 */

import Database from "better-sqlite3";
import { engineError, HoldfastError } from "../actor/error.ts";
import { breach } from "./check.ts";

export class Connection {
  readonly #db: Database.Database;
  readonly #statements = new Map<string, Database.Statement<unknown[]>>();
  #writing = false;
  /** Why the present transaction cannot be committed any more. */
  #failure: Error | undefined;

  constructor(db: Database.Database) {
    this.#db = db;
  }

  get writing(): boolean {
    return this.#writing;
  }

  get<Row>(sql: string, ...values: unknown[]): Row | undefined {
    if (this.#failure) throw this.#failure;
    try {
      return this.#statement(sql).get(...values) as Row | undefined;
    } catch (error) {
      throw this.#failed(error);
    }
  }

  all<Row>(sql: string, ...values: unknown[]): Row[] {
    if (this.#failure) throw this.#failure;
    try {
      return this.#statement(sql).all(...values) as Row[];
    } catch (error) {
      throw this.#failed(error);
    }
  }

  run(sql: string, ...values: unknown[]): Database.RunResult {
    if (this.#failure) throw this.#failure;
    try {
      return this.#statement(sql).run(...values);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** Runs `body` in one immediate transaction: the write lock is taken first, so nothing that `body` reads can change under it. */
  transaction<T>(body: () => T): T {
    if (this.#writing) throw breach("a write inside a write");
    this.run("BEGIN IMMEDIATE");
    this.#writing = true;
    try {
      const result = body();
      // Fails where the body has swallowed a storage error, or what `spoil` was told.
      this.run("COMMIT");
      return result;
    } catch (error) {
      this.#rollback();
      throw error;
    } finally {
      this.#writing = false;
      this.#failure = undefined;
    }
  }

  /** Nothing of the present transaction is committed, whatever its body does with this error. */
  spoil(error: Error): never {
    if (this.#writing) this.#failure ??= error;
    throw error;
  }

  /** Runs `body` in one read transaction: all its reads see the same commit, and no writer waits for it. */
  snapshot<T>(body: () => T): T {
    this.run("BEGIN");
    try {
      return body();
    } finally {
      this.#rollback();
    }
  }

  close(): void {
    if (this.#writing) throw breach("close inside a write");
    if (this.#db.open) this.#db.close();
  }

  #rollback(): void {
    // SQLite rolls back by itself after some errors (disk full, I/O); then there is nothing left to undo.
    if (!this.#db.inTransaction) return;
    try {
      this.#db.exec("ROLLBACK");
    } catch {
      // The error that led here says more. A transaction that could not be undone fails the next BEGIN.
    }
  }

  /**
   * What to throw for a failed statement. What comes after a storage error in the same transaction fails as well: SQLite may have
   * rolled back by itself, and then one more statement would be durable alone.
   */
  #failed(error: unknown): unknown {
    if (!this.#db.open) return engineError("closed", "The store is closed.");
    const translated = storageError(error);
    if (this.#writing && translated instanceof HoldfastError) this.#failure = translated;
    return translated;
  }

  #statement(sql: string): Database.Statement<unknown[]> {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.#db.prepare<unknown[]>(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** What a SQLite error means to the caller. Any other error is returned as it is. */
export function storageError(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  const options = { cause: error, details: { sqlite: error.code } };
  if (error.code.startsWith("SQLITE_CONSTRAINT")) return breach(error.message, error);
  if (error.code === "SQLITE_NOTADB") return engineError("root_invalid", "The database file is not an SQLite database.", options);
  if (error.code.startsWith("SQLITE_CORRUPT"))
    return engineError("journal_damaged", `The database file is damaged: ${error.message}.`, options);
  // Our statements are constant, so one that does not compile has met tables that are not ours.
  if (error.code === "SQLITE_ERROR" && error.message.startsWith("no such"))
    return engineError("journal_damaged", `The database lacks a part of its schema: ${error.message}.`, options);
  return engineError("storage_failed", `SQLite refused (${error.code}): ${error.message}.`, options);
}
