/**
 * Transition: one event through one machine, purely.
 *
 * Owns, with scope.ts, all knowledge of how XState represents actions and snapshots; no other file reads an XState action.
 * Guarantees: nothing is executed; the same snapshot, event and stamp give the same outcome (ACT-4); what a machine throws, or
 * states in a form that its schemas do not allow, becomes a coded error and leaves no trace (ACT-7).
 * Refuses to know: stores, other actors, time.
 * Next: commit.ts
 */

import type { AnyMachineSnapshot, AnyStateMachine } from "xstate";
import { type EngineCode, engineError, type HoldfastError, messageOf } from "./error.ts";
import { copyOf, frozen, hasNegativeZero, type Json, notJson } from "./json.ts";
import type { EffectSchema, Registration } from "./registration.ts";
import { checkAgainst } from "./schema.ts";
import { initialNodes, scope } from "./scope.ts";

/** An event as machines see it: `stamp` is added by the engine, so that time and fresh ids reach a pure transition from outside. */
export interface Stamp {
  /** Milliseconds since 1970, taken once per macrostep. */
  readonly at: number;
  /** Number of the journal entry that this transition writes. */
  readonly seq: number;
  /** `<actor>:<seq>` of the journal entry that this transition writes: unique in the root, the same in every fold. */
  readonly id: string;
}

/** An event or fact: a type, and a payload of plain JSON. */
export interface EngineEvent {
  readonly type: string;
  readonly [key: string]: Json;
}

/** Type of an actor's first event; its payload is the creation's input and keys. */
export const CREATION = "xstate.init";

/** What a machine stated by `emit`. */
export type Fact = EngineEvent;

/** What a machine asked for, in order: the closed list of a transition's outputs besides its facts. */
export type Request =
  | { readonly type: "effect"; readonly name: string; readonly params: Json }
  | { readonly type: "deliver"; readonly to: string; readonly event: EngineEvent }
  | { readonly type: "create"; readonly machine: string; readonly id: string; readonly input: Json; readonly keys: readonly string[] }
  | { readonly type: "cancel"; readonly effect: string }
  | { readonly type: "abort"; readonly effect: string };

export interface Outcome {
  readonly snapshot: AnyMachineSnapshot;
  readonly facts: readonly Fact[];
  readonly requests: readonly Request[];
  /** Where each request was made. */
  readonly made: readonly Made[];
  /** False where the machine declares nothing for this event now, or a guard said no. */
  readonly taken: boolean;
}

/** The microstep that made a request, and the states that were active at its end. */
export interface Made {
  readonly step: number;
  readonly nodes: ReadonlySet<string>;
}

/** How transitions are called; the testing kit puts its purity trap here. */
export type Enclosure = <T>(transition: () => T) => T;

/** The machine's initial transition. `input` has been validated. */
export function start(registration: Registration, input: Json, stamp: Stamp, enclose: Enclosure): Outcome {
  const stamped = { ...(input as Record<string, Json>), stamp };
  return run(registration, enclose, (machine) => machine.getInitialSnapshot(scope as never, stamped), undefined);
}

/** One event through the machine. `event` has been validated. */
export function take(
  registration: Registration,
  snapshot: AnyMachineSnapshot,
  event: EngineEvent,
  stamp: Stamp,
  enclose: Enclosure,
): Outcome {
  return run(registration, enclose, (machine) => machine.transition(snapshot, { ...event, stamp } as never, scope as never), snapshot);
}

/** Why the machine takes no notice of an event now, in its own words. */
export function refusalOf(
  registration: Registration,
  snapshot: AnyMachineSnapshot,
  event: EngineEvent,
  enclose: Enclosure,
): string | undefined {
  try {
    return enclose(() => registration.schemas.refusal?.(snapshot, event));
  } catch (cause) {
    throw threw(registration, cause);
  }
}

function run(
  registration: Registration,
  enclose: Enclosure,
  step: (machine: AnyStateMachine) => unknown,
  before: AnyMachineSnapshot | undefined,
): Outcome {
  scope.reset();
  let snapshot: AnyMachineSnapshot;
  try {
    snapshot = enclose(() => step(registration.machine)) as AnyMachineSnapshot;
  } catch (cause) {
    throw threw(registration, cause);
  }
  if (snapshot.status === "error") throw threw(registration, snapshot.error);
  if (before === undefined) scope.nodes[0] = () => new Set(initialNodes(registration.machine.root));
  const nodes: ReadonlySet<string>[] = [];
  const facts: Fact[] = [];
  const requests: Request[] = [];
  const made: Made[] = [];
  for (const { type, params, step } of scope.acts) {
    if (type === "xstate.emit") facts.push(checkFact(registration, params.event));
    else {
      const request = toRequest(registration, type, params);
      if (!request) continue;
      requests.push(request);
      nodes[step] ??= scope.nodes[step]?.() ?? new Set();
      made.push({ step, nodes: nodes[step] });
    }
  }
  if (snapshot !== before) {
    checkContext(registration, snapshot);
    // The next transition must see what a fold and a restart see (ACT-4).
    if (hasNegativeZero(snapshot.context)) snapshot = hydrate(registration, dehydrate(registration, snapshot));
  }
  return { snapshot, facts, requests, made, taken: snapshot !== before || scope.acts.length > 0 };
}

function toRequest(registration: Registration, type: string, params: any): Request | undefined {
  const bad = (problem: string) => reject("action_invalid", registration, `the action ${type} ${problem}`);
  if (type === "xstate.log") return undefined;
  const found = notJson(params ?? {});
  if (found) throw bad(`has params that are not plain JSON at ${found}`);
  switch (type) {
    case "deliver":
      // A machine that has nobody to tell says so with null, so that one list of actions serves both cases.
      if (params?.to === null) return undefined;
      if (typeof params?.to !== "string" || typeof params?.event?.type !== "string") throw bad("needs `to` and `event`");
      return { type: "deliver", to: params.to, event: copyOf(params.event) };
    case "createActor":
      if (typeof params?.machine !== "string" || typeof params?.id !== "string") throw bad("needs `machine` and `id`");
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
  const checked = checkAgainst(effect.params, params ?? {});
  if (!checked.ok) throw bad(`has params that do not fit its schema: ${checked.path} ${checked.message}`);
  return { type: "effect", name: type, params: copyOf(params ?? {}) };
}

/** An effect that the machine declares. */
export function effectOf(registration: Registration, name: string): EffectSchema | undefined {
  const { effects } = registration.schemas;
  return effects && Object.hasOwn(effects, name) ? effects[name] : undefined;
}

function checkFact(registration: Registration, fact: any): Fact {
  const type = String(fact?.type);
  const bad = (problem: string, path?: string) => reject("fact_invalid", registration, `the fact ${type} ${problem}`, path);
  const schema = Object.hasOwn(registration.schemas.facts, type) ? registration.schemas.facts[type] : undefined;
  if (!schema) throw bad("is not named by schemas.facts");
  const found = notJson(fact);
  if (found) throw bad(`is not plain JSON at ${found}`, found);
  const { type: _, ...payload } = fact;
  const checked = checkAgainst(schema, payload);
  if (!checked.ok) throw bad(`does not fit its schema: ${checked.path} ${checked.message}`, checked.path);
  return fact;
}

/** The context, and the output of a machine that has ended. Frozen, so that no later transition can change it in place (ACT-7). */
function checkContext(registration: Registration, snapshot: AnyMachineSnapshot): void {
  const bad = (problem: string, path: string) => reject("context_invalid", registration, `the context ${problem}`, path);
  const found = notJson(snapshot.context);
  if (found) throw bad(`is not plain JSON at ${found}`, found);
  const checked = checkAgainst(registration.schemas.context, snapshot.context);
  if (!checked.ok) throw bad(`does not fit its schema: ${checked.path} ${checked.message}`, checked.path);
  const output = snapshot.output === undefined ? undefined : notJson(snapshot.output, "output");
  if (output) throw bad(`gives an output that is not plain JSON at ${output}`, output);
  frozen(snapshot.context);
}

function reject(code: EngineCode, registration: Registration, problem: string, path?: string): HoldfastError {
  return engineError(code, `machine ${registration.id}: ${problem}`, {
    details: { machine: registration.id, ...(path === undefined ? {} : { path }) },
  });
}

function threw(registration: Registration, cause: unknown): HoldfastError {
  return engineError("machine_threw", `machine ${registration.id} threw: ${messageOf(cause)}`, {
    cause,
  });
}

/** The snapshot as the JSON text that is stored. */
export function dehydrate(registration: Registration, snapshot: AnyMachineSnapshot): string {
  return JSON.stringify(registration.machine.getPersistedSnapshot(snapshot));
}

/** The snapshot from its stored text. Throws where this machine has no such state. */
export function hydrate(registration: Registration, text: string): AnyMachineSnapshot {
  const snapshot = registration.machine.restoreSnapshot(JSON.parse(text), scope as never) as AnyMachineSnapshot;
  frozen(snapshot.context);
  return snapshot;
}

/** The state value in dotted form, regions of a parallel state joined by commas: `running.stepping`. */
export function stateName(value: unknown): string {
  if (typeof value === "string") return value;
  return Object.entries(value as Record<string, unknown>)
    .map(([key, child]) => (child && Object.keys(child as object).length === 0 ? key : `${key}.${stateName(child)}`))
    .join(",");
}

/** True where the machine has reached a final state. */
export function isFinal(snapshot: AnyMachineSnapshot): boolean {
  return snapshot.status !== "active";
}
