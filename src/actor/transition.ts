/**
 * Transition: one event through one machine, purely.
 *
 * Owns, with action.ts and scope.ts, all knowledge of how XState represents actions and snapshots; no other file reads one.
 * Guarantees: nothing is executed; the same snapshot, event and stamp give the same outcome (ACT-4); what a machine throws, or
 * states in a form that its schemas do not allow, becomes a coded error and leaves no trace (ACT-7).
 * Refuses to know: stores, other actors, time.
 * Next: commit.ts
 */

import type { AnyMachineSnapshot, AnyStateMachine } from "xstate";
import { reject, toRequest } from "./action.ts";
import { engineError, type HoldfastError, messageOf } from "./error.ts";
import type { EngineEvent, Fact, Request, Stamp } from "./event.ts";
import { frozen, hasNegativeZero, type Json, notJson } from "./json.ts";
import type { Registration } from "./registration.ts";
import { checkAgainst } from "./schema.ts";
import { activeNodes, ENTERED, scope } from "./scope.ts";

export type { EngineEvent, Fact, Request, Stamp } from "./event.ts";

export interface Outcome {
  readonly snapshot: AnyMachineSnapshot;
  readonly facts: readonly Fact[];
  readonly requests: readonly Request[];
  /** Where each request was made. */
  readonly made: readonly Made[];
  /** False where the machine declares nothing for this event now, or a guard said no. */
  readonly taken: boolean;
}

/** The microstep that made a request, and the state whose entry it was; empty for all other actions. */
export interface Made {
  readonly step: number;
  readonly scope: string;
}

/** How transitions are called; the testing kit puts its purity trap here. */
export type Enclosure = <T>(transition: () => T) => T;

/** The machine's initial transition. `input` has been validated. */
export function start(registration: Registration, input: Json, stamp: Stamp, enclose: Enclosure): Outcome {
  // Not enumerable: a context made by spreading the input shall not keep it.
  const stamped = Object.defineProperty({ ...(input as Record<string, Json>) }, "stamp", { value: stamp });
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

/** True where the machine would take this event now. */
export function wouldTake(
  registration: Registration,
  snapshot: AnyMachineSnapshot,
  event: EngineEvent,
  stamp: Stamp,
  enclose: Enclosure,
): boolean {
  try {
    return enclose(() => snapshot.can({ ...event, stamp } as never));
  } catch (cause) {
    throw threw(registration, cause);
  }
}

/** Why the machine takes no notice of an event now, in its own words. */
export function refusalOf(
  registration: Registration,
  snapshot: AnyMachineSnapshot,
  event: EngineEvent,
  enclose: Enclosure,
): string | undefined {
  try {
    const reason: unknown = enclose(() => registration.schemas.refusal?.(snapshot, event));
    // Anything else is a slip of the machine, and no reason.
    return typeof reason === "string" ? reason : undefined;
  } catch (cause) {
    throw threw(registration, cause);
  }
}

/** Effects, deliveries, creations and timers that one transition may ask for. */
const REQUESTS_LIMIT = 10_000;

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
  checkChildren(registration, snapshot, before);
  const facts: Fact[] = [];
  const requests: Request[] = [];
  const made: Made[] = [];
  let entered = "";
  for (const { type, params, step } of scope.acts) {
    if (type === ENTERED) entered = params.node;
    else if (type === "xstate.emit") facts.push(checkFact(registration, params.event));
    else {
      const request = toRequest(registration, type, params);
      if (!request) continue;
      requests.push(request);
      made.push({ step, scope: entered });
      entered = "";
    }
  }
  if (requests.length > REQUESTS_LIMIT)
    throw reject("action_invalid", registration, `asks for ${requests.length} things at once; ${REQUESTS_LIMIT} are allowed`);
  if (snapshot !== before) {
    checkContext(registration, snapshot);
    // The next transition must see what a fold and a restart see (ACT-4). Beside a negative zero, JSON loses the order in which
    // parallel states were entered, and XState takes their `always` transitions in that order.
    if (registration.isParallel || hasNegativeZero(snapshot.context)) snapshot = hydrate(registration, dehydrate(registration, snapshot));
  }
  return { snapshot, facts, requests, made, taken: snapshot !== before || scope.acts.length > 0 };
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

/** What no definition shows: `assign` and a context's function can spawn, and `enqueueActions` can stop what its state invokes. */
function checkChildren(registration: Registration, snapshot: AnyMachineSnapshot, before: AnyMachineSnapshot | undefined): void {
  const bad = (problem: string) => reject("action_invalid", registration, problem);
  for (const id of Object.keys(snapshot.children))
    if (!registration.invocations.has(id))
      throw bad(`it spawned the child ${id}, which lives only in memory: invoke named promise logic, or use the action createActor`);
  // One that ends, also by a stop from outside, has no children left.
  if (isFinal(snapshot)) return;
  for (const id of Object.keys(before?.children ?? {}))
    if (!Object.hasOwn(snapshot.children, id) && activeNodes(snapshot).has(registration.invocations.get(id)?.node ?? ""))
      throw bad(`it stopped the child ${id} of a state that goes on: leave the state, or use the action cancelEffect`);
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

function threw(registration: Registration, cause: unknown): HoldfastError {
  return engineError("machine_threw", `machine ${registration.id} threw: ${messageOf(cause)}`, {
    cause,
  });
}

/** Ends an actor from outside its machine's own rules, as XState's `stop` does. */
export const STOP = "xstate.stop";

/** Fields of XState's snapshots, with their methods. One that has more is of another XState, and says more than we know. */
const FIELDS = 15;

/** The snapshot as the JSON text that is stored. */
export function dehydrate(registration: Registration, snapshot: AnyMachineSnapshot): string {
  const { status, output, error, value, historyValue, context, children } = snapshot;
  // As XState does it, which takes several times as long.
  if (Object.keys(snapshot).length === FIELDS && isEmpty(children) && isEmpty(historyValue))
    return JSON.stringify({ status, output, error, value, historyValue, context, children });
  // XState would look through all of the context for references to actors, and take plain JSON for one that has the keys of one.
  const persisted = registration.machine.getPersistedSnapshot({ ...snapshot, context: {} } as never);
  return JSON.stringify({ ...persisted, context });
}

function isEmpty(value: object): boolean {
  for (const _ in value) return false;
  return true;
}

/** The snapshot from its stored text. Throws where this machine has no such state. */
export function hydrate(registration: Registration, text: string): AnyMachineSnapshot {
  const stored = JSON.parse(text);
  // As when it is written: a context is plain JSON and refers to nobody.
  const snapshot = registration.machine.restoreSnapshot({ ...stored, context: {} }, scope as never) as AnyMachineSnapshot;
  snapshot.context = frozen(stored.context);
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
