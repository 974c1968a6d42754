/**
 * The queries of the store contract over one SQLite connection.
 *
 * Guarantees: rows come back as they were written, in the order of their cursor, through an index where the list can grow.
 * Outside a transaction each query sees the last commit; inside one it sees what was written so far.
 *
 * Next: `sqlite-writer.ts`.
 */

import { z } from "zod";
import { engineError } from "../actor/error.ts";
import type {
  ActorFilter,
  ActorRow,
  AnswerRow,
  EffectRow,
  Page,
  PlacedDeadLetterRow,
  PlacedJournalRow,
  Quarantine,
  StoreReader,
} from "../actor/store.ts";
import { pageBounds } from "./check.ts";
import type { Connection } from "./connection.ts";

const ACTOR = `address, machine, id, version, status, state, seq, hash, snapshot, epoch,
  created_ms AS createdMs, updated_ms AS updatedMs, quarantine`;
const JOURNAL = "position, actor, seq, at_ms AS atMs, cause, event, facts, actions, version, body, hash";
const EFFECT = "key, actor, name, params, scope, state, epoch, opened_ms AS openedMs, error";
const DEAD_LETTER = "position, receiver, sender, seq, event, reason, at_ms AS atMs";

const quarantineSchema = z.object({ code: z.string(), message: z.string(), atMs: z.number(), event: z.string().exactOptional() });

/** An actor's row with its quarantine still as text. */
type StoredActor<Row extends ActorRow = ActorRow> = Omit<Row, "quarantine"> & { readonly quarantine: string | null };

export class SqliteReader implements StoreReader {
  protected readonly connection: Connection;
  readonly rootId: string;

  constructor(connection: Connection) {
    this.connection = connection;
    this.rootId = this.#root().root_id;
  }

  epoch(): number {
    return this.#root().epoch;
  }

  actor(address: string): ActorRow | undefined {
    const row = this.connection.get<StoredActor>(`SELECT ${ACTOR} FROM actors WHERE address = ?`, address);
    return row && readActor<ActorRow>(row);
  }

  actors(filter: ActorFilter, page: Page): (ActorRow & { readonly ordinal: number })[] {
    const where = new Where(page, "ordinal");
    // Literals, not parameters: SQLite uses a partial index only where it can see the condition.
    if (filter.status !== undefined) where.literal(filter.status === "active" ? "status = 'active'" : "status = 'final'");
    if (filter.quarantined !== undefined) where.literal(filter.quarantined ? "quarantine IS NOT NULL" : "quarantine IS NULL");
    if (filter.machine !== undefined) where.equal("machine", filter.machine);
    if (filter.epochBelow !== undefined) where.add("epoch < ?", filter.epochBelow);
    type Listed = ActorRow & { readonly ordinal: number };
    return where
      .select<StoredActor<Listed>>(this.connection, `ordinal, ${ACTOR}`, actorsTable(filter))
      .map((row) => readActor<Listed>(row));
  }

  journal(actor: string, page: Page): PlacedJournalRow[] {
    return new Where(page, "seq").equal("actor", actor).select(this.connection, JOURNAL, "journal");
  }

  entries(page: Page): PlacedJournalRow[] {
    return new Where(page, "position").select(this.connection, JOURNAL, "journal");
  }

  lastPosition(): number {
    return this.connection.get<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'journal'")?.seq ?? 0;
  }

  answer(actor: string, key: string): AnswerRow | undefined {
    return this.connection.get("SELECT actor, key, event, answer FROM answers WHERE actor = ? AND key = ?", actor, key);
  }

  identity(name: string): string | undefined {
    return this.connection.get<{ actor: string }>("SELECT actor FROM identities WHERE name = ?", name)?.actor;
  }

  identities(actor: string): string[] {
    return this.connection.all<{ name: string }>("SELECT name FROM identities WHERE actor = ? ORDER BY name", actor).map((row) => row.name);
  }

  effect(key: string): EffectRow | undefined {
    return this.connection.get(`SELECT ${EFFECT} FROM effects WHERE key = ?`, key);
  }

  effects(filter: { actor?: string; state?: EffectRow["state"] }, page: Page): (EffectRow & { readonly ordinal: number })[] {
    const where = new Where(page, "ordinal");
    if (filter.actor !== undefined) where.equal("actor", filter.actor);
    if (filter.state !== undefined) where.equal("state", filter.state);
    return where.select(this.connection, `ordinal, ${EFFECT}`, "effects");
  }

  deadLetters(filter: { receiver?: string; reason?: string }, page: Page): PlacedDeadLetterRow[] {
    const where = new Where(page, "position");
    if (filter.receiver !== undefined) where.equal("receiver", filter.receiver);
    if (filter.reason !== undefined) where.equal("reason", filter.reason);
    return where.select(this.connection, DEAD_LETTER, "dead_letters");
  }

  blob(digest: string): Uint8Array | undefined {
    const bytes = this.connection.get<{ bytes: Buffer }>("SELECT bytes FROM blobs WHERE digest = ?", digest)?.bytes;
    return bytes && new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  #root(): { readonly root_id: string; readonly epoch: number } {
    const row = this.connection.get<{ root_id: string; epoch: number }>("SELECT root_id, epoch FROM root");
    if (!row) throw engineError("journal_damaged", "The database does not say which root it belongs to.");
    return row;
  }
}

/** The conditions of one page of a list. Each combination of conditions is one constant text, so its statement is prepared once. */
class Where {
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

  literal(condition: string): this {
    this.#conditions.push(condition);
    return this;
  }

  add(condition: string, value: unknown): this {
    this.#values.push(value);
    return this.literal(condition);
  }

  equal(column: string, value: string): this {
    return this.add(`${column} = ?`, value);
  }

  select<Row>(connection: Connection, columns: string, table: string): Row[] {
    const sql = `SELECT ${columns} FROM ${table} WHERE ${this.#conditions.join(" AND ")} ORDER BY ${this.#cursor} LIMIT ?`;
    return connection.all<Row>(sql, ...this.#values, this.#limit);
  }
}

/**
 * Names the index where the planner would not choose it: it knows no sizes, and walks all actors of a machine to find the few
 * that are unfinished.
 */
function actorsTable({ status, machine }: ActorFilter): string {
  if (status !== "active") return "actors";
  return `actors INDEXED BY ${machine === undefined ? "actors_unfinished" : "actors_unfinished_of_machine"}`;
}

function readActor<Row extends ActorRow>(row: StoredActor<Row>): Row {
  return { ...row, quarantine: row.quarantine === null ? null : readQuarantine(row.quarantine) } as unknown as Row;
}

/** A quarantine record that cannot be read keeps its actor aside all the same, and does not stop a list that contains it (ACT-10). */
function readQuarantine(text: string): Quarantine {
  try {
    return quarantineSchema.parse(JSON.parse(text));
  } catch {
    return { code: "journal_damaged", message: "The record of why this actor was set aside cannot be read.", atMs: 0 };
  }
}
