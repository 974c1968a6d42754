/**
 * The store in memory: the same contract for tests, gone with its process.
 *
 * Guarantees: as `sqlite.ts`, except that nothing survives the process and no other process can look in. Rows are copied on the way
 * in and frozen, so no caller can change what is stored.
 *
 * Next: `memory-table.ts`.
 */

import { v7 } from "uuid";
import { engineError } from "../actor/error.ts";
import type {
  ActorFilter,
  ActorRow,
  AnswerRow,
  DeadLetterRow,
  EffectRow,
  JournalRow,
  Page,
  PlacedDeadLetterRow,
  PlacedJournalRow,
  Quarantine,
  Store,
  StoreReader,
  StoreWriter,
} from "../actor/store.ts";
import { breach, checkBlob, checkRow, pageBounds, refusePromise } from "./check.ts";
import { KeyedTable, PlacedTable, SequenceIndex, UndoLog } from "./memory-table.ts";

/** Everything that one memory store holds. */
class Tables {
  readonly log = new UndoLog();
  readonly actors = new KeyedTable<ActorRow>(this.log);
  readonly journal = new PlacedTable<JournalRow>(this.log);
  readonly journalOf = new SequenceIndex<PlacedJournalRow>(this.log);
  readonly answers = new KeyedTable<AnswerRow>(this.log);
  readonly identities = new KeyedTable<{ name: string; actor: string }>(this.log);
  readonly effects = new KeyedTable<EffectRow>(this.log);
  readonly deadLetters = new PlacedTable<DeadLetterRow>(this.log);
  readonly blobs = new KeyedTable<{ bytes: Uint8Array }>(this.log);
  epoch = 0;
  writing = false;
  closed = false;
}

class MemoryReader implements StoreReader {
  readonly rootId: string;
  readonly #tables: Tables;

  constructor(rootId: string, tables: Tables) {
    this.rootId = rootId;
    this.#tables = tables;
  }

  protected get tables(): Tables {
    if (this.#tables.closed) throw engineError("closed", "The store is closed.");
    return this.#tables;
  }

  epoch(): number {
    return this.tables.epoch;
  }

  actor(address: string): ActorRow | undefined {
    return this.tables.actors.get(address);
  }

  actors(filter: ActorFilter, page: Page): (ActorRow & { readonly ordinal: number })[] {
    const fits = (row: ActorRow) =>
      (filter.machine === undefined || row.machine === filter.machine) &&
      (filter.status === undefined || row.status === filter.status) &&
      (filter.quarantined === undefined || (row.quarantine !== null) === filter.quarantined) &&
      (filter.epochBelow === undefined || row.epoch < filter.epochBelow);
    return this.tables.actors.page(pageBounds(page), fits);
  }

  journal(actor: string, page: Page): PlacedJournalRow[] {
    return this.tables.journalOf.page(actor, pageBounds(page));
  }

  entries(page: Page): PlacedJournalRow[] {
    const { after, limit } = pageBounds(page);
    return this.tables.journal.rows.slice(after, after + limit);
  }

  lastPosition(): number {
    return this.tables.journal.rows.length;
  }

  answer(actor: string, key: string): AnswerRow | undefined {
    return this.tables.answers.get(pair(actor, key));
  }

  identity(name: string): string | undefined {
    return this.tables.identities.get(name)?.actor;
  }

  identities(actor: string): string[] {
    const owned = this.tables.identities.page({ after: 0, limit: Infinity }, (row) => row.actor === actor);
    // In the order of their UTF-8 bytes, as a database sorts them; JavaScript's own order differs beyond the basic plane.
    return owned.map((row) => row.name).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  }

  effect(key: string): EffectRow | undefined {
    return this.tables.effects.get(key);
  }

  effects(filter: { actor?: string; state?: EffectRow["state"] }, page: Page): (EffectRow & { readonly ordinal: number })[] {
    const fits = (row: EffectRow) =>
      (filter.actor === undefined || row.actor === filter.actor) && (filter.state === undefined || row.state === filter.state);
    return this.tables.effects.page(pageBounds(page), fits);
  }

  deadLetters(filter: { receiver?: string; reason?: string }, page: Page): PlacedDeadLetterRow[] {
    const { after, limit } = pageBounds(page);
    const fits = (row: DeadLetterRow) =>
      (filter.receiver === undefined || row.receiver === filter.receiver) && (filter.reason === undefined || row.reason === filter.reason);
    return this.tables.deadLetters.rows.slice(after).filter(fits).slice(0, limit);
  }

  blob(digest: string): Uint8Array | undefined {
    return this.tables.blobs.get(digest)?.bytes.slice();
  }
}

class MemoryWriter extends MemoryReader implements StoreWriter {
  #ended = false;

  /** Called when the write ends: from here on every put throws. */
  end(): void {
    this.#ended = true;
  }

  putActor(row: ActorRow): void {
    const { address, machine, id, version, status, state, seq, hash, snapshot, epoch, createdMs, updatedMs, quarantine } = row;
    const copy = quarantine && copyQuarantine(quarantine);
    const kept = { address, machine, id, version, status, state, seq, hash, snapshot, epoch, createdMs, updatedMs, quarantine: copy };
    this.#accept(row).actors.put(address, kept);
  }

  appendEntry(row: JournalRow): number {
    const { actor, seq, atMs, cause, event, facts, actions, version, body, hash } = row;
    const tables = this.#accept(row);
    if (tables.journalOf.has(actor, seq)) throw breach(`journal entry ${seq} of ${actor} exists already`);
    const placed = tables.journal.append({ actor, seq, atMs, cause, event, facts, actions, version, body, hash });
    tables.journalOf.add(placed);
    return placed.position;
  }

  putAnswer({ actor, key, event, answer }: AnswerRow): void {
    const row = { actor, key, event, answer };
    const known = this.#accept(row).answers.get(pair(actor, key));
    if (known && (known.event !== event || known.answer !== answer)) throw breach(`${actor} has given another answer under key ${key}`);
    this.tables.answers.put(pair(actor, key), row);
  }

  putIdentity(name: string, actor: string): void {
    const known = this.#accept({ name, actor }).identities.get(name);
    if (known && known.actor !== actor) throw breach(`identity ${name} belongs to ${known.actor}`);
    this.tables.identities.put(name, { name, actor });
  }

  putEffect(row: EffectRow): void {
    const { key, actor, name, params, scope, state, epoch, openedMs, error } = row;
    this.#accept(row).effects.put(key, { key, actor, name, params, scope, state, epoch, openedMs, error });
  }

  deleteEffect(key: string): void {
    this.#accept({ key }).effects.delete(key);
  }

  putDeadLetter(row: DeadLetterRow): void {
    const { receiver, sender, seq, event, reason, atMs } = row;
    this.#accept(row).deadLetters.append({ receiver, sender, seq, event, reason, atMs });
  }

  putBlob(digest: string, bytes: Uint8Array): void {
    checkBlob(digest, bytes);
    this.#accept({ digest }).blobs.put(digest, { bytes: new Uint8Array(bytes) });
  }

  #accept(row: object): Tables {
    if (this.#ended) throw breach("a writer was used after its write had ended");
    checkRow(row);
    return this.tables;
  }
}

class MemoryStore extends MemoryReader implements Store {
  /** Not through the checked getter: closing twice is harmless. */
  readonly #tables: Tables;

  constructor(rootId: string, tables: Tables) {
    super(rootId, tables);
    this.#tables = tables;
  }

  beginEpoch(): number {
    return this.#exclusive(() => ++this.tables.epoch);
  }

  write<T>(epoch: number, body: (writer: StoreWriter) => T): T {
    return this.#exclusive((tables) => {
      const current = tables.epoch;
      if (current !== epoch)
        throw engineError("not_owner", `Epoch ${epoch} is over; ${current} is current. Nothing was written.`, {
          details: { epoch, current },
        });
      const writer = new MemoryWriter(this.rootId, tables);
      try {
        const result = body(writer);
        refusePromise(result);
        tables.log.keep();
        return result;
      } catch (error) {
        tables.log.undo();
        throw error;
      } finally {
        writer.end();
      }
    });
  }

  close(): void {
    const tables = this.#tables;
    if (tables.writing) throw breach("close inside a write");
    tables.closed = true;
  }

  #exclusive<T>(work: (tables: Tables) => T): T {
    const tables = this.tables;
    if (tables.writing) throw breach("a write inside a write");
    tables.writing = true;
    try {
      return work(tables);
    } finally {
      tables.writing = false;
    }
  }
}

/** A new, empty store in memory. */
export function memoryStore(options: { readonly rootId?: string } = {}): Store {
  return new MemoryStore(options.rootId ?? v7(), new Tables());
}

function pair(actor: string, key: string): string {
  return JSON.stringify([actor, key]);
}

function copyQuarantine({ code, message, atMs, event }: Quarantine): Quarantine {
  return Object.freeze({ code, message, atMs, ...(event === undefined ? {} : { event }) });
}
