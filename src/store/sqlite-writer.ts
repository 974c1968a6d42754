/**
 * The puts of the store contract, alive for the length of one transaction.
 *
 * Guarantees: a row that is replaced keeps its ordinal; a repeated journal entry and a changed answer or identity are invariant
 * breaches, never a silent overwrite; a writer that outlives its transaction writes nothing.
 */

import Database from "better-sqlite3";
import type { ActorRow, AnswerRow, DeadLetterRow, EffectRow, JournalRow, StoreWriter } from "../actor/store.ts";
import { breach, checkBlob, checkRow } from "./check.ts";
import { SqliteReader } from "./sqlite-reader.ts";

const PUT_ACTOR = `
INSERT INTO actors (address, machine, id, version, status, state, seq, hash, snapshot, epoch, created_ms, updated_ms, quarantine)
VALUES (@address, @machine, @id, @version, @status, @state, @seq, @hash, @snapshot, @epoch, @createdMs, @updatedMs, @quarantine)
ON CONFLICT (address) DO UPDATE SET
  machine = excluded.machine, id = excluded.id, version = excluded.version, status = excluded.status, state = excluded.state,
  seq = excluded.seq, hash = excluded.hash, snapshot = excluded.snapshot, epoch = excluded.epoch,
  created_ms = excluded.created_ms, updated_ms = excluded.updated_ms, quarantine = excluded.quarantine`;

const APPEND_ENTRY = `
INSERT INTO journal (actor, seq, at_ms, cause, event, facts, actions, version, body, hash)
VALUES (@actor, @seq, @atMs, @cause, @event, @facts, @actions, @version, @body, @hash)`;

const PUT_EFFECT = `
INSERT INTO effects (key, actor, name, params, scope, state, epoch, opened_ms, error)
VALUES (@key, @actor, @name, @params, @scope, @state, @epoch, @openedMs, @error)
ON CONFLICT (key) DO UPDATE SET
  actor = excluded.actor, name = excluded.name, params = excluded.params, scope = excluded.scope, state = excluded.state,
  epoch = excluded.epoch, opened_ms = excluded.opened_ms, error = excluded.error`;

const PUT_DEAD_LETTER = `
INSERT INTO dead_letters (receiver, sender, seq, event, reason, at_ms)
VALUES (@receiver, @sender, @seq, @event, @reason, @atMs)`;

const PUT_ANSWER = "INSERT INTO answers (actor, key, event, answer) VALUES (@actor, @key, @event, @answer) ON CONFLICT DO NOTHING";
const PUT_IDENTITY = "INSERT INTO identities (name, actor) VALUES (?, ?) ON CONFLICT DO NOTHING";
const PUT_BLOB = "INSERT INTO blobs (digest, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING";

export class SqliteWriter extends SqliteReader implements StoreWriter {
  #ended = false;

  /** Called when the transaction ends: from here on every put throws. */
  end(): void {
    this.#ended = true;
  }

  putActor(row: ActorRow): void {
    this.#run(PUT_ACTOR, row, { ...row, quarantine: row.quarantine && JSON.stringify(row.quarantine) });
  }

  appendEntry(row: JournalRow): number {
    try {
      return Number(this.#run(APPEND_ENTRY, row, row).lastInsertRowid);
    } catch (error) {
      if (isUniqueViolation(error)) throw breach(`journal entry ${row.seq} of ${row.actor} exists already`, error);
      throw error;
    }
  }

  putAnswer(row: AnswerRow): void {
    if (this.#run(PUT_ANSWER, row, row).changes === 1) return;
    const known = this.answer(row.actor, row.key);
    if (known?.event !== row.event || known.answer !== row.answer)
      throw breach(`${row.actor} has given another answer under key ${row.key}`);
  }

  putIdentity(name: string, actor: string): void {
    if (this.#run(PUT_IDENTITY, { name, actor }, name, actor).changes === 1) return;
    const owner = this.identity(name);
    if (owner !== actor) throw breach(`identity ${name} belongs to ${owner}`);
  }

  putEffect(row: EffectRow): void {
    this.#run(PUT_EFFECT, row, row);
  }

  deleteEffect(key: string): void {
    this.#run("DELETE FROM effects WHERE key = ?", { key }, key);
  }

  putDeadLetter(row: DeadLetterRow): void {
    this.#run(PUT_DEAD_LETTER, row, row);
  }

  putBlob(digest: string, bytes: Uint8Array): void {
    checkBlob(digest, bytes);
    this.#run(PUT_BLOB, { digest }, digest, bytes);
  }

  #run(sql: string, row: object, ...values: unknown[]): Database.RunResult {
    if (this.#ended) throw breach("a writer was used after its write had ended");
    checkRow(row);
    return this.connection.run(sql, ...values);
  }
}

function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof Database.SqliteError && error.cause.code === "SQLITE_CONSTRAINT_UNIQUE";
}
