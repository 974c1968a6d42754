/**
 * Letters: deliveries that wait for an actor which could not take them when they were sent.
 *
 * Guarantees: they are delivered in the order in which they were sent, each as if it came only now, in the commit in which their actor
 * comes back or before anything else that its next owner asks of it; one that stays a dead letter says why.
 */

import { Cascade, isStoreFailure, type Message, PoisonedReceiver } from "./cascade.ts";
import type { Draft } from "./draft.ts";
import { engineError } from "./error.ts";
import { checkEvent } from "./input.ts";
import type { Registration } from "./registration.ts";
import type { Rules } from "./rules.ts";
import type { DeadLetterRow } from "./store.ts";
import type { EngineEvent } from "./transition.ts";

/** A dead letter; one of the present group has no position yet. */
type Letter = DeadLetterRow & { readonly position?: number };

/** Reasons that a program of another version can end: the actor is whole, and could not be asked. */
export const PARKED = ["machine_changed", "machine_unknown", "machine_version_unknown", "migration_failed"] as const;

/** Reasons of dead letters that are delivered once their receiver can take events again. */
export const WAITING: readonly string[] = ["actor_quarantined", ...PARKED];

const isWaiting: ReadonlySet<string> = new Set(WAITING);

/** What to do with a letter that its actor cannot take: fail; leave it out, listed; or set the actor aside. */
type Failing = "throw" | "discard" | "quarantine";

/** Delivers what waits for an actor; nothing where that cannot take events now. */
export function deliverWaiting(address: string, draft: Draft, rules: Rules, failing: Failing): void {
  if (draft.actor(address)?.kind !== "live") return;
  for (const letter of draft.letters(address, isWaiting)) deliver(letter, draft, rules, failing);
}

function deliver(letter: Letter, draft: Draft, rules: Rules, failing: Failing): void {
  const { receiver: to, sender, seq, event } = letter;
  const target = draft.actor(to);
  // Set aside or parked still, or again: it waits on, in its place.
  if (target?.kind !== "live") return;
  const reason = draft.isFinal(to) ? "actor_final" : attemptOf(letter, target.registration, draft, rules, failing);
  draft.taken.add(letter.position ?? letter);
  // Never earlier than it was: what retention removed of the letters is all older than its watermark, also where a clock went back.
  const atMs = Math.max(letter.atMs, rules.now());
  if (reason !== undefined) draft.deadLetters.push({ receiver: to, sender, seq, event, reason, atMs });
}

/** Why it stays a dead letter; undefined where it was delivered. */
function attemptOf(
  { receiver: to, sender, seq, event }: DeadLetterRow,
  registration: Registration,
  draft: Draft,
  rules: Rules,
  failing: Failing,
): string | undefined {
  const attempt = draft.fork();
  const message: Message = { to, event: read(event), cause: { kind: "delivery", from: sender, seq } };
  try {
    // Nobody could say what fits while its receiver could not be asked.
    const checked = checkEvent(registration, message.event, "delivery");
    if (!checked.ok) throw engineError(checked.code, checked.message, { details: { actor: to } });
    if (new Cascade(attempt, rules).toRest({ ...message, event: checked.event }).kind === "ignored") return "delivery_ignored";
  } catch (failure) {
    // The fault of another: who cannot take what this actor says is set aside, and this is done again.
    if (isStoreFailure(failure) || (failure instanceof PoisonedReceiver && failure.message.to !== to)) throw failure;
    if (failing === "discard") return "event_poisoned";
    throw failing === "throw" || failure instanceof PoisonedReceiver ? failure : new PoisonedReceiver(message, failure);
  }
  draft.merge(attempt);
  return undefined;
}

/** A letter that is no JSON is one that fits nothing. */
function read(text: string): EngineEvent {
  try {
    return JSON.parse(text) as EngineEvent;
  } catch {
    return { type: "" };
  }
}
