/**
 * Macrostep: one piece of work from outside an actor, taken to rest and answered.
 *
 * Owns what is asked of the engine and what it answers.
 * Guarantees: final and set-aside actors take nothing (ACT-5); a result without its request is dropped (ACT-6); a failure leaves the
 * draft as it was (ACT-7); a receiver that cannot take what it is told is set aside, and its sender goes on without it (ACT-10).
 * Refuses to write or to start anything.
 * Next: transition.ts. Between the two, cascade.ts takes what actors tell each other, in order.
 */

import { outcomesOf } from "./action.ts";
import { type Answer, refused } from "./answer.ts";
import { Cascade, creationEvent, engineEvent, isFaultOf, type Message, PoisonedReceiver, poisoning } from "./cascade.ts";
import type { Draft, Known } from "./draft.ts";
import { messageOf } from "./error.ts";
import { actorAddress, checkEvent, checkKeys, parseInput } from "./input.ts";
import type { Cause } from "./journal.ts";
import { canonical } from "./json.ts";
import { deliverWaiting } from "./letter.ts";
import type { Registration } from "./registration.ts";
import { leaveOutNotice, release } from "./release.ts";
import { checkResolution } from "./resolution.ts";
import type { Rules } from "./rules.ts";
import type { AnswerRow, EffectRow } from "./store.ts";
import { tellSupervisor } from "./supervisor.ts";
import { type EngineEvent, isFinal, STOP } from "./transition.ts";
import type { EffectOutcome, Work } from "./work.ts";

/**
 * Characters of an event that stay in its actor's row, which each list reads. Nothing is lost by it: a release takes the event from
 * its dead letter, or has it made again by its effect or timer.
 */
const POISON_LIMIT = 4096;

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
        event: JSON.stringify(message.event).slice(0, POISON_LIMIT).toWellFormed(),
        ...sourceOf(message.cause),
      });
    try {
      const answer = answerTo(work, attempt, rules);
      if (poisoned.length > 0 || draft.untold.size > 0 || attempt.deadLetters.length > 0)
        for (const address of unreachedIn(attempt, draft, poisoned)) tellSupervisor("engine.quarantined", address, attempt, rules);
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

/** Actors that this macrostep found set aside, or set aside itself. */
function unreachedIn(attempt: Draft, draft: Draft, poisoned: readonly PoisonedReceiver[]): Set<string> {
  const letters = attempt.deadLetters.filter((letter) => letter.reason === "actor_quarantined").map((letter) => letter.receiver);
  return new Set([...poisoned.map(({ message }) => message.to), ...draft.untold, ...letters]);
}

/** The actor that outside work is addressed to; none for what the engine asks itself. */
function targetOf(work: Work): string | undefined {
  switch (work.kind) {
    case "event":
      return work.to;
    case "create":
      return `${work.machine}/${work.id}`;
    case "resolve":
    case "stop":
    case "release":
      return work.actor;
  }
  return undefined;
}

/** The effect or timer whose event could not be taken, so that a release can leave it out. */
function sourceOf(cause: Cause): { readonly source?: string } {
  if (cause.kind === "result") return { source: cause.effect };
  return cause.kind === "timer" ? { source: cause.timer } : {};
}

function answerTo(work: Work, draft: Draft, rules: Rules): Answer {
  switch (work.kind) {
    case "create":
      return create(work, draft, new Cascade(draft, rules));
    case "event":
      return event(work, draft, new Cascade(draft, rules));
    case "result":
      return result(work.effect, work.outcome, draft, new Cascade(draft, rules));
    case "resolve":
      return result(work.effect, checkResolution(work.effect, work.outcome, draft), draft, new Cascade(draft, rules));
    case "timer":
      return timer(work.timer, draft, rules);
    case "reopen":
      return reopen(work.actor, draft, new Cascade(draft, rules));
    case "stop":
      return stop(work.actor, draft, new Cascade(draft, rules));
    case "admit":
      deliverWaiting(work.actor, draft, rules, false);
      return { kind: "ignored" };
    case "release":
      return back(work, draft, rules);
    case "setAside":
      return setAside(work, draft, rules);
    case "row":
      return work.apply(draft);
  }
}

function create(work: Extract<Work, { kind: "create" }>, draft: Draft, cascade: Cascade): Answer {
  const registration = cascade.registration(work.machine);
  const address = actorAddress(registration.id, work.id);
  const creation = { machine: work.machine, id: work.id, input: parseInput(registration, work.input), keys: checkKeys(work.keys) };
  const existing = draft.actor(address);
  // Asked first: one that this very group deletes is still there.
  if (draft.isDeleted(address)) return refused("actor_deleted", `${address} was deleted; its id is not given out again`);
  if (!existing) return cascade.toRest({ to: address, event: creationEvent(creation), cause: { kind: "creation" }, create: creation });
  if (!isCreatedBy(creation, address, draft)) return refused("actor_exists", `${address} exists already`);
  // Also one that cannot take events now: it was created all the same.
  return { kind: "ignored" };
}

function isCreatedBy(creation: Parameters<typeof creationEvent>[0], address: string, draft: Draft): boolean {
  try {
    const first = draft.creationOf(address);
    return first !== undefined && canonical(JSON.parse(first.event)) === canonical(creationEvent(creation));
  } catch (failure) {
    // Its first entry, or the blob that stands for it, is damaged: that is this actor's fault and not the store's.
    if (failure instanceof SyntaxError || isFaultOf(address, failure)) return false;
    throw failure;
  }
}

function event(work: Extract<Work, { kind: "event" }>, draft: Draft, cascade: Cascade): Answer {
  const { to, key, digest, unfit, during } = work;
  const target = draft.actor(to);
  if (!target) return refused("actor_not_found", `there is no actor ${to}`);
  if (unfit !== undefined) return refused("event_invalid", `the event is not plain JSON at ${unfit}`, unfit);
  // A keyed event that was answered keeps its answer, also after its actor has ended.
  const recorded = key === undefined ? undefined : draft.answer(to, key);
  if (recorded && recorded.event !== digest) return refused("idempotency_conflict", `the key ${key} was used for another event to ${to}`);
  if (recorded) return repeated(recorded, target);
  if (target.kind === "unavailable") return refused(target.code, target.message);
  if (during !== undefined && !draft.effect(during)) return refused("effect_gone", `the effect ${during} has ended`);
  if (isFinal(target.snapshot)) return refused("actor_final", `${to} is final`);
  const checked = work.checked ?? checkEvent(target.registration, work.event, "outside");
  if (!checked.ok) return refused(checked.code, checked.message, checked.path);
  if (!areExpectations(work.expect)) return refused("event_invalid", "expect is a list of { actor, seq }", "expect");
  for (const { actor, seq } of work.expect ?? []) {
    const actual = draft.actor(actor)?.seq ?? 0;
    if (actual !== seq) return refused("expectation_failed", `${actor} is at ${actual}, not at ${seq}`);
  }
  const cause: Cause =
    during !== undefined ? { kind: "handler", effect: during } : { kind: "outside", ...(key === undefined ? {} : { key }) };
  const taken = cascade.toRest({ to, event: checked.event, text: checked.text, cause });
  if (key !== undefined && digest !== undefined) {
    const kept = taken.kind === "accepted" ? { kind: "accepted", seq: taken.seq } : taken;
    draft.recordAnswer({ actor: to, key, event: digest, answer: JSON.stringify(kept), atMs: cascade.atMs });
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
  const { registration } = target;
  const event = outcomeEvent(registration, row, outcome);
  // What invoked logic came to is XState's own event; the code of another's error may be one that the machine's schema does not take.
  const isUnfit = event && outcome.kind === "failed" && row.child === null && !checkEvent(registration, event, "engine").ok;
  if (!event || isUnfit) {
    // The machine has no event for this: the effect is listed, for a person to decide.
    const error = outcome.kind === "failed" ? JSON.stringify(outcome.error) : null;
    draft.replaceEffect(target, { ...row, state: outcome.kind === "failed" ? "exhausted" : "unknown", error });
    return { kind: "ignored" };
  }
  return engineEvent({ to: row.actor, event, cause: { kind: "result", effect: key } }, registration, cascade);
}

/** The event that brings an outcome to the machine; undefined where it declares none. */
function outcomeEvent(registration: Registration, row: EffectRow, outcome: EffectOutcome): EngineEvent | undefined {
  if (outcome.kind === "unknown") {
    const isDeclared = registration.schemas.events["effect.unknown"] !== undefined;
    return isDeclared ? { type: "effect.unknown", effect: row.key, name: row.name } : undefined;
  }
  const child = row.child === null ? {} : { actorId: row.child };
  const { done, failed, aborted } = outcomesOf(registration, row);
  if (outcome.kind === "done") return done === undefined ? undefined : { type: done, output: outcome.output, ...child, effect: row.key };
  if (outcome.kind === "aborted") return aborted === undefined ? undefined : { type: aborted, effect: row.key };
  return failed === undefined ? undefined : { type: failed, error: outcome.error, ...child, effect: row.key };
}

/** A timer whose time has come. One whose actor cannot take it now is parked until the root is opened or the actor is released. */
function timer(key: string, draft: Draft, rules: Rules): Answer {
  const actor = draft.timer(key)?.actor;
  const target = actor === undefined ? undefined : draft.actor(actor);
  // Only now: a migration that this read has made may have ended it or put it off, and the clock may have been set back.
  const row = draft.timer(key);
  if (row?.state !== "armed" || row.dueMs > rules.now()) return { kind: "ignored" };
  // A row that is not its actor's own is damage: left armed, it would be due for ever.
  if (target?.kind !== "live" || !target.timers.some((own) => own.key === key)) {
    draft.timers.set(key, { ...row, state: "parked" });
    return target?.kind === "unavailable" ? refused(target.code, target.message) : { kind: "ignored" };
  }
  const message = (event: EngineEvent): Message => ({ to: row.actor, event, cause: { kind: "timer", timer: key } });
  const due = message(poisoning(message({ type: row.event }), () => JSON.parse(row.event)));
  return poisoning(due, () => new Cascade(draft, rules).toRest(due));
}

function stop(address: string, draft: Draft, cascade: Cascade): Answer {
  const target = draft.actor(address);
  if (!target) return refused("actor_not_found", `there is no actor ${address}`);
  if (target.kind === "unavailable") return refused(target.code, target.message);
  if (isFinal(target.snapshot)) return refused("actor_final", `${address} is final`);
  return cascade.toRest({ to: address, event: { type: STOP }, cause: { kind: "engine" } });
}

function reopen(address: string, draft: Draft, cascade: Cascade): Answer {
  const target: Known | undefined = draft.actor(address);
  if (target?.kind !== "live" || isFinal(target.snapshot)) return { kind: "ignored" };
  draft.rewritten.add(address);
  draft.actors.set(address, { ...target, epoch: draft.ground.epoch });
  if (!target.registration.schemas.events["engine.reopened"]) return { kind: "ignored" };
  return engineEvent({ to: address, event: reopening(draft), cause: { kind: "engine" } }, target.registration, cascade);
}

/** What an actor of an older epoch is told. */
function reopening(draft: Draft): EngineEvent {
  return { type: "engine.reopened", epoch: draft.ground.epoch };
}

/** An actor in which somebody found damage; one that is set aside already keeps its first reason. */
function setAside({ actor, code, message }: Extract<Work, { kind: "setAside" }>, draft: Draft, rules: Rules): Answer {
  if (!draft.actor(actor) || draft.quarantineOf(actor)) return { kind: "ignored" };
  draft.quarantine(actor, { code, message, atMs: rules.now() });
  tellSupervisor("engine.quarantined", actor, draft, rules);
  return { kind: "ignored" };
}

/** An actor comes back; it is told of the ownerships that began while it was set aside, after what waited for it. */
function back(work: Extract<Work, { kind: "release" }>, draft: Draft, rules: Rules): Answer {
  const answer = release(work, draft, rules);
  if (answer.kind !== "accepted") return answer;
  const live = draft.actor(work.actor);
  if (live?.kind !== "live" || live.epoch >= draft.ground.epoch) return answer;
  const notice = draft.fork();
  try {
    reopen(work.actor, notice, new Cascade(notice, rules));
  } catch (failure) {
    if (!work.discard || !(failure instanceof PoisonedReceiver) || failure.message.to !== work.actor) throw failure;
    leaveOutNotice(draft, live, reopening(draft), rules.now());
    return answer;
  }
  draft.merge(notice);
  return answer;
}

/** What was answered before; an accepted event comes with the snapshot of now. */
function repeated(recorded: AnswerRow, target: Known): Answer {
  const answer = { ...JSON.parse(recorded.answer), repeated: true } as Answer;
  return answer.kind === "accepted" && target.kind === "live" ? { ...answer, snapshot: target.snapshot } : answer;
}
