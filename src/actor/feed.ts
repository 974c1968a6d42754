/** Feed: who waits for an actor's next commit or its partial output, and the iteration over committed entries. */

import { engineError, type HoldfastError, messageOf } from "./error.ts";
import { inflated } from "./journal.ts";
import type { Json } from "./json.ts";
import type { JournalRow, PlacedJournalRow, StoreReader } from "./store.ts";
import type { EngineEvent, Fact, Request } from "./transition.ts";

/** A committed entry, parsed. */
export interface Entry {
  readonly actor: string;
  readonly seq: number;
  readonly position: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly event: EngineEvent;
  readonly facts: readonly Fact[];
  readonly actions: readonly Request[];
  readonly hash: string;
}

export type Signal =
  /** The actor's journal reaches to `seq` now, by these entries; 0 where the commit only set it aside, released or deleted it. */
  | { readonly kind: "committed"; readonly seq: number; readonly entries: readonly JournalRow[] }
  | { readonly kind: "progress"; readonly output: Json }
  /** An effect's work could not begin, or its outcome not be committed. */
  | { readonly kind: "lost"; readonly effect: string; readonly error: unknown }
  /** Nothing more will come; with the reason, where that is not an orderly close. */
  | { readonly kind: "closed"; readonly error?: HoldfastError };

type Listener = (signal: Signal) => void;

export class Feed {
  readonly #listeners = new Map<string, Set<Listener>>();
  #closed: Extract<Signal, { kind: "closed" }> | undefined;

  /**
   * Calls `listener` after each commit that touched the actor, with its partial output, and when the engine closes (at once where it
   * has). Returns the function that ends it.
   */
  subscribe(actor: string, listener: Listener): () => void {
    if (this.#closed) {
      listener(this.#closed);
      return () => {};
    }
    // Each subscription counts, also of one function twice.
    const own: Listener = (signal) => listener(signal);
    const listeners = this.#listeners.get(actor) ?? new Set();
    this.#listeners.set(actor, listeners.add(own));
    return () => {
      listeners.delete(own);
      if (listeners.size === 0 && this.#listeners.get(actor) === listeners) this.#listeners.delete(actor);
    };
  }

  /** How many actors someone listens to. */
  watched(): number {
    return this.#listeners.size;
  }

  publish(actor: string, signal: Signal): void {
    for (const listener of [...(this.#listeners.get(actor) ?? [])]) harmless(() => listener(signal));
  }

  /** Tells of a commit: its entries, and the actors that it changed without any. */
  committed(entries: readonly JournalRow[], others: readonly string[]): void {
    if (this.#listeners.size === 0) return;
    const touched = new Map<string, JournalRow[]>(others.map((actor) => [actor, []]));
    for (const entry of entries) {
      const own = touched.get(entry.actor);
      if (own) own.push(entry);
      else touched.set(entry.actor, [entry]);
    }
    for (const [actor, own] of touched) this.publish(actor, { kind: "committed", seq: own.at(-1)?.seq ?? 0, entries: own });
  }

  /** Ends all waiting. `error` is what those who wait are told, where it is not the engine's own close. */
  close(error?: HoldfastError): void {
    this.#closed ??= { kind: "closed", ...(error ? { error } : {}) };
    for (const actor of [...this.#listeners.keys()]) this.publish(actor, this.#closed);
    this.#listeners.clear();
  }
}

/** Calls a listener. Its fault is its own: neither a handler that reports progress nor a commit may fail for it. */
export function harmless(call: () => void): void {
  try {
    call();
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : messageOf(error));
  }
}

export function toEntry(reader: Pick<StoreReader, "blob">, stored: PlacedJournalRow): Entry {
  const row = inflated(reader, stored);
  const { actor, seq, position, atMs: at, hash } = row;
  return { actor, seq, position, at, event: JSON.parse(row.event), facts: JSON.parse(row.facts), actions: JSON.parse(row.actions), hash };
}

/**
 * What a watcher is given: committed entries in order, and between them what is not stored, after the entry that it came after. No
 * entry is left out; of what is not stored at most 1,000 wait for a slow watcher.
 */
export type Watched = { readonly kind: "entry"; readonly entry: Entry } | Exclude<Signal, { kind: "committed" | "closed" }>;

/** Where an iteration over entries starts and what ends it. */
export interface WatchOptions {
  /** Only entries with a greater seq. Default 0: all. */
  readonly after?: number;
  /** Ends the iteration with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Signals that a slow watcher may be behind; older ones are dropped. */
const SIGNAL_LIMIT = 1000;
const PAGE = 200;

/**
 * Committed entries of one actor, each once, and its partial output. Ends after the last entry of an actor that is final or
 * quarantined, and when the engine closes. Throws `actor_not_found`.
 */
export async function* watch(reader: StoreReader, feed: Feed, actor: string, options: WatchOptions = {}): AsyncGenerator<Watched> {
  const { signal } = options;
  let { after = 0 } = options;
  if (!Number.isSafeInteger(after) || after < 0)
    throw engineError("input_invalid", "after is a whole number, 0 or more", { details: { path: "after" } });
  let latest = 0;
  let closed = false;
  let lostFor: HoldfastError | undefined;
  let wake = () => {};
  const signals: { readonly seq: number; readonly watched: Exclude<Watched, { kind: "entry" }> }[] = [];
  /** Signals that came while the journal reached no further than `seq`. */
  function* signalsUpTo(seq: number): Generator<Watched> {
    for (let first = signals[0]; first && first.seq <= seq; first = signals[0]) {
      signals.shift();
      yield first.watched;
    }
  }
  const unsubscribe = feed.subscribe(actor, (event) => {
    if (event.kind === "closed") {
      closed = true;
      lostFor = event.error;
    } else if (event.kind === "committed") latest = Math.max(latest, event.seq);
    else if (signals.push({ seq: latest, watched: event }) > SIGNAL_LIMIT) signals.shift();
    wake();
  });
  const onAbort = () => wake();
  signal?.addEventListener("abort", onAbort);
  try {
    for (;;) {
      signal?.throwIfAborted();
      if (lostFor) throw lostFor;
      if (closed) return;
      // Before anything is read: what is committed from here on wakes this round's wait.
      const next = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const row = reader.actor(actor);
      // One that was there, and was deleted, has ended.
      if (!row && latest > 0) return;
      if (!row) throw engineError("actor_not_found", `there is no actor ${actor}`, { details: { actor } });
      latest = Math.max(latest, row.seq);
      const page = reader.journal(actor, { after, limit: PAGE });
      for (const entry of page) {
        yield* signalsUpTo(entry.seq - 1);
        after = entry.seq;
        yield { kind: "entry", entry: toEntry(reader, entry) };
      }
      // A row that is ahead of its journal is damage, and holds nothing back.
      yield* signalsUpTo(page.length > 0 ? after : Math.max(after, row.seq));
      if (page.length > 0) continue;
      if (row.status === "final" || row.quarantine) return;
      await next;
    }
  } finally {
    unsubscribe();
    signal?.removeEventListener("abort", onAbort);
  }
}
