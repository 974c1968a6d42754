/**
 * The rows of a memory store, and the queries of the store contract over them.
 *
 * Guarantees: rows are frozen, so no caller can change what is stored; lists are in the order of their cursor.
 *
 * Next: `memory-writer.ts`.
 */

import { engineError } from "../actor/error.ts";
import type {
  ActorFilter,
  ActorRow,
  AnswerRow,
  BlobRow,
  DeadLetterRow,
  EffectRow,
  JournalRow,
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
import { KeyedTable, PlacedTable, SequenceIndex, UndoLog } from "./memory-table.ts";

type Ordinal = { readonly ordinal: number };

const ofActor = ({ actor }: { readonly actor: string }) => [actor];

/** Groups of actors. */
const UNFINISHED = "unfinished";
const SET_ASIDE = "set aside";

/** The one row about the root itself. */
export interface RootRow extends Watermarks {
  readonly epoch: number;
  /** When the present ownership began, and the last position at that time. */
  readonly openedMs: number;
  readonly restedMs: number;
  readonly openedPosition: number;
  /** The last entry that was deleted while it was the last of all. */
  readonly deletedMs: number;
  readonly deletedPosition: number;
}

/** Everything that one memory store holds. */
export class Tables {
  readonly log = new UndoLog();
  readonly actors = new KeyedTable<ActorRow>(this.log, ({ status, quarantine }) => [
    ...(status === "active" ? [UNFINISHED] : []),
    ...(quarantine ? [SET_ASIDE] : []),
  ]);
  readonly journal = new PlacedTable<JournalRow>(this.log);
  readonly journalOf = new SequenceIndex<PlacedJournalRow>(this.log);
  readonly answers = new KeyedTable<AnswerRow>(this.log, ofActor);
  readonly identities = new KeyedTable<{ name: string; actor: string }>(this.log, ofActor);
  readonly effects = new KeyedTable<EffectRow>(this.log, ofActor);
  readonly timers = new KeyedTable<TimerRow>(this.log, ofActor);
  readonly deadLetters = new PlacedTable<DeadLetterRow>(this.log);
  readonly blobs = new KeyedTable<{ readonly digest: string; readonly storedMs: number; readonly bytes: Uint8Array }>(this.log);
  readonly tombstones = new KeyedTable<TombstoneRow>(this.log);
  #root: RootRow = Object.freeze({
    ...{ epoch: 0, openedMs: 0, restedMs: 0, openedPosition: 0, deletedMs: 0, deletedPosition: 0 },
    ...{ answersMs: 0, deadLettersMs: 0 },
  });
  writing = false;
  closed = false;

  get root(): RootRow {
    return this.#root;
  }

  changeRoot(more: Partial<RootRow>): void {
    const before = this.#root;
    this.#root = Object.freeze({ ...before, ...more });
    this.log.add(() => {
      this.#root = before;
    });
  }
}

export class MemoryReader implements StoreReader {
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
    return this.tables.root.epoch;
  }

  actor(address: string): ActorRow | undefined {
    return this.tables.actors.get(address);
  }

  actors(filter: ActorFilter, page: Page): (ActorRow & Ordinal)[] {
    const fits = (row: ActorRow) =>
      (filter.machine === undefined || row.machine === filter.machine) &&
      (filter.status === undefined || row.status === filter.status) &&
      (filter.quarantined === undefined || (row.quarantine !== null) === filter.quarantined) &&
      (filter.epochBelow === undefined || row.epoch < filter.epochBelow) &&
      (filter.updatedBeforeMs === undefined || row.updatedMs < filter.updatedBeforeMs);
    const group = filter.quarantined === true ? SET_ASIDE : filter.status === "active" ? UNFINISHED : undefined;
    return this.tables.actors.page(pageBounds(page), fits, group);
  }

  journal(actor: string, page: Page): PlacedJournalRow[] {
    return this.tables.journalOf.page(actor, pageBounds(page));
  }

  entries(page: Page): PlacedJournalRow[] {
    return this.tables.journal.page(pageBounds(page), () => true);
  }

  lastPosition(): number {
    return this.tables.journal.lastPosition;
  }

  answer(actor: string, key: string): AnswerRow | undefined {
    return this.tables.answers.get(pair(actor, key));
  }

  identity(name: string): string | undefined {
    return this.tables.identities.get(name)?.actor;
  }

  identities(actor: string): string[] {
    const names = this.tables.identities.of(actor).map((row) => row.name);
    return names.sort(inBytes);
  }

  effect(key: string): EffectRow | undefined {
    return this.tables.effects.get(key);
  }

  effects(filter: { actor?: string; state?: EffectRow["state"] }, page: Page): (EffectRow & Ordinal)[] {
    const fits = (row: EffectRow) => filter.state === undefined || row.state === filter.state;
    return this.tables.effects.page(pageBounds(page), fits, filter.actor);
  }

  startableEffects(page: Page): StartableEffectRow[] {
    const { actors, effects } = this.tables;
    const actorOf = (row: EffectRow) => {
      const actor = actors.get(row.actor);
      return actor?.status === "active" && actor.quarantine === null ? actor : undefined;
    };
    const listed = effects.page(pageBounds(page), (row) => row.state === "open" && actorOf(row) !== undefined);
    return listed.flatMap((row) => {
      const actor = actorOf(row);
      return actor ? [{ ...row, machine: actor.machine, version: actor.version, definition: actor.definition }] : [];
    });
  }

  timer(key: string): TimerRow | undefined {
    return this.tables.timers.get(key);
  }

  timers(filter: { actor?: string }, page: Page): (TimerRow & Ordinal)[] {
    return this.tables.timers.page(pageBounds(page), () => true, filter.actor);
  }

  dueTimers(untilMs: number, limit: number): (TimerRow & Ordinal)[] {
    const bounds = pageBounds({ limit });
    return this.#armed()
      .filter((row) => row.dueMs <= untilMs)
      .slice(0, bounds.limit);
  }

  nextDueMs(): number | undefined {
    return this.#armed()[0]?.dueMs;
  }

  unfinishedMachines(): UnfinishedMachine[] {
    const found = new Map<string, UnfinishedMachine>();
    for (const { machine, version, definition } of this.tables.actors.of(UNFINISHED))
      found.set(JSON.stringify([machine, version, definition]), { machine, version, definition });
    return [...found.values()].sort(
      (a, b) => inBytes(a.machine, b.machine) || inBytes(a.version, b.version) || inBytes(a.definition, b.definition),
    );
  }

  deadLetters(filter: { receiver?: string; reason?: string }, page: Page): PlacedDeadLetterRow[] {
    const fits = (row: DeadLetterRow) =>
      (filter.receiver === undefined || row.receiver === filter.receiver) && (filter.reason === undefined || row.reason === filter.reason);
    return this.tables.deadLetters.page(pageBounds(page), fits);
  }

  blob(digest: string): Uint8Array | undefined {
    return this.tables.blobs.get(digest)?.bytes.slice();
  }

  blobs(page: Page): BlobRow[] {
    const listed = this.tables.blobs.page(pageBounds(page), () => true);
    return listed.map(({ ordinal, digest, storedMs, bytes }) => ({ ordinal, digest, size: bytes.length, storedMs }));
  }

  tombstone(address: string): TombstoneRow | undefined {
    return this.tables.tombstones.get(address);
  }

  tombstones(page: Page): (TombstoneRow & Ordinal)[] {
    return this.tables.tombstones.page(pageBounds(page), () => true);
  }

  watermarks(): Watermarks {
    const { answersMs, deadLettersMs } = this.tables.root;
    return { answersMs, deadLettersMs };
  }

  #armed(): (TimerRow & Ordinal)[] {
    return this.tables.timers.all((row) => row.state === "armed").sort((a, b) => a.dueMs - b.dueMs || a.ordinal - b.ordinal);
  }
}

/** The key of a row that two columns name. */
export function pair(actor: string, key: string): string {
  return JSON.stringify([actor, key]);
}

/** The order of UTF-8 bytes, in which a database sorts; JavaScript's own order differs beyond the basic plane. */
function inBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
