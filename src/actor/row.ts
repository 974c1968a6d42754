/** Rows: what a store holds, as the engine sees it. Part of the contract in `store.ts`. Columns of JSON are text, byte for byte. */

/** A row with its place in the lists of its kind. */
export type Listed<Row> = Row & { readonly ordinal: number };

/** An actor's row: the cache of its journal. `seq` is the revision of `snapshot` (ACT-3). */
export interface ActorRow {
  /** `<machine>/<id>`, unique in the root. */
  readonly address: string;
  readonly machine: string;
  readonly id: string;
  /** Version of the machine that wrote the snapshot. */
  readonly version: string;
  /** Digest of that machine's definition; empty where an older schema did not record it. */
  readonly definition: string;
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
  /** JSON text of the event that could not be taken; of a long one its first 4,096 characters, for a person to read. */
  readonly event?: string;
  /** Key of the effect or timer that the event came from, if any. */
  readonly source?: string;
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
  /** Requests of the machine, in order: effects, timers, deliveries, creations, cancellations. */
  readonly actions: string;
  /** Version of the machine that took the event. */
  readonly version: string;
  /** Digest of the previous entry's hash, the actor, the seq and the digest of this entry's content: the chain. */
  readonly hash: string;
}

/**
 * A journal entry with its place in the order in which the root committed. Positions start at 1; the only gaps are those of deleted
 * actors.
 */
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
  /** Id of the invoked child that this effect is, so that its outcome is that child's; null for an effect that an action requested. */
  readonly child: string | null;
  /** Epoch in which it was opened or last started. */
  readonly epoch: number;
  readonly openedMs: number;
  /** JSON text of the last error, or null. */
  readonly error: string | null;
}

/** An open effect together with what must be known of its actor before it may start. */
export interface StartableEffectRow extends EffectRow {
  readonly ordinal: number;
  readonly machine: string;
  readonly version: string;
  readonly definition: string;
}

/** What happens to a timer over time without an owner (ACT-8). */
export type TimerPolicy = "absolute" | "remaining" | "restart";

/** A durable row that becomes an event at its time. */
export interface TimerRow {
  /** `<actor>:<seq>:<index>` of the request. */
  readonly key: string;
  readonly actor: string;
  /** XState's id, by which the machine cancels it; empty where it has none. */
  readonly id: string;
  /** JSON text of the event. */
  readonly event: string;
  /** Name of the delay in the machine. */
  readonly delay: string;
  readonly policy: TimerPolicy;
  /** How long it was set for. */
  readonly delayMs: number;
  /** When it is due, in ms since 1970. */
  readonly dueMs: number;
  /** `parked`: it came due while its actor could not take events. Armed again when the root is opened or the actor is released. */
  readonly state: "armed" | "parked";
}

/** What is left of a deleted actor: enough to hold the rest of the root against. */
export interface TombstoneRow {
  readonly address: string;
  readonly machine: string;
  readonly version: string;
  /** The state that it ended in. */
  readonly state: string;
  /** Number of its journal entries. */
  readonly seq: number;
  /** Hash of its last entry. */
  readonly hash: string;
  readonly deletedMs: number;
}

/** A stored blob without its bytes. */
export interface BlobRow {
  readonly ordinal: number;
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
  /** The beginning of the hour in which it was last stored, in ms since 1970. */
  readonly storedMs: number;
}

/** What retention has removed up to which time, in ms since 1970; 0: nothing. */
export interface Watermarks {
  readonly answersMs: number;
  readonly deadLettersMs: number;
}

/** A machine, version and definition that unfinished actors have. */
export interface UnfinishedMachine {
  readonly machine: string;
  readonly version: string;
  readonly definition: string;
}

/** The recorded answer to a keyed event. */
export interface AnswerRow {
  readonly actor: string;
  readonly key: string;
  /** Digest of the canonical event. */
  readonly event: string;
  /** JSON text of the answer. */
  readonly answer: string;
  readonly atMs: number;
}

/** An event that reached nobody, or that its receiver ignored. */
export interface DeadLetterRow {
  readonly receiver: string;
  readonly sender: string;
  /** Journal entry of the sender that delivered it. */
  readonly seq: number;
  /** JSON text. */
  readonly event: string;
  /** Why it could not be taken: a code of the registry. */
  readonly reason: string;
  readonly atMs: number;
}

/** A dead letter with its place in the order in which the root committed. */
export interface PlacedDeadLetterRow extends DeadLetterRow {
  readonly position: number;
}
