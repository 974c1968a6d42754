/**
 * Macrostep: one piece of work from outside an actor, taken to rest and answered.
 *
 * Owns what is asked of the engine and what it answers.
 * Guarantees: final and set-aside actors take nothing (ACT-5); a result without its request is dropped (ACT-6); a failure leaves the
 * draft as it was (ACT-7); a receiver that cannot take what it is told is set aside, and its sender goes on without it (ACT-10).
 * Refuses to write or to start anything.
 * Next: transition.ts. Between the two, cascade.ts takes what actors tell each other, in order.
 */

import type { AnyMachineSnapshot } from "xstate";
import { Cascade, creationEvent, isStoreFailure, type Message, PoisonedReceiver, type Rules, type Taken } from "./cascade.ts";
import type { Draft, Known } from "./draft.ts";
import { engineError, messageOf } from "./error.ts";
import { actorAddress, checkEvent, checkKeys, parseInput } from "./input.ts";
import type { Cause } from "./journal.ts";
import { canonical, type Json, notJson, sha256 } from "./json.ts";
import type { Registration } from "./registration.ts";
import type { AnswerRow } from "./store.ts";
import { type EngineEvent, effectOf, isFinal } from "./transition.ts";

/** Another actor's revision that must still hold when the event is taken. */
export interface Expectation {
  readonly actor: string;
  readonly seq: number;
}

/** What an effect came to. */
export type EffectOutcome =
  | { readonly kind: "done"; readonly output: Json }
  | { readonly kind: "failed"; readonly error: { readonly code: string; readonly message: string } }
  | { readonly kind: "aborted" }
  | { readonly kind: "unknown" };

/** What can be asked of the engine. `row` changes rows that no machine is asked about. */
export type Work =
  | { readonly kind: "create"; readonly machine: string; readonly id: string; readonly input: unknown; readonly keys: readonly string[] }
  | {
      readonly kind: "event";
      readonly to: string;
      readonly event: { readonly type: string };
      readonly key?: string;
      readonly expect?: readonly Expectation[];
      /** The effect whose handler sends this; refused with `effect_gone` once the effect has ended. */
      readonly during?: string;
    }
  | { readonly kind: "result"; readonly effect: string; readonly outcome: EffectOutcome }
  | { readonly kind: "reopen"; readonly actor: string }
  | { readonly kind: "row"; readonly apply: (draft: Draft) => Answer };

/** The answer to an event. It is durable when it is given. */
export type Answer =
  | { readonly kind: "accepted"; readonly seq: number; readonly snapshot: AnyMachineSnapshot; readonly repeated?: true }
  | { readonly kind: "ignored"; readonly reason?: string; readonly repeated?: true }
  | Refusal;

interface Refusal {
  readonly kind: "refused";
  readonly code: string;
  readonly message: string;
  /** The field that was wrong, as a dotted path. */
  readonly path?: string;
}

/** Takes one piece of work to rest in the draft. Throws what failed; the draft is then unchanged. */
export function macrostep(draft: Draft, work: Work, rules: Rules): Answer {
  const poisoned: PoisonedReceiver[] = [];
  for (;;) {
    const attempt = draft.fork();
    for (const { message, error } of poisoned)
      attempt.quarantine(message.to, {
        code: "event_poisoned",
        message: messageOf(error),
        atMs: rules.now(),
        event: JSON.stringify(message.event),
      });
    try {
      const answer = answerTo(work, attempt, rules);
      const unreached = attempt.deadLetters.filter((letter) => letter.reason === "actor_quarantined").map((letter) => letter.receiver);
      for (const address of new Set([...poisoned.map(({ message }) => message.to), ...draft.untold, ...unreached]))
        tellSupervisor(address, attempt, rules);
      draft.merge(attempt);
      draft.untold.clear();
      return answer;
    } catch (failure) {
      if (!(failure instanceof PoisonedReceiver)) throw failure;
      // Told by others because of what it was asked itself: then it is this macrostep that fails, and nobody is set aside.
      if (failure.message.to === targetOf(work)) throw failure.error;
      // The receiver's fault must not undo what the sender decided: run the sender again with the receiver set aside.
      poisoned.push(failure);
    }
  }
}

/** The actor that outside work is addressed to; none for what the engine asks itself. */
function targetOf(work: Work): string | undefined {
  if (work.kind === "event") return work.to;
  return work.kind === "create" ? `${work.machine}/${work.id}` : undefined;
}

function answerTo(work: Work, draft: Draft, rules: Rules): Answer {
  switch (work.kind) {
    case "create":
      return create(work, draft, new Cascade(draft, rules));
    case "event":
      return event(work, draft, new Cascade(draft, rules));
    case "result":
      return result(work.effect, work.outcome, draft, new Cascade(draft, rules));
    case "reopen":
      return reopen(work.actor, draft, new Cascade(draft, rules));
    case "row":
      return work.apply(draft);
  }
}

function create(work: Extract<Work, { kind: "create" }>, draft: Draft, cascade: Cascade): Answer {
  const registration = cascade.registration(work.machine);
  const address = actorAddress(registration.id, work.id);
  const creation = { machine: work.machine, id: work.id, input: parseInput(registration, work.input), keys: checkKeys(work.keys) };
  const existing = draft.actor(address);
  if (!existing) return cascade.toRest({ to: address, event: creationEvent(creation), cause: { kind: "creation" }, create: creation });
  const first = draft.creationOf(address);
  if (existing.kind === "live" && first && canonical(JSON.parse(first.event)) === canonical(creationEvent(creation)))
    return { kind: "accepted", seq: 1, snapshot: existing.snapshot, repeated: true };
  return refused("actor_exists", `${address} exists already`);
}

function event(work: Extract<Work, { kind: "event" }>, draft: Draft, cascade: Cascade): Answer {
  const { to, key, during } = work;
  const target = draft.actor(to);
  if (!target) return refused("actor_not_found", `there is no actor ${to}`);
  const found = notJson(work.event);
  if (found) return refused("event_invalid", `the event is not plain JSON at ${found}`, found);
  // A keyed event that was answered keeps its answer, also after its actor has ended.
  const digest = key === undefined ? "" : sha256(canonical(work.event));
  const recorded = key === undefined ? undefined : draft.answer(to, key);
  if (recorded && recorded.event !== digest) return refused("idempotency_conflict", `the key ${key} was used for another event to ${to}`);
  if (recorded) return repeated(recorded, target);
  if (target.kind === "unavailable") return refused(target.code, target.message);
  if (during !== undefined && !draft.effect(during)) return refused("effect_gone", `the effect ${during} has ended`);
  if (isFinal(target.snapshot)) return refused("actor_final", `${to} is final`);
  const checked = checkEvent(target.registration, work.event, "outside");
  if (!checked.ok) return refused(checked.code, checked.message, checked.path);
  if (!areExpectations(work.expect)) return refused("event_invalid", "expect is a list of { actor, seq }", "expect");
  for (const { actor, seq } of work.expect ?? []) {
    const actual = draft.actor(actor)?.seq ?? 0;
    if (actual !== seq) return refused("expectation_failed", `${actor} is at ${actual}, not at ${seq}`);
  }
  const cause: Cause =
    during !== undefined ? { kind: "handler", effect: during } : { kind: "outside", ...(key === undefined ? {} : { key }) };
  const taken = cascade.toRest({ to, event: checked.event, cause });
  if (key !== undefined) {
    const kept = taken.kind === "accepted" ? { kind: "accepted", seq: taken.seq } : taken;
    draft.recordAnswer({ actor: to, key, event: digest, answer: JSON.stringify(kept) });
  }
  return taken;
}

function areExpectations(expect: unknown): boolean {
  if (expect === undefined) return true;
  return Array.isArray(expect) && expect.every((one) => typeof one?.actor === "string" && Number.isSafeInteger(one.seq));
}

function result(key: string, outcome: EffectOutcome, draft: Draft, cascade: Cascade): Answer {
  const row = draft.effect(key);
  const target = row && draft.actor(row.actor);
  if (!row || !target) return refused("effect_gone", `the effect ${key} has ended`);
  if (target.kind === "unavailable") return refused(target.code, target.message);
  const schema = effectOf(target.registration, row.name);
  const error = outcome.kind === "failed" ? outcome.error : null;
  const type = { done: schema?.done, failed: schema?.failed, aborted: schema?.aborted, unknown: "effect.unknown" }[outcome.kind];
  const payload = outcome.kind === "done" ? { output: outcome.output } : error ? { error } : {};
  const event: EngineEvent = { type: type ?? "", ...payload, effect: key, ...(outcome.kind === "unknown" ? { name: row.name } : {}) };
  const unfit = outcome.kind === "failed" && !checkEvent(target.registration, event, "engine").ok;
  if (!type || !target.registration.schemas.events[type] || unfit) {
    // The machine has no event for this: the effect is listed, for a person to decide.
    const state = outcome.kind === "failed" ? "exhausted" : "unknown";
    const listed = { ...row, state, error: error && JSON.stringify(error) } as const;
    draft.effects.set(key, listed);
    draft.actors.set(target.address, { ...target, effects: target.effects.map((own) => (own.key === key ? listed : own)) });
    return { kind: "ignored" };
  }
  return engineEvent({ to: row.actor, event, cause: { kind: "result", effect: key } }, target.registration, cascade);
}

function reopen(address: string, draft: Draft, cascade: Cascade): Answer {
  const target: Known | undefined = draft.actor(address);
  if (target?.kind !== "live" || isFinal(target.snapshot)) return { kind: "ignored" };
  draft.reopened.add(address);
  draft.actors.set(address, { ...target, epoch: draft.ground.epoch });
  if (!target.registration.schemas.events["engine.reopened"]) return { kind: "ignored" };
  const event = { type: "engine.reopened", epoch: draft.ground.epoch };
  return engineEvent({ to: address, event, cause: { kind: "engine" } }, target.registration, cascade);
}

/** What was answered before; an accepted event comes with the snapshot of now. */
function repeated(recorded: AnswerRow, target: Known): Answer {
  const answer = { ...JSON.parse(recorded.answer), repeated: true } as Answer;
  return answer.kind === "accepted" && target.kind === "live" ? { ...answer, snapshot: target.snapshot } : answer;
}

/** Lets the actor that depends on one which is set aside know of it, in the same commit. */
function tellSupervisor(address: string, draft: Draft, rules: Rules): void {
  const to = supervisorOf(address, draft, rules);
  const supervisor = to === undefined ? undefined : draft.actor(to);
  if (supervisor?.kind !== "live" || isFinal(supervisor.snapshot) || !supervisor.registration.schemas.events["engine.quarantined"]) return;
  const event = { type: "engine.quarantined", actor: address, code: draft.quarantineCode(address) };
  engineEvent({ to: supervisor.address, event, cause: { kind: "engine" } }, supervisor.registration, new Cascade(draft, rules));
}

/** Nobody, where the machine's own code for it fails: an actor that is set aside stops nobody else (ACT-10). */
function supervisorOf(address: string, draft: Draft, rules: Rules): string | undefined {
  const supervisor = rules.registrations.get(address.slice(0, address.indexOf("/")))?.schemas.supervisor;
  const creation = supervisor && draft.creationOf(address);
  if (!creation) return undefined;
  try {
    const to: unknown = rules.enclose(() => supervisor(JSON.parse(creation.event).input));
    return typeof to === "string" ? to : undefined;
  } catch {
    return undefined;
  }
}

/** An event made by the engine: where its actor cannot take it, the actor is set aside, for asking again would loop (ACT-10). */
function engineEvent(message: Message, registration: Registration, cascade: Cascade): Taken {
  const checked = checkEvent(registration, message.event, "engine");
  if (!checked.ok) throw new PoisonedReceiver(message, engineError("event_invalid", checked.message));
  try {
    return cascade.toRest({ ...message, event: checked.event });
  } catch (failure) {
    throw failure instanceof PoisonedReceiver || isStoreFailure(failure) ? failure : new PoisonedReceiver(message, failure);
  }
}

function refused(code: string, message: string, path?: string): Refusal {
  return { kind: "refused", code, message, ...(path === undefined ? {} : { path }) };
}
