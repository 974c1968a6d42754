/**
 * Migration: an actor of an older version, brought to the version of its machine.
 *
 * Owns what a migration may make of an actor and how its journal says so. Guarantees: pure; a migration that throws, or gives what
 * the machine cannot hold, changes nothing and says why.
 */

import type { AnyMachineSnapshot, AnyStateNode } from "xstate";
import { MIGRATED, type Migration } from "./declaration.ts";
import { DELAY_LIMIT_MS, TIME_LIMIT_MS } from "./delay.ts";
import { engineError, HoldfastError, messageOf } from "./error.ts";
import { checkEvent } from "./input.ts";
import { PAYLOAD_LIMIT } from "./journal.ts";
import { copyOf, frozen, type Json, notJson } from "./json.ts";
import { checkOwn, later, own } from "./own-schema.ts";
import type { Registration, StoredActor } from "./registration.ts";
import { EFFECTS_LIMIT, TIMERS_LIMIT } from "./request.ts";
import { checkAgainst } from "./schema.ts";
import { activeNodes } from "./scope.ts";
import type { ActorRow, EffectRow, TimerRow } from "./store.ts";
import { dehydrate, type Enclosure, type EngineEvent, hydrate, isFinal } from "./transition.ts";
import { afterEvent } from "./xstate-event.ts";

/** An actor after its migration. */
export interface Migrated {
  readonly snapshot: AnyMachineSnapshot;
  readonly effects: readonly EffectRow[];
  readonly timers: readonly TimerRow[];
  /** The event of its entry. */
  readonly event: EngineEvent;
}

/** What is to be migrated: the actor as it is stored. */
export interface Old {
  readonly row: Pick<ActorRow, "address" | "version" | "snapshot" | "seq">;
  readonly effects: readonly EffectRow[];
  readonly timers: readonly TimerRow[];
}

/** When and under which epoch it is migrated. */
export interface Moment {
  readonly atMs: number;
  readonly epoch: number;
  readonly enclose: Enclosure;
  /** Characters of JSON that a snapshot may have, where that is known. */
  readonly sizeLimit?: number;
}

const storedSchema = later(() => {
  const text = own.string();
  const plain = own.custom<Json>((value) => notJson(value) === undefined, "is not plain JSON");
  const timer = own.object({
    key: own.optional(text),
    id: text,
    event: own.intersection(own.looseObject({ type: text }), plain),
    delay: text,
    delayMs: own.int().check(own.minimum(0), own.maximum(DELAY_LIMIT_MS)),
    dueMs: own.optional(own.int().check(own.minimum(0), own.maximum(TIME_LIMIT_MS))),
  });
  const effect = own.object({ key: own.optional(text), name: text, params: plain, scope: text });
  const value: own.ZodMiniType = own.lazy(() => own.union([text, own.record(text, value)]));
  return own.object({
    value,
    context: plain,
    historyValue: own._default(own.record(text, own.array(own.looseObject({ id: text }))), {}),
    timers: own.array(timer).check(own.maxLength(TIMERS_LIMIT)),
    effects: own.array(effect).check(own.maxLength(EFFECTS_LIMIT)),
  });
});

/** True where the machine declares a way from this version to its own. */
export function hasMigration(registration: Registration, version: string): boolean {
  return registration.schemas.migrations !== undefined && Object.hasOwn(registration.schemas.migrations, version);
}

/** The actor at its machine's version; only for one of a version that `hasMigration`. Throws `migration_failed`. */
export function migrate(registration: Registration, old: Old, moment: Moment): Migrated {
  const { address } = old.row;
  const persisted = JSON.parse(old.row.snapshot);
  let stored: StoredActor = {
    value: persisted.value,
    context: persisted.context,
    historyValue: persisted.historyValue ?? {},
    timers: old.timers.map(({ key, id, event, delay, delayMs, dueMs }) => ({ key, id, event: JSON.parse(event), delay, delayMs, dueMs })),
    effects: old.effects.map(({ key, name, params, scope }) => ({ key, name, params: JSON.parse(params), scope })),
  };
  for (let version = old.row.version; version !== registration.version; ) {
    // From each version on the way one leads on: no other machine is registered.
    const step = registration.schemas.migrations?.[version] as Migration;
    stored = applied(registration, address, version, stored, () => moment.enclose(() => step.migrate(frozen(stored))), moment.atMs);
    version = step.to;
  }
  return settled(registration, old, persisted, stored, moment);
}

function applied(
  registration: Registration,
  address: string,
  version: string,
  before: StoredActor,
  act: () => unknown,
  atMs: number,
): StoredActor {
  const bad = (problem: string, path: string, cause?: unknown) =>
    failed(registration, address, `the one from version ${version} ${problem}`, path, cause);
  try {
    // What it gives may run code of its own as well, where a property is read.
    const parsed = checkOwn(storedSchema(), act());
    if (!parsed.ok) throw bad(`gives an actor that is wrong at ${parsed.path}: ${parsed.message}`, parsed.path);
    const keys = (rows: readonly { readonly key?: string | undefined }[]) => rows.flatMap(({ key }) => key ?? []);
    for (const part of ["timers", "effects"] as const) {
      const known = new Set(keys(before[part]));
      const wrong = keys(parsed.data[part]).find((key, index, all) => !known.has(key) || all.indexOf(key) !== index);
      if (wrong !== undefined) throw bad(`gives the key ${wrong}, which is not of one before`, part);
    }
    // A migration is pure and knows no time: what it sets anew it may leave to start now.
    const timers = parsed.data.timers.map((timer) => ({ ...timer, dueMs: timer.dueMs ?? Math.min(atMs + timer.delayMs, TIME_LIMIT_MS) }));
    return copyOf({ ...parsed.data, timers }) as StoredActor;
  } catch (cause) {
    if (cause instanceof HoldfastError && cause.code === "migration_failed") throw cause;
    throw bad(`threw: ${messageOf(cause)}`, "$", cause);
  }
}

/** Holds what a migration gave against the machine, and makes the rows. */
function settled(registration: Registration, { row, effects }: Old, persisted: any, stored: StoredActor, moment: Moment): Migrated {
  const bad: Bad = (problem, path, cause) => failed(registration, row.address, problem, path, cause);
  const remembered = Object.entries(stored.historyValue as Record<string, { id: string }[]>).flatMap(([id, nodes]) => [
    id,
    ...nodes.map((node) => node.id),
  ]);
  const lost = remembered.find((id) => !hasNode(registration, id));
  if (lost !== undefined) throw bad(`it remembers the state ${lost}, which the machine does not have`, "historyValue");
  let snapshot: AnyMachineSnapshot;
  try {
    const { value, context, historyValue } = stored;
    snapshot = hydrate(registration, JSON.stringify({ ...persisted, value, context, historyValue, children: {} }));
  } catch (cause) {
    throw bad(`it gives a state that the machine does not have: ${messageOf(cause)}`, "value", cause);
  }
  const fit = checkAgainst(registration.schemas.context, snapshot.context);
  if (!fit.ok) throw bad(`it gives a context that does not fit its schema: ${fit.path} ${fit.message}`, `context.${fit.path}`);
  const active = activeNodes(snapshot);
  if (isFinal(snapshot) || hasEnded(registration.machine.root, active))
    throw bad("it gives a final state: an actor ends by an event only", "value");
  const size = dehydrate(registration, snapshot).length;
  const { sizeLimit = Number.POSITIVE_INFINITY } = moment;
  if (size > sizeLimit) throw bad(`it gives a snapshot of ${size} characters; ${sizeLimit} are allowed`, "context");
  const place: Place = { registration, actor: row.address, seq: row.seq + 1, active, moment, bad };
  const newEffects = effectRows(place, effects, stored.effects);
  const newTimers = timerRows(place, stored.timers, newEffects.length);
  const event = eventOf(registration, row.version, snapshot, newEffects, newTimers);
  const length = JSON.stringify(event).length;
  if (length > PAYLOAD_LIMIT) throw bad(`its entry would have ${length} characters; ${PAYLOAD_LIMIT} are allowed`, "$");
  return { snapshot, effects: newEffects, timers: newTimers, event };
}

type Bad = (problem: string, path: string, cause?: unknown) => HoldfastError;

/** What rows are made for. */
interface Place {
  readonly registration: Registration;
  readonly actor: string;
  readonly seq: number;
  readonly active: ReadonlySet<string>;
  readonly moment: Moment;
  readonly bad: Bad;
}

function effectRows({ registration, actor, seq, active, moment, bad }: Place, before: readonly EffectRow[], given: StoredActor["effects"]) {
  const taken = new Set<string>();
  return given.map(({ key, name, params, scope }, index): EffectRow => {
    const schema = registration.effects.get(name);
    if (!schema) throw bad(`the machine has no effect ${name}`, `effects.${index}.name`);
    const checked = checkAgainst(schema.params, params);
    if (!checked.ok) throw bad(`the params of ${name} do not fit: ${checked.path} ${checked.message}`, `effects.${index}.params`);
    if (scope !== "" && !active.has(scope)) throw bad(`the state ${scope} is not active`, `effects.${index}.scope`);
    const kept = before.find((effect) => effect.key === key);
    // A state may invoke the same logic more than once: then what is kept stays the child that it was.
    const children = [...registration.invocations].flatMap(([id, { src, node }]) =>
      src === name && node === scope && !taken.has(id) ? [id] : [],
    );
    const child = children.find((id) => id === kept?.child) ?? children[0] ?? null;
    if (schema.done === undefined && child === null) throw bad(`${scope || "no state"} does not invoke ${name}`, `effects.${index}.scope`);
    if (child !== null) taken.add(child);
    const fresh = { state: "open" as const, epoch: moment.epoch, openedMs: moment.atMs, error: null };
    const { state, epoch, openedMs, error } = kept ?? fresh;
    return {
      ...{ key: key ?? `${actor}:${seq}:${index}`, actor, name, params: JSON.stringify(params), scope, child },
      ...{ state, epoch, openedMs, error },
    };
  });
}

/** `first`: the index of the first timer in the keys that are made, which effects and timers of one entry share. */
function timerRows({ registration, actor, seq, active, bad }: Place, given: StoredActor["timers"], first: number): TimerRow[] {
  const ids = new Set<string>();
  return given.map(({ key, id, event, delay, delayMs, dueMs }, index): TimerRow => {
    const declared = registration.delays.get(id) ?? registration.delays.get(event.type);
    if (declared?.delay !== delay) throw bad(`the machine sets no timer ${id || event.type} by the delay ${delay}`, `timers.${index}.id`);
    if (id !== "" && ids.has(id)) throw bad(`there are two timers ${id}`, `timers.${index}.id`);
    ids.add(id);
    const prefix = afterEvent(delay, "");
    const node = id.startsWith(prefix) ? id.slice(prefix.length) : undefined;
    if (node !== undefined && !active.has(node)) throw bad(`the state ${node} is not active`, `timers.${index}.id`);
    const checked = node === undefined ? checkEvent(registration, event, "engine") : { ok: event.type === id, message: `is not ${id}` };
    if (!checked.ok) throw bad(`the event of the timer ${id || event.type} does not fit: ${checked.message}`, `timers.${index}.event`);
    return {
      ...{ key: key ?? `${actor}:${seq}:${first + index}`, actor, id, event: JSON.stringify(event), delay },
      ...{ policy: declared.policy, delayMs, dueMs, state: "armed" },
    };
  });
}

function hasNode({ machine }: Registration, id: string): boolean {
  try {
    machine.getStateNodeById(id);
    return true;
  } catch {
    return false;
  }
}

/** True where a state is done, as XState has it: one final child, or all regions of a parallel state. */
function hasEnded(node: AnyStateNode, active: ReadonlySet<string>): boolean {
  const children = Object.values(node.states) as AnyStateNode[];
  if (node.type === "parallel") return children.every((child) => hasEnded(child, active));
  return children.some((child) => child.type === "final" && active.has(child.id));
}

function eventOf(
  registration: Registration,
  from: string,
  snapshot: AnyMachineSnapshot,
  effects: readonly EffectRow[],
  timers: readonly TimerRow[],
): EngineEvent {
  return copyOf({
    type: MIGRATED,
    from,
    snapshot: registration.machine.getPersistedSnapshot(snapshot),
    effects: effects.map(({ key, name, params, scope, child }) => ({ key, name, params: JSON.parse(params), scope, child })),
    timers: timers.map(({ actor: _, state: _state, event, ...timer }) => ({ ...timer, event: JSON.parse(event) })),
  }) as unknown as EngineEvent;
}

/** The actor as the entry of its migration gives it, for a fold. Rows stand as they were when it was written. */
export function migratedBy(registration: Registration, actor: string, event: EngineEvent, atMs: number): Omit<Migrated, "event"> {
  const { snapshot, effects, timers } = event as any;
  return {
    snapshot: hydrate(registration, JSON.stringify(snapshot)),
    effects: effects.map(
      ({ key, name, params, scope, child }: any): EffectRow => ({
        ...{ key, actor, name, params: JSON.stringify(params), scope, child },
        ...{ state: "open", epoch: 0, openedMs: atMs, error: null },
      }),
    ),
    timers: timers.map((timer: any): TimerRow => ({ ...timer, actor, event: JSON.stringify(timer.event), state: "armed" })),
  };
}

function failed(registration: Registration, actor: string, problem: string, path: string, cause?: unknown): HoldfastError {
  return engineError("migration_failed", `${actor}: the migration of ${registration.id} failed: ${problem}`, {
    details: { actor, path },
    cause,
  });
}
