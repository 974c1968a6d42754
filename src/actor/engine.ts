/**
 * The engine: durable actors over a store. Composition only; the flow is mailbox, macrostep, transition, commit, outbox.
 */

import type { AnyStateMachine, InputFrom } from "xstate";
import { ActorRef } from "./actor-ref.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { Committed, Journaled, Probe } from "./commit.ts";
import { engineError, HoldfastError } from "./error.ts";
import { Feed } from "./feed.ts";
import type { EffectHandler } from "./handler.ts";
import { putBlob } from "./handling.ts";
import { actorAddress, checkKeys } from "./input.ts";
import { Mailbox } from "./mailbox.ts";
import { Outbox } from "./outbox.ts";
import { type RecoveryDuties, refuseNewer, settlePast, settleStarted, startOpen } from "./recovery.ts";
import { machineInvalid, type Registration, register } from "./registration.ts";
import type { ActorFilter, ActorRow, EffectRow, Page, PlacedDeadLetterRow, Store } from "./store.ts";
import type { Enclosure } from "./transition.ts";
import { type Verified, verify } from "./verify.ts";

/** What an engine runs, and its bounds. */
export interface EngineOptions {
  /** Machines made by `setup({ schemas, … }).createMachine(…)`; each is checked, `machine_invalid` says what and where. */
  readonly machines: readonly AnyStateMachine[];
  /** A handler for each effect that the machines declare. */
  readonly effects?: Readonly<Record<string, EffectHandler>>;
  readonly clock?: Clock;
  /** Transitions in one macrostep. Default 1,000. */
  readonly cascadeLimit?: number;
  /** Pieces of work in one transaction. Default 1,000. */
  readonly groupLimit?: number;
  /** Events that may wait for one actor. Default 10,000. */
  readonly mailboxLimit?: number;
  /** How long `close()` waits for handlers to take notice of their signal, in ms. Default 2,000. */
  readonly closeGraceMs?: number;
  /** Snapshots that stay in memory. Default 10,000. */
  readonly cacheLimit?: number;
  /** Called once by `close()`, after the last commit: closes the store and gives the root up. */
  readonly release?: () => void;
  /** For tests: called at each fault point. */
  readonly probe?: Probe;
  /** For tests: encloses each transition, as the purity trap does. */
  readonly enclose?: Enclosure;
}

/** How an actor is created. */
export interface CreateOptions<Machine extends AnyStateMachine> {
  readonly input: InputFrom<Machine>;
  /** Identities that the new actor shall own besides its address; `identity_taken` where one is owned already. */
  readonly keys?: readonly string[];
}

/** Registers machines and refuses those that share an id or lack a handler. */
export function registerAll(
  machines: readonly AnyStateMachine[],
  handlers?: Readonly<Record<string, EffectHandler>>,
): Map<string, Registration> {
  const registrations = new Map<string, Registration>();
  for (const machine of machines) {
    const registration = register(machine);
    if (registrations.has(registration.id)) throw machineInvalid(registration.id, "id", "is the id of another machine too");
    registrations.set(registration.id, registration);
    if (!handlers) continue;
    for (const name of Object.keys(registration.schemas.effects ?? {}))
      if (!Object.hasOwn(handlers, name) || typeof handlers[name] !== "function")
        throw machineInvalid(registration.id, `effects.${name}`, "is an effect without a handler");
  }
  return registrations;
}

/**
 * Opens the engine on a store whose owner this process is: begins an epoch and recovers before it returns. Recovery starts handlers;
 * `made` gets the engine before, for handlers that need it. Where recovery throws, the engine is closed.
 */
export async function openEngine(store: Store, options: EngineOptions, made: (engine: Engine) => void = () => {}): Promise<Engine> {
  const registrations = registerAll(options.machines, options.effects ?? {});
  refuseNewer(store, registrations);
  const engine = new Engine(store, store.beginEpoch(), registrations, options);
  try {
    made(engine);
    await engine.open();
    return engine;
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Durable actors over one store, under one epoch. Made by `openActors`; `close` it, or let `await using` do so. */
export class Engine {
  readonly store: Store;
  readonly epoch: number;
  readonly feed = new Feed();
  readonly #registrations: ReadonlyMap<string, Registration>;
  readonly #mailbox: Mailbox;
  readonly #outbox: Outbox;
  readonly #enclose: Enclosure;
  readonly #release: () => void;
  readonly #closeGraceMs: number;
  #closing: Promise<void> | undefined;

  constructor(store: Store, epoch: number, registrations: ReadonlyMap<string, Registration>, options: EngineOptions) {
    const clock = options.clock ?? systemClock;
    const probe = options.probe ?? (() => {});
    this.store = store;
    this.epoch = epoch;
    this.#registrations = registrations;
    this.#enclose = options.enclose ?? ((transition) => transition());
    this.#release = options.release ?? (() => {});
    this.#closeGraceMs = options.closeGraceMs ?? 2000;
    const journaled: Journaled = {
      store,
      epoch,
      cache: new Map(),
      cacheLimit: options.cacheLimit ?? 10_000,
      rules: { registrations, cascadeLimit: options.cascadeLimit ?? 1000, enclose: this.#enclose, now: () => clock.now() },
      probe,
    };
    const limits = { group: options.groupLimit ?? 1000, perActor: options.mailboxLimit ?? 10_000 };
    this.#mailbox = new Mailbox(journaled, limits, {
      committed: (committed) => this.#committed(committed),
      fenced: () => this.#fenced(),
    });
    this.#outbox = new Outbox({
      handlers: options.effects ?? {},
      clock,
      probe,
      registration: (actor) => registrations.get(actor.slice(0, actor.indexOf("/"))),
      submit: (work) => this.#mailbox.submit(work),
      progress: (actor, output) => this.feed.publish(actor, { kind: "progress", output }),
      lost: (row, error) => this.feed.publish(row.actor, { kind: "lost", effect: row.name, error }),
    });
  }

  /** Recovery of this epoch, in its order: past events, lost outcomes, then handlers. Called once, by `openEngine`. */
  async open(): Promise<void> {
    await settlePast(this.#recovery);
    this.#outbox.open();
    await startOpen(this.#recovery);
  }

  get #recovery(): RecoveryDuties {
    return {
      reader: this.store,
      epoch: this.epoch,
      registrations: this.#registrations,
      submit: (work) => this.#mailbox.submit(work),
      isRunning: (key) => this.#outbox.isRunning(key),
      start: (row) => this.#outbox.start(row),
    };
  }

  /** Watchers hear of a commit before the handlers that it starts can say anything. */
  /** Another process owns the root: nothing that happens here counts any more, so nobody shall wait for it. */
  #fenced(): void {
    void this.#outbox.close(0);
    this.feed.close(engineError("not_owner", "another process owns the state root; nothing was written since"));
  }

  #committed(committed: Committed): void {
    for (const key of committed.closed) this.#outbox.end(key);
    for (const actor of committed.quarantined) this.#outbox.endAll(actor);
    this.feed.committed(committed.entries, committed.quarantined);
    for (const row of committed.opened) this.#outbox.start(row);
    for (const key of committed.aborted) this.#outbox.abort(key);
  }

  /**
   * Creates a durable actor, or gives the one that was created before with the same input and keys.
   * Throws `input_invalid`, `machine_unknown`, `actor_exists`, `identity_taken`, `closed`, `not_owner`, `storage_failed`.
   */
  async create<Machine extends AnyStateMachine>(machine: Machine, id: string, options: CreateOptions<Machine>): Promise<ActorRef<Machine>> {
    const address = actorAddress(this.#known(machine), id);
    const keys = checkKeys(options.keys ?? []);
    const answer = await this.#mailbox.submit({ kind: "create", machine: machine.id, id, input: options.input, keys });
    if (answer.kind === "refused") throw new HoldfastError(answer.code, answer.message, { details: { actor: address } });
    return this.#ref<Machine>(address);
  }

  /** The actor with this id, or undefined where there is none. */
  get<Machine extends AnyStateMachine>(machine: Machine, id: string): ActorRef<Machine> | undefined {
    const address = actorAddress(this.#known(machine), id);
    return this.store.actor(address) ? this.#ref<Machine>(address) : undefined;
  }

  /** A page of actors in the order of their creation; the cursor of the next page is the last row's `ordinal`. */
  list(filter: ActorFilter = {}, page: Partial<Page> = {}): (ActorRow & { readonly ordinal: number })[] {
    return this.store.actors(filter, { limit: 100, ...page });
  }

  /** Effects that are requested and not settled, among them exhausted and unknown ones. */
  effects(
    filter: { actor?: string; state?: EffectRow["state"] } = {},
    page: Partial<Page> = {},
  ): (EffectRow & { readonly ordinal: number })[] {
    return this.store.effects(filter, { limit: 100, ...page });
  }

  /** Events that reached nobody. */
  deadLetters(filter: { receiver?: string; reason?: string } = {}, page: Partial<Page> = {}): PlacedDeadLetterRow[] {
    return this.store.deadLetters(filter, { limit: 100, ...page });
  }

  /** Starts open effects that have no running handler, and settles started ones whose outcome was lost. Interrupts nobody. */
  async recover(): Promise<void> {
    await settleStarted(this.#recovery);
    await startOpen(this.#recovery);
  }

  /** Checks every row of the root against its journal. */
  verify(): Verified {
    return verify(this.store, this.#registrations, this.#enclose);
  }

  /** Stores bytes by content; resolves with their SHA-256 in hex when they are durable. */
  putBlob(bytes: Uint8Array): Promise<string> {
    return putBlob((work) => this.#mailbox.submit(work), bytes);
  }

  getBlob(digest: string): Uint8Array | undefined {
    return this.store.blob(digest);
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
    // Handlers first: what they would answer to the interruption is not taken any more.
    const ended = this.#outbox.close(this.#closeGraceMs);
    await this.#mailbox.close();
    await ended;
    this.feed.close();
    this.#release();
  }

  #known(machine: AnyStateMachine): string {
    if (this.#registrations.get(machine.id)?.machine !== machine)
      throw engineError("machine_unknown", `the machine ${machine.id} is not registered here`);
    return machine.id;
  }

  #ref<Machine extends AnyStateMachine>(address: string): ActorRef<Machine> {
    const registration = this.#registrations.get(address.slice(0, address.indexOf("/"))) as Registration;
    return new ActorRef<Machine>(address, registration, this.store, this.feed, (work) => this.#mailbox.submit(work));
  }
}
