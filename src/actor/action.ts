/**
 * Action: what XState's resolved actions ask of the engine.
 *
 * Guarantees: what has no durable meaning, or does not fit a schema, is refused with `action_invalid` and the way to write it.
 */

import { notDelay } from "./delay.ts";
import { type EngineCode, engineError, type HoldfastError } from "./error.ts";
import type { Request } from "./event.ts";
import { copyOf, notJson } from "./json.ts";
import type { EffectSchema, Registration } from "./registration.ts";
import { checkAgainst } from "./schema.ts";
import type { EffectRow } from "./store.ts";
import { isAfterEvent } from "./xstate-event.ts";

/** Actions of XState that ask for nothing: what they do is done within the transition, or by the end of a state. */
const INERT_ACTIONS = new Set(["xstate.log", "xstate.stopChild"]);

/** What an action that XState resolved asks of the engine; undefined where nothing. Throws `action_invalid`. */
export function toRequest(registration: Registration, type: string, params: any): Request | undefined {
  const bad = (problem: string) => reject("action_invalid", registration, `the action ${type} ${problem}`);
  if (INERT_ACTIONS.has(type)) return undefined;
  if (type === "xstate.raise") return params.delay === undefined ? undefined : toTimer(registration, params, bad);
  if (type === "xstate.cancel") return { type: "cancelTimer", id: String(params.sendId) };
  if (type === "xstate.spawnChild") return toInvocation(registration, params, bad);
  if (type.startsWith("xstate.")) throw bad("acts on a live actor, and there is none: use `deliver`, or `raise` for the machine itself");
  const found = notJson(params ?? {});
  if (found) throw bad(`has params that are not plain JSON at ${found}`);
  switch (type) {
    case "deliver":
      // A machine that has nobody to tell says so with null, so that one list of actions serves both cases.
      if (params?.to === null) return undefined;
      if (typeof params?.to !== "string" || typeof params.event?.type !== "string") throw bad("needs `to` and `event`");
      return { type: "deliver", to: params.to, event: copyOf(params.event) };
    case "createActor":
      if (typeof params?.machine !== "string" || typeof params.id !== "string") throw bad("needs `machine` and `id`");
      if (params.keys !== undefined && !Array.isArray(params.keys)) throw bad("has `keys` that are no list");
      return { type: "create", machine: params.machine, id: params.id, input: params.input ?? {}, keys: params.keys ?? [] };
    case "cancelEffect":
      if (!effectOf(registration, String(params?.effect))) throw bad(`names ${params?.effect}, which is no effect of its schemas`);
      return { type: "cancel", effect: params.effect };
    case "abortEffect":
      if (!effectOf(registration, String(params?.effect))?.aborted)
        throw bad(`names ${params?.effect}, which declares no \`aborted\` event`);
      return { type: "abort", effect: params.effect };
  }
  const effect = effectOf(registration, type);
  if (!effect) throw bad("is neither an effect nor an action of the engine");
  if (effect.done === undefined) throw bad("is promise logic, which a state invokes and no action requests");
  const checked = checkAgainst(effect.params, params ?? {});
  if (!checked.ok) throw bad(`has params that do not fit its schema: ${checked.path} ${checked.message}`);
  return { type: "effect", name: type, params: copyOf(params ?? {}) };
}

/** An `after`, or an event that is raised with a delay. */
function toTimer(registration: Registration, params: any, bad: (problem: string) => HoldfastError): Request {
  const { id = "", event, delay: delayMs } = params;
  const declared = registration.delays.get(id) ?? registration.delays.get(String(event?.type));
  if (!declared) throw bad(`of ${event?.type} has a delay that the definition does not show: name the action in setup({ actions })`);
  const { delay } = declared;
  const problem = notDelay(delayMs);
  if (problem) throw bad(`has the delay ${delay}: what it gives, ${delayMs}, ${problem}`);
  if (!isAfterEvent(id)) {
    const { type, ...payload } = event ?? {};
    const schema = Object.hasOwn(registration.schemas.events, type) ? registration.schemas.events[type] : undefined;
    const found = notJson(event);
    if (found || !schema) throw bad(`raises ${type}, which ${found ? `is not plain JSON at ${found}` : "schemas.events lacks"}`);
    const checked = checkAgainst(schema, payload);
    if (!checked.ok) throw bad(`raises ${type}, which does not fit its schema: ${checked.path} ${checked.message}`);
  }
  return { type: "timer", id, event: copyOf(event), delay, delayMs: Math.round(delayMs) };
}

/** Promise logic that a state invokes. */
function toInvocation(registration: Registration, params: any, bad: (problem: string) => HoldfastError): Request {
  const { id: child, input = null } = params;
  const name = registration.invocations.get(child)?.src;
  const effect = name === undefined ? undefined : registration.effects.get(name);
  if (!effect || name === undefined) throw bad(`starts the child ${child}, which no state invokes: create a durable actor instead`);
  const found = notJson(input);
  if (found) throw bad(`of ${name} has an input that is not plain JSON at ${found}`);
  const checked = checkAgainst(effect.params, input);
  if (!checked.ok) throw bad(`of ${name} has an input that does not fit its schema: ${checked.path} ${checked.message}`);
  return { type: "effect", name, params: copyOf(input), child };
}

/** An effect that the machine declares or invokes. */
export function effectOf(registration: Registration, name: string): EffectSchema | undefined {
  return registration.effects.get(name);
}

/** The types of the events that bring an effect's outcomes; of invoked promise logic, XState's own. */
export interface Outcomes {
  readonly done?: string;
  readonly failed?: string;
  readonly aborted?: string;
}

/** What brings the outcomes of this effect to its machine; a type is absent where the machine has no event for that. */
export function outcomesOf(registration: Registration, { child, name }: Pick<EffectRow, "child" | "name">): Outcomes {
  return (child === null ? undefined : registration.invocations.get(child)) ?? effectOf(registration, name) ?? {};
}

/** An error that names the machine and what is wrong with it. */
export function reject(code: EngineCode, registration: Registration, problem: string, path?: string): HoldfastError {
  return engineError(code, `machine ${registration.id}: ${problem}`, {
    details: { machine: registration.id, ...(path === undefined ? {} : { path }) },
  });
}
