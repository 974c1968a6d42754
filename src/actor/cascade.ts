/**
 * Cascade: one event taken by its actor, and everything that actors tell and create because of it, to rest.
 *
 * Owns the order: deliveries and creations are taken in the order in which they were asked for, in one draft.
 * Guarantees: each accepted event becomes exactly one entry, seqs without a gap (ACT-3); a delivery reaches its receiver or becomes
 * a dead letter; the number of transitions is bounded.
 * Refuses to answer anyone: `macrostep.ts` does.
 * Next: transition.ts
 */

import type { AnyMachineSnapshot } from "xstate";
import type { Draft, Live } from "./draft.ts";
import { engineError, HoldfastError, messageOf } from "./error.ts";
import { stampOf } from "./event.ts";
import { actorAddress, checkEvent, checkKeys, machineOf, parseInput } from "./input.ts";
import { type Cause, NO_HASH } from "./journal.ts";
import type { Json } from "./json.ts";
import type { Registration } from "./registration.ts";
import { settleEffects, settleTimers } from "./request.ts";
import type { Rules } from "./rules.ts";
import { dehydrate, type EngineEvent, isFinal, type Outcome, type Request, refusalOf, start, take } from "./transition.ts";
import { CREATION } from "./xstate-event.ts";

type Pending = Pick<Live, "effects" | "timers">;
type Creation = Omit<Extract<Request, { type: "create" }>, "type">;

/** An event on its way to an actor. */
export interface Message {
  readonly to: string;
  readonly event: EngineEvent;
  /** The event's JSON, where it is at hand. */
  readonly text?: string;
  readonly cause: Cause;
  readonly create?: Creation;
  /** The message that made an actor ask for this one; none for the first. */
  readonly by?: Message;
}

/** What an actor made of an event. */
export type Taken =
  | { readonly kind: "accepted"; readonly seq: number; readonly snapshot: AnyMachineSnapshot }
  | { readonly kind: "ignored"; readonly reason?: string };

/** Thrown where an actor could not take an event that the engine made: a delivery, a result, a notice (ACT-10). */
export class PoisonedReceiver {
  readonly message: Message;
  readonly error: HoldfastError;

  constructor(message: Message, failure: unknown) {
    this.message = message;
    this.error = failure instanceof HoldfastError ? failure : engineError("machine_threw", messageOf(failure), { cause: failure });
  }
}

/** Failures of the store rather than of an actor: nobody is set aside for them. */
const STORE_CODES = new Set(["storage_failed", "closed", "journal_damaged", "root_invalid"]);

/** True where the store failed and not the machine that was asked. */
export function isStoreFailure(failure: unknown): boolean {
  return failure instanceof HoldfastError && STORE_CODES.has(failure.code);
}

/** True where a failure is about this actor alone: its record is damaged, and the store can be read. */
export function isFaultOf(actor: string, failure: unknown): boolean {
  return failure instanceof HoldfastError && failure.details.actor === actor;
}

/** An event made by the engine: where its actor cannot take it, the actor is set aside, for asking again would loop (ACT-10). */
export function engineEvent(message: Message, registration: Registration, cascade: Cascade): Taken {
  const { type } = message.event;
  if (type.startsWith("xstate.")) return poisoning(message, () => cascade.toRest(message));
  const checked = checkEvent(registration, message.event, "engine");
  if (!checked.ok) throw new PoisonedReceiver(message, engineError("event_invalid", checked.message));
  return poisoning(message, () => cascade.toRest({ ...message, event: checked.event }));
}

/** What fails in `act` is the fault of the actor that takes `message`. */
export function poisoning<T>(message: Message, act: () => T): T {
  try {
    return act();
  } catch (failure) {
    throw failure instanceof PoisonedReceiver || isStoreFailure(failure) ? failure : new PoisonedReceiver(message, failure);
  }
}

/** The first entry's event. */
export function creationEvent(create: { readonly input: Json; readonly keys: readonly string[] }): EngineEvent {
  return { type: CREATION, input: create.input, keys: create.keys };
}

export class Cascade {
  /** One time for all that happens in it. */
  readonly atMs: number;
  readonly #draft: Draft;
  readonly #rules: Rules;
  readonly #queue: Message[] = [];
  readonly #born = new Set<string>();
  #taken = 0;

  constructor(draft: Draft, rules: Rules) {
    this.#draft = draft;
    this.#rules = rules;
    this.atMs = rules.now();
  }

  /** The registered machine with this id. Throws `machine_unknown`. */
  registration(id: string): Registration {
    const registration = this.#rules.registrations.get(id);
    if (!registration) throw engineError("machine_unknown", `no machine ${id} is registered`);
    return registration;
  }

  /** Takes an event, then all that follows from it. The snapshot is the actor's at rest. */
  toRest(first: Message): Taken {
    const taken = this.#take(first);
    for (let message = this.#queue.shift(); message; message = this.#queue.shift()) this.#deliver(message);
    const now = this.#draft.actor(first.to);
    return taken.kind === "accepted" && now?.kind === "live" ? { ...taken, snapshot: now.snapshot } : taken;
  }

  #deliver(message: Message): void {
    if (message.create) {
      this.#attempt(message.by ?? message, () => this.#take(message));
      return;
    }
    const unreachable = this.#unreachable(message.to);
    if (unreachable !== undefined) {
      this.#deadLetter(message, unreachable);
      return;
    }
    this.#attempt(message, () => {
      if (this.#take(message).kind === "ignored") this.#deadLetter(message, "delivery_ignored");
    });
  }

  /** What fails here is the fault of the actor that took `message`, and sets that actor aside. */
  #attempt(message: Message, act: () => void): void {
    try {
      act();
    } catch (failure) {
      if (failure instanceof PoisonedReceiver || isStoreFailure(failure)) throw failure;
      if (failure instanceof HoldfastError && failure.code === "cascade_limit") throw failure;
      // The first is asked for by the work itself, and one that is created by it does not exist where it fails.
      if (message.by === undefined || this.#born.has(message.to)) throw failure;
      throw new PoisonedReceiver(message, failure);
    }
  }

  /** Why nothing can be delivered to this address; undefined where it can. */
  #unreachable(address: string): string | undefined {
    const target = this.#draft.actor(address);
    if (!target) return "actor_not_found";
    if (target.kind === "unavailable") return target.code;
    return isFinal(target.snapshot) ? "actor_final" : undefined;
  }

  #deadLetter(message: Message, reason: string): void {
    if (message.cause.kind !== "delivery") return;
    const { from: sender, seq } = message.cause;
    this.#draft.deadLetters.push({ receiver: message.to, sender, seq, event: JSON.stringify(message.event), reason, atMs: this.atMs });
  }

  /** One transition and its entry. */
  #take(message: Message): Taken {
    const { cascadeLimit, enclose } = this.#rules;
    if (++this.#taken > cascadeLimit)
      throw engineError("cascade_limit", `one event led to more than ${cascadeLimit} transitions`, { details: { actor: message.to } });
    const before = message.create ? undefined : (this.#draft.actor(message.to) as Live);
    const registration = before?.registration ?? this.registration(message.create?.machine ?? "");
    if (message.create) {
      this.#own(message.to, message.create, message.cause);
      this.#born.add(message.to);
    }
    const seq = (before?.seq ?? 0) + 1;
    const stamp = stampOf(message.to, seq, this.atMs);
    const outcome = before
      ? take(registration, before.snapshot, message.event, stamp, enclose)
      : start(registration, message.create?.input ?? {}, stamp, enclose);
    // An outcome or a timer that the machine takes no notice of is still folded in: its row ends with it, and the journal must say so.
    if (before && !outcome.taken && message.cause.kind !== "result" && message.cause.kind !== "timer") {
      const reason = refusalOf(registration, before.snapshot, message.event, enclose);
      return { kind: "ignored", ...(reason === undefined ? {} : { reason }) };
    }
    this.#record(message, registration, before, outcome, seq);
    this.#enqueue(message, seq, outcome.requests);
    return { kind: "accepted", seq, snapshot: outcome.snapshot };
  }

  /** The whole snapshot is written with each step, so a large one makes every step dear. */
  #textOf(address: string, registration: Registration, snapshot: AnyMachineSnapshot): string {
    const { limit, warnAt, warn } = this.#rules.size;
    const text = dehydrate(registration, snapshot);
    const size = text.length;
    if (size > limit)
      throw engineError("context_too_large", `${address} would have a snapshot of ${size} characters; ${limit} are allowed`, {
        details: { actor: address },
      });
    if (size > warnAt) warn(address, size);
    return text;
  }

  #record(message: Message, registration: Registration, before: Live | undefined, outcome: Outcome, seq: number): void {
    const { to: address, event, cause } = message;
    const text = outcome.snapshot === before?.snapshot ? before.text : this.#textOf(address, registration, outcome.snapshot);
    const entry = this.#draft.append(address, before ?? { seq: 0, hash: NO_HASH }, {
      atMs: this.atMs,
      version: registration.version,
      cause,
      event,
      ...(message.text === undefined ? {} : { text: message.text }),
      facts: outcome.facts,
      actions: outcome.requests,
    });
    const { effects, timers } = this.#settle(message, registration, before, outcome, seq);
    this.#draft.actors.set(address, {
      kind: "live",
      address,
      id: before?.id ?? message.create?.id ?? "",
      registration,
      definition: registration.definition,
      snapshot: outcome.snapshot,
      text,
      seq,
      hash: entry.hash,
      position: before?.position,
      epoch: before?.epoch ?? this.#draft.ground.epoch,
      createdMs: before?.createdMs ?? this.atMs,
      updatedMs: this.atMs,
      effects,
      timers,
    });
  }

  /** The actor's effects and timers behind a transition; what opens and ends is noted. */
  #settle({ to: actor, cause }: Message, registration: Registration, before: Live | undefined, outcome: Outcome, seq: number): Pending {
    const { effects = [], timers = [] } = before ?? {};
    if (effects.length + timers.length + outcome.requests.length === 0) return { effects, timers };
    const draft = this.#draft;
    const done = { registration, actor, seq, atMs: this.atMs, outcome };
    const settled = cause.kind === "result" ? cause.effect : undefined;
    const worked = settleEffects({ ...done, epoch: draft.ground.epoch, settled, before: effects });
    for (const key of worked.closed) draft.effects.set(key, null);
    for (const row of worked.opened) draft.effects.set(row.key, row);
    for (const key of worked.aborted) draft.aborts.push(key);
    const fired = cause.kind === "timer" ? cause.timer : undefined;
    const timed = settleTimers({ ...done, settled: fired, before: timers });
    for (const key of timed.closed) draft.timers.set(key, null);
    for (const row of timed.opened) draft.timers.set(row.key, row);
    return { effects: worked.effects, timers: timed.timers };
  }

  /** What does not fit is the sender's fault, and found here, while it takes its event. */
  #enqueue(by: Message, seq: number, requests: readonly Request[]): void {
    const from = by.to;
    for (const request of requests) {
      if (request.type === "deliver")
        this.#queue.push({
          to: request.to,
          event: this.#deliverable(from, request.to, request.event),
          cause: { kind: "delivery", from, seq },
          by,
        });
      if (request.type !== "create") continue;
      const registration = this.registration(request.machine);
      const create = {
        machine: request.machine,
        id: request.id,
        input: parseInput(registration, request.input),
        keys: checkKeys(request.keys),
      };
      const to = actorAddress(registration.id, request.id);
      this.#queue.push({ to, event: creationEvent(create), cause: { kind: "creation", from, seq }, create, by });
    }
  }

  #deliverable(from: string, to: string, event: EngineEvent): EngineEvent {
    const registration = this.#rules.registrations.get(machineOf(to));
    // Who cannot be asked cannot say what fits; the delivery becomes a dead letter.
    if (!registration || this.#draft.actor(to)?.kind === "unavailable") return event;
    const checked = checkEvent(registration, event, "delivery");
    if (checked.ok) return checked.event;
    throw engineError("action_invalid", `${from} delivers to ${to} what does not fit: ${checked.message}`, { details: { actor: from } });
  }

  /** The new actor owns its address and its keys; its address may have been reserved by the actor that creates it. */
  #own(address: string, create: Creation, cause: Cause): void {
    const taken = (problem: string) => engineError("identity_taken", problem, { details: { actor: address } });
    const reserved = this.#draft.identity(address);
    const creator = cause.kind === "creation" ? cause.from : undefined;
    // Asked first: one that this very group deletes is still there.
    if (this.#draft.isDeleted(address)) throw taken(`${address} was deleted; its address is not given out again`);
    if (this.#draft.actor(address) || this.#draft.hasJournal(address)) throw taken(`${address} exists already`);
    if (reserved !== undefined && reserved !== creator) throw taken(`${address} is owned or reserved by ${reserved}`);
    for (const key of create.keys) {
      const owner = this.#draft.identity(key) ?? (this.#draft.actor(key) && key);
      if (owner !== undefined) throw taken(`the key ${key} belongs to ${owner}`);
      this.#draft.identities.set(key, address);
    }
  }
}
