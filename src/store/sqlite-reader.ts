/**
 * The queries of the store contract over one SQLite connection.
 *
 * Guarantees: rows come back as they were written, in the order of their cursor, through an index where the list can grow.
 * Outside a transaction each query sees the last commit; inside one it sees what was written so far.
 *
 * Next: `sqlite-put.ts`.
 */

import { engineError } from "../actor/error.ts";
import type {
  ActorFilter,
  ActorRow,
  AnswerRow,
  BlobRow,
  EffectRow,
  Page,
  PlacedDeadLetterRow,
  PlacedJournalRow,
  StartableEffectRow,
  StoreReader,
  TimerRow,
  TombstoneRow,
  UnfinishedMachine,
  Watermarks,
} from "../actor/store.ts";
import { pageBounds } from "./check.ts";
import type { Connection } from "./connection.ts";
import { chainOf } from "./sqlite-journal.ts";
import { SqlPage } from "./sqlite-page.ts";
import { ACTOR, BLOB, DEAD_LETTER, EFFECT, JOURNAL, readActor, type StoredActor, TIMER, TOMBSTONE } from "./sqlite-row.ts";

/**
 * Jumps from one machine, version and definition to the next along an index, so that it reads one entry for each and not one for each
 * actor. The jump goes by ordinal, because a subquery gives one column only; and by column, because a comparison of rows would use
 * the first column of the index alone.
 */
const UNFINISHED_MACHINES = `
WITH RECURSIVE found (ordinal) AS (
  SELECT (SELECT ordinal FROM actors INDEXED BY actors_unfinished_machine WHERE status = 'active' ORDER BY machine, version, definition LIMIT 1)
  UNION ALL
  SELECT coalesce(
    ${nextUnfinished("later.machine = known.machine AND later.version = known.version AND later.definition > known.definition")},
    ${nextUnfinished("later.machine = known.machine AND later.version > known.version")},
    ${nextUnfinished("later.machine > known.machine")}
  ) FROM found CROSS JOIN actors AS known ON known.ordinal = found.ordinal
)
SELECT machine, version, definition FROM found CROSS JOIN actors USING (ordinal)`;

/** The counter of the last opening outlives rows that were cut off by force. */
const LAST_POSITION = "max(opened_position, kept_position, coalesce((SELECT max(position) FROM journal), 0))";
const STANDING = `
SELECT epoch, opened_ms AS openedMs, opened_position AS openedPosition, rested_ms AS restedMs, kept_position AS keptPosition,
  ${LAST_POSITION} AS lastPosition FROM root`;

/** Where a root stands. */
export interface Standing {
  readonly epoch: number;
  /** When the present ownership began. */
  readonly openedMs: number;
  /** When the last ownership ended in order; 0 where it did not, or has not; below 0 the time of its last entry, which was deleted. */
  readonly restedMs: number;
  /** The last position when it ended in order, or when the last entry was deleted. */
  readonly keptPosition: number;
  /** The last position at that time. */
  readonly openedPosition: number;
  /** The last position now. */
  readonly lastPosition: number;
}

type Ordinal = { readonly ordinal: number };

export class SqliteReader implements StoreReader {
  protected readonly connection: Connection;
  readonly rootId: string;

  constructor(connection: Connection, rootId?: string) {
    this.connection = connection;
    this.rootId = rootId ?? this.#root("root_id");
  }

  epoch(): number {
    return this.#root("epoch");
  }

  actor(address: string): ActorRow | undefined {
    const row = this.connection.get<StoredActor>(`SELECT ${ACTOR} FROM actors WHERE address = ?`, address);
    return row && readActor<ActorRow>(row);
  }

  actors(filter: ActorFilter, page: Page): (ActorRow & Ordinal)[] {
    const where = new SqlPage(page, "ordinal");
    if (filter.status !== undefined) where.literal(filter.status === "active" ? "status = 'active'" : "status = 'final'");
    if (filter.quarantined !== undefined) where.literal(filter.quarantined ? "quarantine IS NOT NULL" : "quarantine IS NULL");
    where.equal("machine", filter.machine);
    if (filter.epochBelow !== undefined) where.add("epoch < ?", filter.epochBelow);
    if (filter.updatedBeforeMs !== undefined) where.add("updated_ms < ?", filter.updatedBeforeMs);
    return this.#selectActors(where, filter).map((row) => readActor<ActorRow & Ordinal>(row));
  }

  journal(actor: string, page: Page): PlacedJournalRow[] {
    const { after, limit } = pageBounds(page);
    return chainOf(this.connection, { actor, after, limit, end: this.appendedTo(actor) });
  }

  /** Where the chain of an actor ends whose row may not say so yet. */
  protected appendedTo(_actor: string): number | undefined {
    return undefined;
  }

  entries(page: Page): PlacedJournalRow[] {
    return new SqlPage(page, "position").select(this.connection, JOURNAL, "journal");
  }

  lastPosition(): number {
    return this.standing().lastPosition;
  }

  answer(actor: string, key: string): AnswerRow | undefined {
    return this.connection.get("SELECT actor, key, event, answer, at_ms AS atMs FROM answers WHERE actor = ? AND key = ?", actor, key);
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

  effects(filter: { actor?: string; state?: EffectRow["state"] }, page: Page): (EffectRow & Ordinal)[] {
    const where = new SqlPage(page, "ordinal").equal("actor", filter.actor).equal("state", filter.state);
    return where.select(this.connection, `ordinal, ${EFFECT}`, "effects");
  }

  startableEffects(page: Page): StartableEffectRow[] {
    // From the open effects to their actors, whatever the planner believes of the sizes of either.
    return new SqlPage(page, "effects.ordinal")
      .literal("effects.state = 'open'")
      .literal("actors.status = 'active'")
      .literal("actors.quarantine IS NULL")
      .select(
        this.connection,
        `effects.ordinal, ${EFFECT}, actors.machine, actors.version, actors.definition`,
        "effects INDEXED BY effects_in_state CROSS JOIN actors ON actors.address = effects.actor",
      );
  }

  timer(key: string): TimerRow | undefined {
    return this.connection.get(`SELECT ${TIMER} FROM timers WHERE key = ?`, key);
  }

  timers(filter: { actor?: string }, page: Page): (TimerRow & Ordinal)[] {
    return new SqlPage(page, "ordinal").equal("actor", filter.actor).select(this.connection, `ordinal, ${TIMER}`, "timers");
  }

  dueTimers(untilMs: number, limit: number): (TimerRow & Ordinal)[] {
    const sql = `SELECT ordinal, ${TIMER} FROM timers WHERE state = 'armed' AND due_ms <= ? ORDER BY due_ms, ordinal LIMIT ?`;
    return this.connection.all(sql, untilMs, pageBounds({ limit }).limit);
  }

  nextDueMs(): number | undefined {
    const sql = "SELECT due_ms AS dueMs FROM timers WHERE state = 'armed' ORDER BY due_ms LIMIT 1";
    return this.connection.get<{ dueMs: number }>(sql)?.dueMs;
  }

  unfinishedMachines(): UnfinishedMachine[] {
    return this.connection.all(UNFINISHED_MACHINES);
  }

  deadLetters(filter: { receiver?: string; reason?: string }, page: Page): PlacedDeadLetterRow[] {
    const where = new SqlPage(page, "position").equal("receiver", filter.receiver).equal("reason", filter.reason);
    return where.select(this.connection, DEAD_LETTER, "dead_letters");
  }

  blob(digest: string): Uint8Array | undefined {
    const bytes = this.connection.get<{ bytes: Buffer }>("SELECT bytes FROM blobs WHERE digest = ?", digest)?.bytes;
    return bytes && new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  blobs(page: Page): BlobRow[] {
    return new SqlPage(page, "ordinal").select(this.connection, BLOB, "blobs");
  }

  tombstone(address: string): TombstoneRow | undefined {
    return this.connection.get(`SELECT ${TOMBSTONE} FROM tombstones WHERE address = ?`, address);
  }

  tombstones(page: Page): (TombstoneRow & Ordinal)[] {
    return new SqlPage(page, "ordinal").select(this.connection, `ordinal, ${TOMBSTONE}`, "tombstones");
  }

  watermarks(): Watermarks {
    const row = this.connection.get<Watermarks>("SELECT answers_ms AS answersMs, dead_letters_ms AS deadLettersMs FROM root");
    return row ?? { answersMs: 0, deadLettersMs: 0 };
  }

  /** Throws `journal_damaged` where a number is beyond what can be counted: nothing could be written after it. */
  protected standing(): Standing {
    const standing = this.connection.get<Standing>(STANDING) ?? noRoot();
    // Not the time of its opening, which only timers are counted by.
    const counted = ["epoch", "openedPosition", "lastPosition"] as const;
    const wrong = counted.find((part) => !Number.isSafeInteger(standing[part]) || standing[part] === Number.MAX_SAFE_INTEGER);
    if (wrong) throw engineError("journal_damaged", `The database cannot say where it stands: its ${wrong} is ${standing[wrong]}.`);
    return standing;
  }

  /** Not with the last position, so that a journal that cannot be read does not hide who owns what. */
  #root<Value>(column: "root_id" | "epoch"): Value {
    return (this.connection.get<{ value: Value }>(`SELECT ${column} AS value FROM root`) ?? noRoot()).value;
  }

  /**
   * Names the index where the planner would not choose it: it knows no sizes, and walks all actors of a machine to find the few
   * that are unfinished, or all final ones to find the few that are old.
   */
  #selectActors(where: SqlPage, { status, machine, updatedBeforeMs }: ActorFilter): StoredActor<ActorRow & Ordinal>[] {
    const columns = `ordinal, ${ACTOR}`;
    if (status === "final" && updatedBeforeMs !== undefined)
      return where.selectByCursor(this.connection, columns, "actors", "actors_final");
    if (status !== "active") return where.select(this.connection, columns, "actors");
    const index = machine === undefined ? "actors_unfinished" : "actors_unfinished_of_machine";
    return where.select(this.connection, columns, `actors INDEXED BY ${index}`);
  }
}

function nextUnfinished(condition: string): string {
  return `(SELECT later.ordinal FROM actors AS later INDEXED BY actors_unfinished_machine WHERE later.status = 'active' AND ${condition}
      ORDER BY later.machine, later.version, later.definition LIMIT 1)`;
}

function noRoot(): never {
  throw engineError("journal_damaged", "The database does not say which root it belongs to.");
}
