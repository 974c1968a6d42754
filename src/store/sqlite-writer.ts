/**
 * The puts of the store contract, alive for the length of one transaction.
 *
 * Guarantees: a row that is replaced keeps its ordinal; a repeated journal entry and a changed answer or identity are invariant
 * breaches, never a silent overwrite; a writer that outlives its transaction writes nothing.
 * An ordinary step is `appendEntry` and `advanceActor`, and writes three pages: a leaf of the journal, of the heads, of the actors.
 *
 * Next: `sqlite-removal.ts`.
 */

import Database from "better-sqlite3";
import type { ActorRow, Advance, AnswerRow, DeadLetterRow, EffectRow, JournalRow, StoreWriter, TimerRow } from "../actor/store.ts";
import { breach, checkBlob, checkRow, checkValues } from "./check.ts";
import type { Connection } from "./connection.ts";
import { hourOf } from "./retention.ts";
import { moveHead } from "./sqlite-journal.ts";
import { SqliteReader } from "./sqlite-reader.ts";
import { keepPosition, removeActor, removeAnswers, removeDeadLetters } from "./sqlite-removal.ts";

/** A statement and the columns of its parameters, in their order. */
interface Put {
  readonly sql: string;
  readonly columns: readonly string[];
}

const ENTRY = "position actor seq at_ms cause event facts actions version hash before".split(" ");
/** The entry before is where the actor's head is. */
const APPEND_ENTRY: Put = {
  sql: `INSERT INTO journal (${ENTRY.join(", ")})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, coalesce((SELECT position FROM heads WHERE actor = ?), 0))`,
  columns: ENTRY,
};
const ADVANCE_ACTOR: Put = {
  sql: "UPDATE actors SET state = ?, seq = ?, hash = ?, snapshot = ?, updated_ms = ? WHERE address = ? AND seq = ?",
  columns: ["state", "seq", "hash", "snapshot", "updated_ms", "address", "from"],
};

// Rows that have ordinals are updated, and inserted where there is none yet. Not by one statement with ON CONFLICT: that uses up an
// ordinal even where the row exists, and with it writes the page of the counter. The key comes last, as the update has it.
const ACTOR = "version definition status state seq hash snapshot epoch created_ms updated_ms quarantine";
const UPDATE_ACTOR = update("actors", ACTOR, "address");
const INSERT_ACTOR = insert("actors", `${ACTOR} address machine id`);
const EFFECT = "actor name params scope state child epoch opened_ms error";
const UPDATE_EFFECT = update("effects", EFFECT, "key");
const INSERT_EFFECT = insert("effects", `${EFFECT} key`);
const TIMER = "actor id event delay policy delay_ms due_ms state";
const UPDATE_TIMER = update("timers", TIMER, "key");
const INSERT_TIMER = insert("timers", `${TIMER} key`);
const PUT_DEAD_LETTER = insert("dead_letters", "receiver sender seq event reason at_ms");
const PUT_ANSWER = insert("answers", "actor key event answer at_ms", "ON CONFLICT DO NOTHING");
const PUT_IDENTITY = insert("identities", "name actor", "ON CONFLICT DO NOTHING");
const INSERT_BLOB = insert("blobs", "digest stored_ms bytes");
const RENEW_BLOB = update("blobs", "stored_ms", "digest");

/** What a writer is told of the transaction that it writes in. */
export interface Transaction {
  readonly rootId: string;
  readonly lastPosition: number;
  readonly changedElsewhere: boolean;
}

export class SqliteWriter extends SqliteReader implements StoreWriter {
  readonly #changedElsewhere: boolean;
  #lastPosition: number;
  #ended = false;

  constructor(connection: Connection, transaction: Transaction) {
    super(connection, transaction.rootId);
    this.#changedElsewhere = transaction.changedElsewhere;
    this.#lastPosition = transaction.lastPosition;
  }

  /** Called when the transaction ends: from here on every put throws. */
  end(): void {
    this.#ended = true;
  }

  isChangedElsewhere(): boolean {
    return this.#changedElsewhere;
  }

  putActor(row: ActorRow): void {
    const { version, definition, status, state, seq, hash, snapshot, epoch, createdMs, updatedMs } = row;
    if (row.quarantine) checkRow(row.quarantine);
    const quarantine = row.quarantine && JSON.stringify(row.quarantine);
    const values = [version, definition, status, state, seq, hash, snapshot, epoch, createdMs, updatedMs, quarantine, row.address];
    // Machine and id are not among them: the address says both, and naming them would rewrite two more indexes.
    if (this.#put(UPDATE_ACTOR, values).changes === 0) this.#put(INSERT_ACTOR, [...values, row.machine, row.id]);
  }

  advanceActor(from: number, row: Advance): void {
    const values = [row.state, row.seq, row.hash, row.snapshot, row.updatedMs, row.address, from];
    if (this.#put(ADVANCE_ACTOR, values).changes === 0) throw breach(`${row.address} is not at revision ${from}`);
  }

  appendEntry(row: JournalRow): number {
    const position = this.#lastPosition + 1;
    try {
      const { actor, seq, atMs, cause, event, facts, actions, version, hash } = row;
      this.#put(APPEND_ENTRY, [position, actor, seq, atMs, cause, event, facts, actions, version, hash, actor]);
    } catch (error) {
      // Only marks are in an index; `moveHead` finds the others.
      if (isUniqueViolation(error)) throw breach(`journal entry ${row.seq} of ${row.actor} exists already`, error);
      throw error;
    }
    moveHead(this.connection, row.actor, row.seq, position);
    this.#lastPosition = position;
    return position;
  }

  putAnswer({ actor, key, event, answer, atMs }: AnswerRow): void {
    if (this.#put(PUT_ANSWER, [actor, key, event, answer, atMs]).changes === 1) return;
    const known = this.answer(actor, key);
    if (known?.event !== event || known.answer !== answer) throw breach(`${actor} has given another answer under key ${key}`);
  }

  putIdentity(name: string, actor: string): void {
    if (this.#put(PUT_IDENTITY, [name, actor]).changes === 1) return;
    const owner = this.identity(name);
    if (owner !== actor) throw breach(`identity ${name} belongs to ${owner}`);
  }

  putEffect({ key, actor, name, params, scope, state, child, epoch, openedMs, error }: EffectRow): void {
    const values = [actor, name, params, scope, state, child, epoch, openedMs, error, key];
    if (this.#put(UPDATE_EFFECT, values).changes === 0) this.#put(INSERT_EFFECT, values);
  }

  deleteEffect(key: string): void {
    this.#delete("DELETE FROM effects WHERE key = ?", key);
  }

  putTimer({ key, actor, id, event, delay, policy, delayMs, dueMs, state }: TimerRow): void {
    const values = [actor, id, event, delay, policy, delayMs, dueMs, state, key];
    if (this.#put(UPDATE_TIMER, values).changes === 0) this.#put(INSERT_TIMER, values);
  }

  deleteTimer(key: string): void {
    this.#delete("DELETE FROM timers WHERE key = ?", key);
  }

  putDeadLetter({ receiver, sender, seq, event, reason, atMs }: DeadLetterRow): void {
    this.#put(PUT_DEAD_LETTER, [receiver, sender, seq, event, reason, atMs]);
  }

  deleteDeadLetter(position: number): void {
    this.#delete("DELETE FROM dead_letters WHERE position = ?", position);
  }

  putBlob(digest: string, bytes: Uint8Array, atMs: number): void {
    this.#alive();
    checkBlob(digest, bytes);
    checkRow({ atMs });
    const storedMs = hourOf(atMs);
    const known = this.connection.get<{ storedMs: number }>("SELECT stored_ms AS storedMs FROM blobs WHERE digest = ?", digest);
    if (!known) this.#put(INSERT_BLOB, [digest, storedMs, bytes]);
    else if (known.storedMs < storedMs) this.#put(RENEW_BLOB, [storedMs, digest]);
  }

  deleteBlob(digest: string): void {
    this.#delete("DELETE FROM blobs WHERE digest = ?", digest);
  }

  rest(atMs: number): void {
    this.#alive();
    checkRow({ atMs });
    keepPosition(this.connection, this.#lastPosition);
    this.connection.run("UPDATE root SET rested_ms = ?", atMs);
  }

  deleteActor(address: string, atMs: number): void {
    this.#alive();
    checkRow({ address, atMs });
    removeActor(this.connection, { address, atMs, lastPosition: this.#lastPosition });
  }

  deleteAnswers(beforeMs: number, limit: number): number {
    this.#alive();
    checkRow({ beforeMs, limit });
    return removeAnswers(this.connection, beforeMs, limit);
  }

  deleteDeadLetters(beforeMs: number, limit: number, waiting: readonly string[]): number {
    this.#alive();
    checkRow({ beforeMs, limit });
    return removeDeadLetters(this.connection, beforeMs, limit, waiting);
  }

  #delete(sql: string, key: string | number): void {
    this.#alive();
    this.connection.run(sql, key);
  }

  #put({ sql, columns }: Put, values: readonly unknown[]): Database.RunResult {
    this.#alive();
    checkValues(columns, values);
    return this.connection.run(sql, ...values);
  }

  #alive(): void {
    if (this.#ended) throw breach("a writer was used after its write had ended");
  }
}

function insert(table: string, columns: string, conflict = ""): Put {
  const names = columns.split(" ");
  const marks = names.map(() => "?").join(", ");
  return { sql: `INSERT INTO ${table} (${names.join(", ")}) VALUES (${marks}) ${conflict}`, columns: names };
}

function update(table: string, columns: string, key: string): Put {
  const names = columns.split(" ");
  return { sql: `UPDATE ${table} SET ${names.map((name) => `${name} = ?`).join(", ")} WHERE ${key} = ?`, columns: [...names, key] };
}

function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof Database.SqliteError && error.cause.code === "SQLITE_CONSTRAINT_UNIQUE";
}
