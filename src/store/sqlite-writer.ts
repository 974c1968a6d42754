/**
 * The puts of the store contract, alive for the length of one transaction.
 *
 * Guarantees: a row that is replaced keeps its ordinal; a repeated journal entry and a changed answer or identity are invariant
 * breaches, never a silent overwrite; a writer that outlives its transaction writes nothing.
 * An ordinary step is an entry and the advance of its actor, and writes two pages: a leaf of the journal and one of the actors. Of a group
 * of them, many entries go with one statement.
 *
 * Next: `sqlite-removal.ts`.
 */

import Database from "better-sqlite3";
import type { ActorRow, Advance, AnswerRow, DeadLetterRow, EffectRow, JournalRow, StoreWriter, TimerRow } from "../actor/store.ts";
import { breach, checkBlob, checkRow, checkValues } from "./check.ts";
import type { Connection } from "./connection.ts";
import { hourOf } from "./retention.ts";
import { insert, type Put, repeated, settings, update } from "./sqlite-put.ts";
import { SqliteReader } from "./sqlite-reader.ts";
import { keepPosition, removeActor, removeAnswers, removeDeadLetters } from "./sqlite-removal.ts";

/** Entries that go with one statement. More of them would bring little. */
const BATCH = 16;
const ENTRY = "position actor seq at_ms cause event facts actions version hash before";
const APPEND_ENTRY = insert("journal", ENTRY);
const APPEND_ENTRIES = insert("journal", ENTRY, { rows: BATCH });
const ADVANCE_ACTOR: Put = {
  sql: `UPDATE actors SET state = ?, seq = ?, hash = ?, snapshot = ?, updated_ms = ?, position = coalesce(?, position)
    WHERE address = ? AND seq = ?`,
  columns: repeated("state seq hash snapshot updated_ms position address from", 1),
};

// Rows that have ordinals are updated, and inserted where there is none yet. Not by one statement with ON CONFLICT: that uses up an
// ordinal even where the row exists, and with it writes the page of the counter. The key comes last, as the update has it.
const ACTOR = "version definition status state seq hash snapshot epoch created_ms updated_ms quarantine";
const UPDATE_ACTOR: Put = {
  // Not where the row is at or behind an entry that was appended: that entry exists already.
  sql: `UPDATE actors SET ${settings(ACTOR)}, position = coalesce(?, position) WHERE address = ? AND ifnull(seq < ?, TRUE)`,
  columns: repeated(`${ACTOR} position address first`, 1),
};
const INSERT_ACTOR = insert("actors", `${ACTOR} position address machine id`);
const EFFECT = "actor name params scope state child epoch opened_ms error";
const UPDATE_EFFECT = update("effects", EFFECT, "key");
const INSERT_EFFECT = insert("effects", `${EFFECT} key`);
const TIMER = "actor id event delay policy delay_ms due_ms state";
const UPDATE_TIMER = update("timers", TIMER, "key");
const INSERT_TIMER = insert("timers", `${TIMER} key`);
const PUT_DEAD_LETTER = insert("dead_letters", "receiver sender seq event reason at_ms");
const PUT_ANSWER = insert("answers", "actor key event answer at_ms", { conflict: "ON CONFLICT DO NOTHING" });
const PUT_IDENTITY = insert("identities", "name actor", { conflict: "ON CONFLICT DO NOTHING" });
const INSERT_BLOB = insert("blobs", "digest stored_ms bytes");
const RENEW_BLOB = update("blobs", "stored_ms", "digest");

/** What a writer is told of the transaction that it writes in. */
export interface Transaction {
  readonly rootId: string;
  readonly lastPosition: number;
  readonly changedElsewhere: boolean;
}

/** The entries of an actor that one transaction appends. */
interface Appended {
  /** The seq of the first; null once the actor's row is behind them. */
  first: number | null;
  /** Of the last. */
  seq: number;
  position: number;
}

export class SqliteWriter extends SqliteReader implements StoreWriter {
  readonly #changedElsewhere: boolean;
  #lastPosition: number;
  /** What was appended, by actor. */
  readonly #appended = new Map<string, Appended>();
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

  override lastPosition(): number {
    return this.#lastPosition;
  }

  isChangedElsewhere(): boolean {
    return this.#changedElsewhere;
  }

  putActor(row: ActorRow): void {
    const { version, definition, status, state, seq, hash, snapshot, epoch, createdMs, updatedMs } = row;
    if (row.quarantine) checkRow(row.quarantine);
    const quarantine = row.quarantine && JSON.stringify(row.quarantine);
    const values = [version, definition, status, state, seq, hash, snapshot, epoch, createdMs, updatedMs, quarantine];
    const appended = this.#appended.get(row.address);
    const { first = null, position = null } = appended ?? {};
    if (appended) appended.first = null;
    // Machine and id are not among them: the address says both, and naming them would rewrite two more indexes.
    if (this.#put(UPDATE_ACTOR, [...values, position, row.address, first]).changes === 1) return;
    try {
      this.#put(INSERT_ACTOR, [...values, position ?? 0, row.address, row.machine, row.id]);
    } catch (error) {
      this.connection.spoil(isUniqueViolation(error) ? exists(row.address, first, error) : (error as Error));
    }
  }

  advanceActors(steps: readonly Advance[]): void {
    for (const { state, seq, hash, snapshot, updatedMs, address, from } of steps) {
      const appended = this.#appended.get(address);
      const values = [state, seq, hash, snapshot, updatedMs, appended?.position ?? null, address, from];
      if (appended) appended.first = null;
      if (this.#put(ADVANCE_ACTOR, values).changes === 0) this.connection.spoil(breach(`${address} is not at revision ${from}`));
    }
  }

  appendEntries(rows: readonly JournalRow[], before: readonly number[]): void {
    this.#alive();
    for (let from = 0; from < rows.length; ) {
      const batch = rows.slice(from, from + (rows.length - from < BATCH ? 1 : BATCH));
      const values: unknown[] = [];
      for (const { actor, seq, atMs, cause, event, facts, actions, version, hash } of batch) {
        const position = ++this.#lastPosition;
        values.push(position, actor, seq, atMs, cause, event, facts, actions, version, hash, before[from++]);
        this.#note(actor, seq, position);
      }
      this.#append(batch, values);
    }
  }

  #append(batch: readonly JournalRow[], values: readonly unknown[]): void {
    try {
      this.#put(batch.length === 1 ? APPEND_ENTRY : APPEND_ENTRIES, values);
    } catch (error) {
      if (!isUniqueViolation(error)) this.connection.spoil(error as Error);
      // Only marks are in an index; of the others the actor's row tells.
      const names = batch.map(({ actor, seq }) => `${seq} of ${actor}`);
      this.connection.spoil(breach(`a journal entry exists already: one of ${names.join(", ")}`, error));
    }
  }

  #note(actor: string, seq: number, position: number): void {
    const appended = this.#appended.get(actor);
    if (!appended) {
      this.#appended.set(actor, { first: seq, seq, position });
      return;
    }
    if (seq <= appended.seq) this.connection.spoil(exists(actor, seq));
    appended.first ??= seq;
    appended.seq = seq;
    appended.position = position;
  }

  protected override appendedTo(actor: string): number | undefined {
    return this.#appended.get(actor)?.position;
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
    this.#appended.delete(address);
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

function exists(actor: string, seq: number | null, cause?: unknown): Error {
  return breach(`journal entry ${seq} of ${actor} exists already`, cause);
}

function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof Database.SqliteError && error.cause.code === "SQLITE_CONSTRAINT_UNIQUE";
}
