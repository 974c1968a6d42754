/** A handle on one durable actor. It holds no state of its own: every read sees the last commit. */

import type { AnyMachineSnapshot, AnyStateMachine, EmittedFrom, EventFrom, SnapshotFrom } from "xstate";
import type { ActorSource } from "./actor-source.ts";
import { parkedAs, pending } from "./admission.ts";
import { engineError, HoldfastError } from "./error.ts";
import { stampOf } from "./event.ts";
import { type Entry, harmless, type Watched, type WatchOptions, watch } from "./feed.ts";
import { checkEvent, ID_LIMIT, idOf } from "./input.ts";
import { inflated } from "./journal.ts";
import { canonical, type Json, notJson, sha256 } from "./json.ts";
import { hasMigration, migrate } from "./migration.ts";
import { remove } from "./retention.ts";
import type { ActorRow } from "./store.ts";
import { type Fact, hydrate, wouldTake } from "./transition.ts";
import type { Expectation, Work } from "./work.ts";

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

/** Called with an actor's snapshots: after each commit, where it has ended, and where nothing more can be known of it. */
export interface ActorObserver<Machine extends AnyStateMachine> {
  next?(snapshot: SnapshotFrom<Machine>): void;
  complete?(): void;
  error?(error: unknown): void;
}

/** A handle on one durable actor; any number of them may stand for the same one. */
export class ActorRef<Machine extends AnyStateMachine = AnyStateMachine> {
  /** `<machine>/<id>`. */
  readonly address: string;
  readonly #source: ActorSource;

  constructor(address: string, source: ActorSource) {
    this.address = address;
    this.#source = source;
  }

  get id(): string {
    return idOf(this.address);
  }

  /**
   * Sends an event; resolves when its answer is durable. Rejects with `input_invalid` where the key is unfit; with `machine_threw`,
   * `context_invalid`, `context_too_large`, `fact_invalid`, `action_invalid`, `payload_too_large`, `cascade_limit`, `identity_taken`,
   * `machine_unknown` or `input_invalid` where the machine failed on it, the last two for an actor that it would create; and with
   * `storage_failed` or `closed`. Nothing was written then.
   */
  send(event: EventFrom<Machine>, options: SendOptions = {}): Promise<Answer<Machine>> {
    try {
      return this.#source.submit(this.#workOf(event, options)) as Promise<Answer<Machine>>;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #workOf(event: EventFrom<Machine>, { key, expect }: SendOptions): Work {
    if (key !== undefined && (typeof key !== "string" || key.length === 0 || key.length > ID_LIMIT || !key.isWellFormed()))
      throw engineError("input_invalid", `a key has 1 to ${ID_LIMIT} characters, all well formed`, { details: { path: "key" } });
    // Here and now, for what was given may be changed before its commit.
    const checked = checkEvent(this.#source.registration, event, "outside");
    const unfit = key === undefined ? undefined : notJson(event);
    return {
      kind: "event",
      to: this.address,
      event,
      checked,
      ...(key === undefined ? {} : { key, ...(unfit === undefined ? { digest: sha256(canonical(event)) } : { unfit }) }),
      ...(expect === undefined ? {} : { expect }),
    };
  }

  /**
   * The last committed snapshot; of an unfinished actor of an older version, what its migration would make of it: a read writes
   * nothing. Throws `actor_not_found`, `machine_version_unknown`, `migration_failed`, `snapshot_damaged`.
   */
  getSnapshot(): SnapshotFrom<Machine> {
    return this.#snapshotOf(this.row());
  }

  /**
   * True where the machine would take this event now: its state declares it, a guard lets it, and the event is fit. Throws
   * `machine_threw` where a guard does, and what `getSnapshot` throws.
   */
  can(event: EventFrom<Machine>): boolean {
    const { registration, enclose, now } = this.#source;
    const row = this.row();
    const checked = checkEvent(registration, event, "outside");
    if (!checked.ok || row.status === "final" || row.quarantine || parkedAs(registration, row)) return false;
    const stamp = stampOf(this.address, row.seq + 1, now());
    return wouldTake(registration, this.#snapshotOf(row) as AnyMachineSnapshot, checked.event, stamp, enclose);
  }

  /** True where the last committed snapshot is in this state. */
  matches(value: Parameters<SnapshotFrom<Machine>["matches"]>[0]): boolean {
    return (this.getSnapshot() as AnyMachineSnapshot).matches(value as never);
  }

  /** True where the last committed snapshot has this tag. */
  hasTag(tag: Parameters<SnapshotFrom<Machine>["hasTag"]>[0]): boolean {
    return (this.getSnapshot() as AnyMachineSnapshot).hasTag(tag as never);
  }

  /** Throws where nobody will hear of this actor until a person has done something. A failed migration is told by its snapshot. */
  #demandRunning(row: ActorRow): void {
    if (row.quarantine) throw quarantined(row);
    const code = row.status === "final" ? undefined : parkedAs(this.#source.registration, row);
    if (code === "machine_changed")
      throw engineError(code, `${row.machine} was changed and still says that it is version ${row.version}`, {
        details: { actor: this.address },
      });
  }

  #snapshotOf(row: ActorRow): SnapshotFrom<Machine> {
    const { registration, reader, enclose, now } = this.#source;
    try {
      // A final actor never migrates: it is read as its version left it, where the machine still has that state.
      if (row.version === registration.version || row.status === "final")
        return hydrate(registration, row.snapshot) as SnapshotFrom<Machine>;
      if (hasMigration(registration, row.version)) {
        const moment = { atMs: now(), epoch: row.epoch, enclose };
        return migrate(registration, { row, ...pending(row.address, reader) }, moment).snapshot as SnapshotFrom<Machine>;
      }
    } catch (cause) {
      if (cause instanceof HoldfastError) throw cause;
      throw engineError("snapshot_damaged", `the snapshot of ${this.address} cannot be read`, { cause, details: { actor: this.address } });
    }
    throw engineError("machine_version_unknown", `${this.address} was written by version ${row.version}`, {
      details: { actor: this.address },
    });
  }

  /**
   * Ends the actor from outside its machine's rules: its effects and timers end with it. Rejects with `actor_not_found`,
   * `actor_final`, `actor_quarantined` and with what `send` rejects with.
   */
  async stop(): Promise<void> {
    const answer = await this.#source.submit({ kind: "stop", actor: this.address });
    if (answer.kind === "refused") throw new HoldfastError(answer.code, answer.message, { details: { actor: this.address } });
  }

  /**
   * Removes the final actor with its journal; a tombstone keeps its address from being given out again, and the rest of the root
   * verifiable. Rejects with `actor_not_found`, `actor_not_final`, `actor_quarantined`.
   */
  async delete(): Promise<void> {
    const answer = await this.#source.submit({ kind: "row", apply: (draft) => remove(this.address, draft) });
    if (answer.kind === "refused") throw new HoldfastError(answer.code, answer.message, { details: { actor: this.address } });
  }

  /**
   * Calls the observer with the snapshot of each commit from now on. What it throws is a warning of the process and harms nobody. The
   * actor's end comes as `complete`; a read that fails, a quarantine, and an engine that is closed come as `error`; at once, where it
   * is so already.
   */
  subscribe(observer: ActorObserver<Machine> | ((snapshot: SnapshotFrom<Machine>) => void)): { unsubscribe(): void } {
    const given: ActorObserver<Machine> = typeof observer === "function" ? { next: observer } : observer;
    let unsubscribe = () => {};
    let isOver = false;
    const end = (tell: () => void) => {
      if (isOver) return;
      isOver = true;
      unsubscribe();
      harmless(tell);
    };
    const look = (isNew: boolean) => {
      let row: ActorRow;
      let snapshot: SnapshotFrom<Machine> | undefined;
      try {
        row = this.row();
        this.#demandRunning(row);
        if (isNew) snapshot = this.#snapshotOf(row);
      } catch (failure) {
        return end(() => given.error?.(failure));
      }
      // An observer may end its subscription from within.
      if (snapshot && !isOver) harmless(() => given.next?.(snapshot as SnapshotFrom<Machine>));
      if (row.status === "final") end(() => given.complete?.());
    };
    unsubscribe = this.#source.feed.subscribe(this.address, (signal) => {
      if (signal.kind === "closed") end(() => given.error?.(signal.error ?? engineError("closed", "the engine was closed")));
      else if (signal.kind === "committed") look(true);
    });
    look(false);
    return {
      unsubscribe() {
        isOver = true;
        unsubscribe();
      },
    };
  }

  /**
   * Calls `listener` with each fact of this type (`*`: of any) that the actor states from now on, after its commit. Use `watch` where
   * none may be missed. Returns what ends it.
   */
  on<Type extends EmittedFrom<Machine>["type"] | "*">(
    type: Type,
    listener: (fact: Type extends "*" ? EmittedFrom<Machine> : Extract<EmittedFrom<Machine>, { type: Type }>) => void,
  ): { unsubscribe(): void } {
    const { feed, reader } = this.#source;
    const unsubscribe = feed.subscribe(this.address, (signal) => {
      if (signal.kind !== "committed") return;
      for (const row of signal.entries)
        for (const fact of JSON.parse(inflated(reader, row).facts) as Fact[])
          if (type === "*" || fact.type === type) harmless(() => listener(fact as never));
    });
    return { unsubscribe };
  }

  /** The stored row: revision, state, quarantine. Throws `actor_not_found`. */
  row(): ActorRow {
    const row = this.#source.reader.actor(this.address);
    if (!row) throw engineError("actor_not_found", `there is no actor ${this.address}`, { details: { actor: this.address } });
    return row;
  }

  /** Committed entries with seq > `after`, then each new one as it is committed; ends with the actor's last. */
  async *watch(options: WatchOptions = {}): AsyncGenerator<Entry> {
    for await (const watched of watch(this.#source.reader, this.#source.feed, this.address, options))
      if (watched.kind === "entry") yield watched.entry;
  }

  /** Like `watch`, with partial output and lost outcomes between the entries: where over 1,000 of these wait, the oldest are dropped. */
  watchAll(options: WatchOptions = {}): AsyncGenerator<Watched> {
    return watch(this.#source.reader, this.#source.feed, this.address, options);
  }

  /** Calls `listener` with partial output of this actor's handlers. Returns the function that ends it. */
  onProgress(listener: (output: Json) => void): () => void {
    return this.#source.feed.subscribe(this.address, (signal) => {
      if (signal.kind === "progress") listener(signal.output);
    });
  }

  /** Calls `listener` where what a handler of this actor came to could not be committed. Returns the function that ends it. */
  onLost(listener: (effect: string, error: unknown) => void): () => void {
    return this.#source.feed.subscribe(this.address, (signal) => {
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
      let isSettled = false;
      const settle = (act: () => void) => {
        isSettled = true;
        unsubscribe();
        signal?.removeEventListener("abort", onAbort);
        act();
      };
      const onAbort = () => settle(() => reject(signal?.reason));
      const look = () => {
        try {
          const row = this.row();
          this.#demandRunning(row);
          const snapshot = this.getSnapshot();
          if (fits(snapshot)) settle(() => resolve(snapshot));
          else if (row.status === "final")
            throw engineError("actor_final", `${this.address} ended in ${row.state}`, { details: { actor: this.address } });
        } catch (error) {
          settle(() => reject(error));
        }
      };
      if (signal?.aborted) return reject(signal.reason);
      signal?.addEventListener("abort", onAbort);
      unsubscribe = this.#source.feed.subscribe(this.address, (event) => {
        if (event.kind === "committed") look();
        if (event.kind === "closed") settle(() => reject(event.error ?? engineError("closed", "the engine was closed")));
      });
      // A feed that is closed says so at once.
      if (!isSettled) look();
    });
  }
}

function quarantined({ address, quarantine }: ActorRow): HoldfastError {
  return engineError("actor_quarantined", `${address}: ${quarantine?.message}`, { details: { actor: address } });
}
