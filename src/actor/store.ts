/**
 * Contract of a store: what the engine needs from whatever keeps its rows. Implementations live in `src/store/`
 * (`sqlite.ts`, `memory.ts`) and pass one conformance suite.
 *
 * Duties of a store:
 * 1. `write` runs its callback in ONE transaction that no other writer can interleave with. Before the callback it compares
 *    the caller's epoch with the stored one and throws `not_owner` where they differ (ACT-2).
 * 2. When `write` returns, everything the callback wrote is durable and visible; when it throws, nothing is (ACT-7).
 * 3. Reads outside `write` see the last commit. Reads inside see what the callback has written so far.
 * 4. Text columns come back byte for byte as they were written: the hash chain is over these bytes.
 * 5. What storage itself refuses (disk full, busy beyond the bound, I/O) is thrown as `storage_failed` with its cause.
 * 6. `beginEpoch` counts the ownership and moves the timers over the time without an owner, in one transaction (ACT-8).
 *
 * A store knows rows, not machines: it never parses a snapshot, an event or a fact.
 */

import type {
  ActorRow,
  AnswerRow,
  BlobRow,
  DeadLetterRow,
  EffectRow,
  JournalRow,
  PlacedDeadLetterRow,
  PlacedJournalRow,
  StartableEffectRow,
  TimerRow,
  TombstoneRow,
  UnfinishedMachine,
  Watermarks,
} from "./row.ts";

export type * from "./row.ts";

/** A page of a list: rows after a cursor. Out of these bounds, an engine's lists throw `input_invalid`, and a store a RangeError. */
export interface Page {
  /** The cursor, a whole number: only rows behind it. Default 0: from the first. */
  readonly after?: number;
  /** Rows at most, 1..1000. An engine's lists give 100 where it is absent. */
  readonly limit: number;
}

/** Which actors to list; what is absent does not matter. */
export interface ActorFilter {
  readonly machine?: string;
  readonly status?: "active" | "final";
  /** True: only quarantined actors; false: only the others. */
  readonly quarantined?: boolean;
  /** Only actors whose `epoch` is lower. */
  readonly epochBelow?: number;
  /** Only actors whose last entry is older, in ms since 1970. */
  readonly updatedBeforeMs?: number;
}

/** What can be asked of a store. Lists are in the order of creation; their cursor is the row's ordinal. */
export interface StoreReader {
  readonly rootId: string;
  /** The epoch of the present ownership; 0 before the first. */
  epoch(): number;
  actor(address: string): ActorRow | undefined;
  actors(filter: ActorFilter, page: Page): (ActorRow & { readonly ordinal: number })[];
  /**
   * Entries of one actor with seq > after, ascending. It may leave out what damage put elsewhere: an entry with another number or actor,
   * and those behind the last known one of an address without a row. `entries` lists all.
   */
  journal(actor: string, page: Page): PlacedJournalRow[];
  /** Entries of all actors with position > after, ascending. */
  entries(page: Page): PlacedJournalRow[];
  /** The highest position ever given out, also where its row was removed by force. */
  lastPosition(): number;
  answer(actor: string, key: string): AnswerRow | undefined;
  /** The actor that owns or reserved this identity. */
  identity(name: string): string | undefined;
  /** All identities that an actor owns or reserved, sorted. */
  identities(actor: string): string[];
  effect(key: string): EffectRow | undefined;
  /** Effects of one actor, or of all; ordered by ordinal. */
  effects(filter: { actor?: string; state?: EffectRow["state"] }, page: Page): (EffectRow & { readonly ordinal: number })[];
  /** Open effects of unfinished actors that are not set aside. */
  startableEffects(page: Page): StartableEffectRow[];
  timer(key: string): TimerRow | undefined;
  /** Timers of one actor, or of all; ordered by ordinal. */
  timers(filter: { actor?: string }, page: Page): (TimerRow & { readonly ordinal: number })[];
  /** Armed timers due at `untilMs` or before, by due time, then ordinal; at most `limit`. */
  dueTimers(untilMs: number, limit: number): (TimerRow & { readonly ordinal: number })[];
  /** When the first armed timer is due; undefined where there is none. */
  nextDueMs(): number | undefined;
  /** Distinct, of all unfinished actors; its cost grows with what is listed and not with the actors. */
  unfinishedMachines(): UnfinishedMachine[];
  deadLetters(filter: { receiver?: string; reason?: string }, page: Page): PlacedDeadLetterRow[];
  blob(digest: string): Uint8Array | undefined;
  blobs(page: Page): BlobRow[];
  tombstone(address: string): TombstoneRow | undefined;
  tombstones(page: Page): (TombstoneRow & { readonly ordinal: number })[];
  watermarks(): Watermarks;
}

/** An ordinary step of an actor, from the revision `from`: the columns of its row that it changes. */
export interface Advance extends Pick<ActorRow, "address" | "state" | "seq" | "hash" | "snapshot" | "updatedMs"> {
  readonly from: number;
}

/** What can be written, only inside `Store.write`. */
export interface StoreWriter extends StoreReader {
  /** True where another connection has committed since this store's last write: what was remembered may be stale. */
  isChangedElsewhere(): boolean;
  /** Inserts or replaces the row with this address. An existing row keeps its ordinal. */
  putActor(row: ActorRow): void;
  /** Writes ordinary steps, one for each actor at most. Throws, an invariant breach, where a row is not at the revision of its step. */
  advanceActors(steps: readonly Advance[]): void;
  /**
   * Appends entries in their order, at the positions behind `lastPosition`. `before` has, for each, the position of its actor's entry
   * before it, 0 where there is none: a store may use it to find an actor's entries, and must find them all where it is wrong. The row of
   * an actor that has one is written behind its entries in the same `write`. A repeated (actor, seq) throws, here or at the latest there:
   * the engine checks before it writes, so this is an invariant breach.
   */
  appendEntries(rows: readonly JournalRow[], before: readonly number[]): void;
  putAnswer(row: AnswerRow): void;
  putIdentity(name: string, actor: string): void;
  /** Inserts or replaces. An existing row keeps its ordinal. */
  putEffect(row: EffectRow): void;
  deleteEffect(key: string): void;
  /** Inserts or replaces. An existing row keeps its ordinal. */
  putTimer(row: TimerRow): void;
  deleteTimer(key: string): void;
  putDeadLetter(row: DeadLetterRow): void;
  deleteDeadLetter(position: number): void;
  /** Idempotent: the digest is the SHA-256 of the bytes, in lower-case hex. A repetition renews `storedMs`. */
  putBlob(digest: string, bytes: Uint8Array, atMs: number): void;
  /**
   * Removes a final actor with its journal, answers, identities, effects, timers and the dead letters to it, and leaves a tombstone.
   * No position is given out again for that.
   */
  deleteActor(address: string, atMs: number): void;
  /** Removes answers given before `beforeMs`, at most `limit`, oldest first, and raises the watermark; returns how many. */
  deleteAnswers(beforeMs: number, limit: number): number;
  /** As `deleteAnswers`, for dead letters; not those for one of the reasons `waiting` whose receiver is unfinished or set aside. */
  deleteDeadLetters(beforeMs: number, limit: number, waiting: readonly string[]): number;
  deleteBlob(digest: string): void;
  /**
   * The last write of an ownership that ends in order: remembers that its owner was there until `atMs`, and the last position apart
   * from the journal, so that entries cut off its end by force are missed.
   */
  rest(atMs: number): void;
}

export interface Store extends StoreReader {
  /**
   * Starts a new ownership and returns its epoch (previous + 1). The caller holds the root's owner lock. In the same transaction:
   * `remaining` timers are put off by the time since the last commit, `restart` timers start anew at `atMs`, parked ones are armed.
   * The last commit is the last `rest` where the ownership ended with it, else the last journal entry, or the last `beginEpoch` where no
   * entry came after it.
   */
  beginEpoch(atMs: number): number;
  /** Runs `body` in one transaction under `epoch`; see the duties above. `body` is synchronous. */
  write<T>(epoch: number, body: (writer: StoreWriter) => T): T;
  close(): void;
}
