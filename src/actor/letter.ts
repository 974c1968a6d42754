/**
 * Letters: deliveries that wait for an actor which could not take them when they were sent.
 *
 * Guarantees: they are delivered in the order in which they were sent, each as if it came only now, in the commit in which their actor
 * comes back or before anything else that its next owner asks of it; one that stays a dead letter says why.
 */

import { Cascade, type Message, PoisonedReceiver, poisoning } from "./cascade.ts";
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

/**
 * Delivers what waits for an actor; nothing where that cannot take events now. With `discard`, a letter that it cannot take is left out,
 * listed; without, that is the fault of the actor (ACT-10).
 */
export function deliverWaiting(address: string, draft: Draft, rules: Rules, discard: boolean): void {
  const target = draft.actor(address);
  if (target?.kind !== "live") return;
  for (const letter of draft.letters(address, isWaiting)) deliver(letter, target.registration, draft, rules, discard);
}

function deliver(letter: Letter, registration: Registration, draft: Draft, rules: Rules, discard: boolean): void {
  const { receiver: to, sender, seq, event } = letter;
  const reason = draft.isFinal(to) ? "actor_final" : attemptOf(letter, registration, draft, rules, discard);
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
  discard: boolean,
): string | undefined {
  const attempt = draft.fork();
  const message: Message = { to, event: read(event), cause: { kind: "delivery", from: sender, seq } };
  try {
    const taken = poisoning(message, () => {
      // Nobody could say what fits while its receiver could not be asked.
      const checked = checkEvent(registration, message.event, "delivery");
      if (!checked.ok) throw engineError(checked.code, checked.message, { details: { actor: to } });
      return new Cascade(attempt, rules).toRest({ ...message, event: checked.event });
    });
    if (taken.kind === "ignored") return "delivery_ignored";
  } catch (failure) {
    // Who cannot take what this actor says is at fault itself: it is set aside, and this is done again.
    if (discard && failure instanceof PoisonedReceiver && failure.message.to === to) return "event_poisoned";
    throw failure;
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
