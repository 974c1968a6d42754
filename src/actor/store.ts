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
 *
 * A store knows rows, not machines: it never parses a snapshot, an event or a fact.
 */

/** An actor's row: the cache of its journal. `seq` is the revision of `snapshot` (ACT-3). */
export interface ActorRow {
  /** `<machine>/<id>`, unique in the root. */
  readonly address: string;
  readonly machine: string;
  readonly id: string;
  /** Version of the machine that wrote the snapshot. */
  readonly version: string;
  /** `active` until the machine reaches a final state, then `final`. */
  readonly status: "active" | "final";
  /** The state value in dotted form, for lists: `running.stepping`. */
  readonly state: string;
  readonly seq: number;
  /** Hash of the journal entry `seq`. */
  readonly hash: string;
  /** The persisted snapshot as JSON text. */
  readonly snapshot: string;
  /** The epoch that created this actor, or last told it that it was reopened. */
  readonly epoch: number;
  readonly createdMs: number;
  readonly updatedMs: number;
  /** Why the actor was set aside, or null. */
  readonly quarantine: Quarantine | null;
}

/** Why an actor was set aside: a code of the registry, a message, and the event that could not be taken, if any. */
export interface Quarantine {
  readonly code: string;
  readonly message: string;
  readonly atMs: number;
  /** JSON text of the event that could not be taken. */
  readonly event?: string;
}

/** One journal entry: an accepted event and what the machine stated and requested because of it. Columns are JSON text. */
export interface JournalRow {
  readonly actor: string;
  /** 1..n without a gap; 1 is the creation with its input. */
  readonly seq: number;
  /** The stamp that the transition saw, in ms since 1970. */
  readonly atMs: number;
  /** Where the event came from: see `Cause` in `journal.ts`. */
  readonly cause: string;
  readonly event: string;
  readonly facts: string;
  /** Requests of the machine, in order: effects, deliveries, creations, cancellations. */
  readonly actions: string;
  /** Version of the machine that took the event. */
  readonly version: string;
  /** Digest of this entry's own content. */
  readonly body: string;
  /** Digest of the previous entry's hash, the actor, the seq and `body`: the chain. */
  readonly hash: string;
}

/** A journal entry with its place in the order in which the root committed. Positions start at 1 and have no gap. */
export interface PlacedJournalRow extends JournalRow {
  readonly position: number;
}

/**
 * A durable request for outside work.
 * `open`: to be started (again). `started`: an at-most-once handler was admitted. `exhausted`: at least once, tries used up,
 * and the machine declared no event for that. `unknown`: at most once, and whether it ran cannot be known.
 */
export interface EffectRow {
  /** `<actor>:<seq>:<index>`, stable over restarts. */
  readonly key: string;
  readonly actor: string;
  readonly name: string;
  /** JSON text. */
  readonly params: string;
  /** Id of the state node whose entry asked for it; the effect is cancelled when that state is left. Empty: lives with its actor. */
  readonly scope: string;
  readonly state: "open" | "started" | "exhausted" | "unknown";
  /** Epoch in which it was opened or last started. */
  readonly epoch: number;
  readonly openedMs: number;
  /** JSON text of the last error, or null. */
  readonly error: string | null;
}

/** The recorded answer to a keyed event. */
export interface AnswerRow {
  readonly actor: string;
  readonly key: string;
  /** Digest of the canonical event. */
  readonly event: string;
  /** JSON text of the answer. */
  readonly answer: string;
}

/** An event that reached nobody, or that its receiver ignored. */
export interface DeadLetterRow {
  readonly receiver: string;
  readonly sender: string;
  /** Journal entry of the sender that delivered it. */
  readonly seq: number;
  /** JSON text. */
  readonly event: string;
  /** `actor_not_found`, `actor_final`, `actor_quarantined` or `delivery_ignored`. */
  readonly reason: string;
  readonly atMs: number;
}

/** A dead letter with its place in the order in which the root committed. */
export interface PlacedDeadLetterRow extends DeadLetterRow {
  readonly position: number;
}

/** A page of a list: rows after a cursor, at most `limit` of them (1..1000). */
export interface Page {
  readonly after?: number;
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
}

/** What can be asked of a store. Lists are in the order of creation; their cursor is the row's ordinal. */
export interface StoreReader {
  readonly rootId: string;
  /** The epoch of the present ownership; 0 before the first. */
  epoch(): number;
  actor(address: string): ActorRow | undefined;
  actors(filter: ActorFilter, page: Page): (ActorRow & { readonly ordinal: number })[];
  /** Entries of one actor with seq > after, ascending. */
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
  deadLetters(filter: { receiver?: string; reason?: string }, page: Page): PlacedDeadLetterRow[];
  blob(digest: string): Uint8Array | undefined;
}

/** What can be written, only inside `Store.write`. */
export interface StoreWriter extends StoreReader {
  /** Inserts or replaces the row with this address. An existing row keeps its ordinal. */
  putActor(row: ActorRow): void;
  /** Throws on a repeated (actor, seq): the engine checks before it writes, so this is an invariant breach. */
  appendEntry(row: JournalRow): number;
  putAnswer(row: AnswerRow): void;
  putIdentity(name: string, actor: string): void;
  /** Inserts or replaces. An existing row keeps its ordinal. */
  putEffect(row: EffectRow): void;
  deleteEffect(key: string): void;
  putDeadLetter(row: DeadLetterRow): void;
  /** Idempotent: the digest is the SHA-256 of the bytes, in lower-case hex. */
  putBlob(digest: string, bytes: Uint8Array): void;
}

export interface Store extends StoreReader {
  /** Starts a new ownership and returns its epoch (previous + 1). The caller holds the root's owner lock. */
  beginEpoch(): number;
  /** Runs `body` in one transaction under `epoch`; see the duties above. `body` is synchronous. */
  write<T>(epoch: number, body: (writer: StoreWriter) => T): T;
  close(): void;
}
