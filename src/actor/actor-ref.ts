/** A handle on one durable actor. It holds no state of its own: every read sees the last commit. */

import type { AnyStateMachine, EventFrom, SnapshotFrom } from "xstate";
import { engineError } from "./error.ts";
import { type Entry, type Feed, type Watched, type WatchOptions, watch } from "./feed.ts";
import { ID_LIMIT } from "./input.ts";
import type { Json } from "./json.ts";
import type { Expectation, Answer as MacrostepAnswer, Work } from "./macrostep.ts";
import type { Registration } from "./registration.ts";
import type { ActorRow, StoreReader } from "./store.ts";
import { hydrate } from "./transition.ts";

/** `accepted`: in the journal as `seq`. `ignored`: the machine takes no notice now; nothing was written. `refused`: not a fit event. */
export type Answer<Machine extends AnyStateMachine = AnyStateMachine> =
  | { readonly kind: "accepted"; readonly seq: number; readonly snapshot: SnapshotFrom<Machine>; readonly repeated?: true }
  | { readonly kind: "ignored"; readonly reason?: string; readonly repeated?: true }
  | { readonly kind: "refused"; readonly code: string; readonly message: string; readonly path?: string };

/** How an event is sent. */
export interface SendOptions {
  /** 1..256 characters. The same key and event give the recorded answer; another event under it is `idempotency_conflict`. */
  readonly key?: string;
  /** Revisions of other actors that must hold when the event is taken; else `expectation_failed`. */
  readonly expect?: readonly Expectation[];
}

/** A handle on one durable actor; any number of them may stand for the same one. */
export class ActorRef<Machine extends AnyStateMachine = AnyStateMachine> {
  /** `<machine>/<id>`. */
  readonly address: string;
  readonly #registration: Registration;
  readonly #reader: StoreReader;
  readonly #feed: Feed;
  readonly #submit: (work: Work) => Promise<MacrostepAnswer>;

  constructor(
    address: string,
    registration: Registration,
    reader: StoreReader,
    feed: Feed,
    submit: (work: Work) => Promise<MacrostepAnswer>,
  ) {
    this.address = address;
    this.#registration = registration;
    this.#reader = reader;
    this.#feed = feed;
    this.#submit = submit;
  }

  get id(): string {
    return this.address.slice(this.address.indexOf("/") + 1);
  }

  /**
   * Sends an event; resolves when its answer is durable. Rejects with `machine_threw`, `context_invalid`, `fact_invalid`,
   * `action_invalid`, `cascade_limit` or `identity_taken` where the machine failed on it, and with `storage_failed` or `closed`;
   * nothing was written then.
   */
  async send(event: EventFrom<Machine>, options: SendOptions = {}): Promise<Answer<Machine>> {
    const { key, expect } = options;
    if (key !== undefined && (typeof key !== "string" || key.length === 0 || key.length > ID_LIMIT || !key.isWellFormed()))
      throw engineError("input_invalid", `a key has 1 to ${ID_LIMIT} characters, all well formed`, { details: { path: "key" } });
    const answer = await this.#submit({
      kind: "event",
      to: this.address,
      event,
      ...(key === undefined ? {} : { key }),
      ...(expect === undefined ? {} : { expect }),
    });
    return answer as Answer<Machine>;
  }

  /** The last committed snapshot. Throws `actor_not_found`, `machine_version_unknown`, `snapshot_damaged`. */
  getSnapshot(): SnapshotFrom<Machine> {
    const row = this.row();
    if (row.version !== this.#registration.version)
      throw engineError("machine_version_unknown", `${this.address} was written by version ${row.version}`, {
        details: { actor: this.address },
      });
    try {
      return hydrate(this.#registration, row.snapshot) as SnapshotFrom<Machine>;
    } catch (cause) {
      throw engineError("snapshot_damaged", `the snapshot of ${this.address} cannot be read`, { cause, details: { actor: this.address } });
    }
  }

  /** The stored row: revision, state, quarantine. Throws `actor_not_found`. */
  row(): ActorRow {
    const row = this.#reader.actor(this.address);
    if (!row) throw engineError("actor_not_found", `there is no actor ${this.address}`, { details: { actor: this.address } });
    return row;
  }

  /** Committed entries with seq > `after`, then each new one as it is committed; ends with the actor's last. */
  async *watch(options: WatchOptions = {}): AsyncGenerator<Entry> {
    for await (const watched of watch(this.#reader, this.#feed, this.address, options)) if (watched.kind === "entry") yield watched.entry;
  }

  /** Like `watch`, with partial output and lost outcomes between the entries. */
  watchAll(options: WatchOptions = {}): AsyncGenerator<Watched> {
    return watch(this.#reader, this.#feed, this.address, options);
  }

  /** Calls `listener` with partial output of this actor's handlers. Returns the function that ends it. */
  onProgress(listener: (output: Json) => void): () => void {
    return this.#feed.subscribe(this.address, (signal) => {
      if (signal.kind === "progress") listener(signal.output);
    });
  }

  /** Calls `listener` where what a handler of this actor came to could not be committed. Returns the function that ends it. */
  onLost(listener: (effect: string, error: unknown) => void): () => void {
    return this.#feed.subscribe(this.address, (signal) => {
      if (signal.kind === "lost") listener(signal.effect, signal.error);
    });
  }

  /**
   * Resolves with the first committed snapshot that fits, now or later. Rejects with the signal's reason, with `actor_final` where
   * the actor ended without it, with `actor_quarantined`, and with `closed`.
   */
  waitFor(fits: (snapshot: SnapshotFrom<Machine>) => boolean, options: { signal?: AbortSignal } = {}): Promise<SnapshotFrom<Machine>> {
    const { signal } = options;
    return new Promise((resolve, reject) => {
      let unsubscribe = () => {};
      const settle = (act: () => void) => {
        unsubscribe();
        signal?.removeEventListener("abort", onAbort);
        act();
      };
      const onAbort = () => settle(() => reject(signal?.reason));
      const look = () => {
        try {
          const row = this.row();
          if (row.quarantine)
            throw engineError("actor_quarantined", `${this.address}: ${row.quarantine.message}`, { details: { actor: this.address } });
          const snapshot = this.getSnapshot();
          if (fits(snapshot)) settle(() => resolve(snapshot));
          else if (row.status === "final")
            throw engineError("actor_final", `${this.address} ended in ${row.state}`, { details: { actor: this.address } });
        } catch (error) {
          settle(() => reject(error));
        }
      };
      if (signal?.aborted) return reject(signal.reason);
      unsubscribe = this.#feed.subscribe(this.address, (event) => {
        if (event.kind === "committed") look();
        if (event.kind === "closed") settle(() => reject(event.error ?? engineError("closed", "the engine was closed")));
      });
      signal?.addEventListener("abort", onAbort, { once: true });
      look();
    });
  }
}
