/** Resolution: the ways out for effects that wait for a person, because they are exhausted or nobody can know whether they ran. */

import { outcomesOf } from "./action.ts";
import { type Answer, refused } from "./answer.ts";
import type { Draft } from "./draft.ts";
import { engineError, HoldfastError } from "./error.ts";
import { checkEvent } from "./input.ts";
import { PAYLOAD_LIMIT } from "./journal.ts";
import { copyOf, type Json, notJson } from "./json.ts";
import type { EffectRow } from "./store.ts";
import type { EffectOutcome, Resolution } from "./work.ts";

export type { Resolution } from "./work.ts";

/** Opens an exhausted or unknown effect again. */
export function retryEffect(key: string, draft: Draft): Answer {
  const row = draft.effect(key);
  const actor = row && draft.actor(row.actor);
  if (!row || !actor) return refused("effect_gone", `the effect ${key} has ended`);
  if (actor.kind === "unavailable") return refused(actor.code, actor.message);
  if (!isWaiting(row)) return refused("effect_at_work", `the effect ${key} is ${row.state}: its handler is at work or about to be`);
  draft.replaceEffect(actor, { ...row, state: "open", error: null, epoch: draft.ground.epoch });
  return { kind: "ignored" };
}

/** The outcome that a person gave, in the form that a handler's has. Throws what is wrong with it, and why it is not wanted. */
export function checkResolution(key: string, outcome: Resolution, draft: Draft): EffectOutcome {
  const details = { details: { effect: key } };
  const row = draft.effect(key);
  const actor = row && draft.actor(row.actor);
  if (!row || !actor) throw engineError("effect_gone", `the effect ${key} has ended`, details);
  if (actor.kind === "unavailable") throw new HoldfastError(actor.code, actor.message, details);
  if (!isWaiting(row))
    throw engineError("effect_at_work", `the effect ${key} is ${row.state}: its handler is at work or about to be`, details);
  const { registration } = actor;
  const isDone = typeof outcome === "object" && outcome !== null && "output" in outcome;
  const type = outcomesOf(registration, row)[isDone ? "done" : "failed"];
  const bad = (problem: string) => engineError("effect_result_invalid", `the effect ${row.name} of ${row.actor} ${problem}`, details);
  if (type === undefined) throw bad(`has no event for ${isDone ? "a result" : "a failure"}`);
  const payload: Record<string, unknown> = isDone ? { output: outcome.output } : { error: outcome?.error };
  if (notJson(payload)) throw bad(`cannot come to what is not plain JSON at ${notJson(payload)}`);
  if (JSON.stringify(payload).length > PAYLOAD_LIMIT / 2) throw bad("cannot come to so much: store it as a blob and give its digest");
  if (!isDone && (typeof outcome.error?.code !== "string" || typeof outcome.error.message !== "string"))
    throw bad("needs an output, or an error with code and message");
  const checked =
    row.child === null ? checkEvent(registration, { ...payload, type, effect: key } as { type: string }, "engine") : undefined;
  if (checked?.ok === false) throw new HoldfastError("effect_result_invalid", checked.message, details);
  return isDone ? { kind: "done", output: copyOf(outcome.output as Json) } : { kind: "failed", error: outcome.error };
}

function isWaiting(row: EffectRow): boolean {
  return row.state === "exhausted" || row.state === "unknown";
}
