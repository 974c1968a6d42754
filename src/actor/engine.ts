/**
 * The engine: durable actors over a store. Composition only; the flow is mailbox, macrostep, transition, commit, outbox.
 */

import type { AnyStateMachine } from "xstate";
import { ActorRef } from "./actor-ref.ts";
import type { Answer } from "./answer.ts";
import { putBlob } from "./blob.ts";
import type { Committed, Journaled } from "./commit.ts";
import { type CreateOptions, completeOptions, type EngineOptions, sizeRules } from "./engine-option.ts";
import { engineError, HoldfastError } from "./error.ts";
import { Feed } from "./feed.ts";
import { actorAddress, checkKeys, checkPage, machineOf } from "./input.ts";
import { plainCopy } from "./json.ts";
import { Mailbox } from "./mailbox.ts";
import { Outbox } from "./outbox.ts";
import { deliverParked, type RecoveryDuties, refuseNewer, settlePast, settleStarted, startOpen, warnOfParked } from "./recovery.ts";
import type { Registration } from "./registration.ts";
import { registerAll } from "./registry.ts";
import { type Resolution, retryEffect } from "./resolution.ts";
import { type GroupOf, type Retained, type RetentionPolicy, retain } from "./retention.ts";
import type { ActorFilter, ActorRow, EffectRow, Listed, Page, PlacedDeadLetterRow, Store, StoreReader, TimerRow } from "./store.ts";
import { Timers } from "./timer.ts";
import { type Verified, verify } from "./verify.ts";
import type { Work } from "./work.ts";

export type { CreateOptions, EngineOptions } from "./engine-option.ts";
export { registerAll } from "./registry.ts";

/**
 * Opens the engine on a store whose owner this process is: begins an epoch and recovers before it returns. Recovery starts handlers;
 * `made` gets the engine before, for handlers that need it. Where recovery throws, the engine is closed. See `start` for an opening
 * that only acts. Throws `input_invalid`, `machine_invalid`, `machine_version_newer`, before anything is written.
 */
export async function openEngine(store: Store, given: EngineOptions, made: (engine: Engine) => void = () => {}): Promise<Engine> {
  const options = completeOptions(given);
  const registrations = registerAll(options.machines, options.start ? options.effects : undefined);
  refuseNewer(store, registrations);
  const engine = new Engine(store, store.beginEpoch(options.clock.now()), registrations, options);
  try {
    made(engine);
    await engine.open(options.start);
    return engine;
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Durable actors over one store, under one epoch. Made by `openActors`; `close` it, or let `await using` do so. */
export class Engine {
  /** What is stored, to read. A page out of its bounds is a plain RangeError here. */
  readonly reader: StoreReader;
  readonly epoch: number;
  readonly feed = new Feed();
  readonly #store: Store;
  readonly #registrations: ReadonlyMap<string, Registration>;
  readonly #mailbox: Mailbox;
  readonly #outbox: Outbox;
  readonly #timers: Timers;
  readonly #options: Required<EngineOptions>;
  readonly #now: () => number;
  #closing: Promise<void> | undefined;

  constructor(store: Store, epoch: number, registrations: ReadonlyMap<string, Registration>, options: Required<EngineOptions>) {
    const { clock, probe, changed, enclose, cacheLimit, cascadeLimit } = options;
    this.reader = store;
    this.epoch = epoch;
    this.#store = store;
    this.#registrations = registrations;
    this.#options = options;
    this.#now = () => clock.now();
    const journaled: Journaled = {
      store,
      epoch,
      cache: new Map(),
      cacheLimit,
      rules: { registrations, cascadeLimit, enclose, now: this.#now, size: sizeRules(options) },
      changed,
      probe,
    };
    const limits = { group: options.groupLimit, perActor: options.mailboxLimit };
    this.#mailbox = new Mailbox(journaled, limits, {
      committed: (committed) => this.#committed(committed),
      fenced: () => this.#fenced(),
    });
    const submit = (work: Work) => this.#mailbox.submit(work);
    this.#timers = new Timers({ reader: store, clock, submit });
    this.#outbox = new Outbox({
      clock,
      probe,
      registration: (actor) => registrations.get(machineOf(actor)),
      submit,
      progress: (actor, output) => this.feed.publish(actor, { kind: "progress", output }),
      lost: (row, error) => this.feed.publish(row.actor, { kind: "lost", effect: row.name, error }),
    });
  }

  /**
   * Recovery of this epoch, in its order: past events, lost outcomes, then handlers. Where nothing shall start, only what parked actors
   * were told is delivered, for nothing that is done by hand may overtake it. Called once, by `openEngine`.
   */
  async open(start: boolean): Promise<void> {
    if (!start) return await deliverParked(this.#recovery);
    await settlePast(this.#recovery);
    this.#outbox.open();
    startOpen(this.#recovery);
    this.#timers.open();
    warnOfParked(this.#recovery);
  }

  get #recovery(): RecoveryDuties {
    return {
      reader: this.reader,
      epoch: this.epoch,
      registrations: this.#registrations,
      changed: this.#options.changed,
      submit: (work) => this.#mailbox.submit(work),
      isRunning: (key) => this.#outbox.isRunning(key),
      start: (row) => this.#outbox.start(row),
    };
  }

  /** Another process owns the root: nothing that happens here counts any more, so nobody shall wait for it. */
  #fenced(): void {
    void this.#outbox.close(0);
    this.#timers.close();
    this.feed.close(engineError("not_owner", "another process owns the state root; nothing was written since"));
  }

  /** Watchers hear of a commit before the handlers that it starts can say anything. */
  #committed(committed: Committed): void {
    for (const key of committed.closed) this.#outbox.end(key);
    for (const actor of committed.quarantined) this.#outbox.endAll(actor);
    this.feed.committed(committed.entries, [...committed.quarantined, ...committed.released, ...committed.deleted]);
    for (const row of committed.opened) this.#outbox.restart(row);
    for (const key of committed.aborted) this.#outbox.abort(key);
    this.#timers.changed(committed.timers, committed.timersEnded);
  }

  /**
   * Creates a durable actor, or gives the one that was created before with the same input and keys.
   * Throws `input_invalid`, `machine_unknown`, `actor_exists`, `actor_deleted`, `identity_taken`, `closed`, `not_owner`,
   * `storage_failed`; where the machine failed on its creation, `machine_threw`, `context_invalid`, `context_too_large`, `fact_invalid`,
   * `action_invalid`, `cascade_limit`, `payload_too_large`. Nothing was written then.
   */
  async create<Machine extends AnyStateMachine>(machine: Machine, id: string, options: CreateOptions<Machine>): Promise<ActorRef<Machine>> {
    const address = actorAddress(this.#known(machine), id);
    const keys = checkKeys(options.keys ?? []);
    const answer = await this.#mailbox.submit({ kind: "create", machine: machine.id, id, input: plainCopy(options.input), keys });
    if (answer.kind === "refused") throw new HoldfastError(answer.code, answer.message, { details: { actor: address } });
    return this.#ref<Machine>(address);
  }

  /** The actor with this id, or undefined where there is none. Throws `input_invalid`, `machine_unknown`, `closed`, `storage_failed`. */
  get<Machine extends AnyStateMachine>(machine: Machine, id: string): ActorRef<Machine> | undefined {
    const address = actorAddress(this.#known(machine), id);
    return this.reader.actor(address) ? this.#ref<Machine>(address) : undefined;
  }

  /**
   * A page of actors in the order of their creation, 1 to 1,000; the cursor of the next is the last row's `ordinal`. Throws
   * `input_invalid`, `closed`, `storage_failed`, as the lists below do.
   */
  list(filter: ActorFilter = {}, page: Partial<Page> = {}): Listed<ActorRow>[] {
    return this.reader.actors(filter, checkPage(page));
  }

  /** Effects that are requested and not settled, among them exhausted and unknown ones. Throws as `list` does. */
  effects(filter: { actor?: string; state?: EffectRow["state"] } = {}, page: Partial<Page> = {}): Listed<EffectRow>[] {
    return this.reader.effects(filter, checkPage(page));
  }

  /** Events that reached nobody; their cursor is `position`. Throws as `list` does. */
  deadLetters(filter: { receiver?: string; reason?: string } = {}, page: Partial<Page> = {}): PlacedDeadLetterRow[] {
    return this.reader.deadLetters(filter, checkPage(page));
  }

  /** Timers that are set. Throws as `list` does. */
  timers(filter: { actor?: string } = {}, page: Partial<Page> = {}): Listed<TimerRow>[] {
    return this.reader.timers(filter, checkPage(page));
  }

  /**
   * Runs an exhausted or unknown effect again. Rejects with `effect_gone`, with `effect_at_work` where it is neither, and with what
   * makes its actor unavailable.
   */
  async retry(key: string): Promise<void> {
    refuse(await this.#mailbox.submit({ kind: "row", apply: (draft) => retryEffect(key, draft) }), key);
  }

  /**
   * Settles an exhausted or unknown effect by hand: its machine takes the outcome as if its handler had given it. Rejects as `retry`
   * does; with `effect_result_invalid` where the output does not fit its event, and where the machine has no event for the outcome; with what
   * the machine throws on it, and nothing is written then.
   */
  async resolve(key: string, outcome: Resolution): Promise<void> {
    const actor = this.reader.effect(key)?.actor ?? "";
    refuse(await this.#mailbox.submit({ kind: "resolve", effect: key, actor, outcome }), key);
  }

  /** Sets an actor aside for damage that was found in it (ACT-10). Its rows stay as they are. */
  async setAside(actor: string, code: string, message: string): Promise<void> {
    refuse(await this.#mailbox.submit({ kind: "setAside", actor, code, message }), actor);
  }

  /**
   * Takes an actor out of quarantine after a check: chain and fold must hold, the snapshot is made from the journal anew, and the dead
   * letters that waited for it are delivered first. Rejects with `actor_not_quarantined`, with the fault that is still there, and with
   * what a letter makes its machine throw; nothing is written then. With `discard`, what it cannot take is left out and listed.
   */
  async release(actor: string, options: { readonly discard?: boolean } = {}): Promise<void> {
    refuse(await this.#mailbox.submit({ kind: "release", actor, discard: options.discard === true }), actor);
    // Nobody worked on them while it was set aside.
    await settleStarted(this.#recovery, actor);
  }

  /**
   * Forgets what the policy lets go, in small commits; reports how much went. With `groupOf`, what belongs together goes as a whole.
   * Throws `input_invalid`.
   */
  retain(policy: RetentionPolicy, groupOf?: GroupOf): Promise<Retained> {
    return retain({ reader: this.reader, now: this.#now, submit: (work) => this.#mailbox.submit(work) }, policy, groupOf);
  }

  /** Starts open effects that have no running handler, and settles started ones whose outcome was lost. Interrupts nobody. */
  async recover(): Promise<void> {
    await settleStarted(this.#recovery);
    startOpen(this.#recovery);
  }

  /** Checks every row of the root against its journal. */
  verify(): Verified {
    return verify(this.reader, this.#registrations, this.#options.enclose);
  }

  /** Stores up to 256 MiB by content; resolves with their SHA-256 in hex when they are durable. Rejects with `input_invalid`. */
  putBlob(bytes: Uint8Array): Promise<string> {
    return putBlob((work) => this.#mailbox.submit(work), bytes);
  }

  getBlob(digest: string): Uint8Array | undefined {
    return this.reader.blob(digest);
  }

  /**
   * Interrupts handlers and waits for them, at most `closeGraceMs`; commits what was asked for, ends all watchers, and gives the root
   * up. A handler that takes no notice of its signal for longer works on beside the next owner.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#timers.close();
    // Handlers first: what they would answer to the interruption is not taken any more.
    const ended = this.#outbox.close(this.#options.closeGraceMs);
    await this.#mailbox.close();
    await ended;
    this.#rest();
    this.feed.close();
    this.#options.release();
  }

  /** Says until when the root had an owner, for timers that count only such time. */
  #rest(): void {
    try {
      this.#store.write(this.epoch, (writer) => writer.rest(this.#now()));
    } catch {
      // Fenced, or out of order: closing goes on, and the last entry says it less well.
    }
  }

  #known(machine: AnyStateMachine): string {
    if (this.#registrations.get(machine.id)?.source !== machine)
      throw engineError("machine_unknown", `the machine ${machine.id} is not registered here`);
    return machine.id;
  }

  #ref<Machine extends AnyStateMachine>(address: string): ActorRef<Machine> {
    const registration = this.#registrations.get(machineOf(address)) as Registration;
    return new ActorRef<Machine>(address, {
      registration,
      reader: this.reader,
      feed: this.feed,
      enclose: this.#options.enclose,
      now: this.#now,
      submit: (work) => this.#mailbox.submit(work),
    });
  }
}

function refuse(answer: Answer, subject: string): void {
  if (answer.kind === "refused") throw new HoldfastError(answer.code, answer.message, { details: { subject } });
}
