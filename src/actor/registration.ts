/**
 * Registration: what the engine must know of a machine before it runs one, and the refusal of machines that cannot be made durable.
 *
 * Owns: the shape of `machine.schemas`, and which state's entry requests which effect.
 * Refuses, with `machine_invalid`, the machine's id and the path: what has no name, no schema, no handler, or no durable meaning.
 */

import type { AnyStateMachine, AnyStateNode } from "xstate";
import type { z } from "zod";
import { engineError, type HoldfastError } from "./error.ts";

/** An effect type, declared in a machine's schemas: what it takes, which events bring its outcome, and its limits. */
export interface EffectSchema {
  readonly params: z.ZodType;
  /** Event that brings the handler's result, as `{ output, effect }`. */
  readonly done: string;
  /** Event that brings the final failure, as `{ error: { code, message }, effect }`. Absent: the effect is listed as exhausted. */
  readonly failed?: string;
  /** Event that says that the handler ended because `abortEffect` asked it to, as `{ effect }`. Needed for `abortEffect`. */
  readonly aborted?: string;
  /**
   * `at_least_once`: started again until a result is committed; the handler uses `key` to recognise a repetition.
   * `at_most_once`: admitted by a commit of its own; where its outcome is lost the machine gets `effect.unknown`.
   */
  readonly delivery: "at_least_once" | "at_most_once";
  /** Bound on one attempt in ms. Default 300,000; null: none. */
  readonly timeoutMs?: number | null;
  /** Attempts in one process, 1 or more. Default 5 for at least once; always 1 for at most once. */
  readonly attempts?: number;
  /** Wait before the second attempt in ms; doubles with each further one, to 60 s at most. Default 100. */
  readonly backoffMs?: number;
  /** Handlers of this type that may run at once. Default 64. */
  readonly concurrency?: number;
  /** How long a handler may take to end after `abortEffect`, in ms. Default 10,000; then it is interrupted and left behind. */
  readonly abortGraceMs?: number;
}

/** What `setup({ schemas })` of a durable machine must hold. Payload schemas describe an event or fact without its `type`. */
export interface MachineSchemas {
  readonly input: z.ZodType;
  readonly context: z.ZodType;
  readonly events: Readonly<Record<string, z.ZodType>>;
  readonly facts: Readonly<Record<string, z.ZodType>>;
  readonly effects?: Readonly<Record<string, EffectSchema>>;
  /** Pure. Names the reason why this snapshot does not take this event now, as a stable code; undefined where it has none to give. */
  readonly refusal?: (snapshot: any, event: any) => string | undefined;
  /**
   * Pure, of the input that the actor was created with, which stays readable when its snapshot is not. The actor that is to know
   * when this one is set aside, and when a delivery could not reach it for that: in the same commit it gets `engine.quarantined`
   * as `{ actor, code }`, where its machine has that event. Null: nobody.
   */
  readonly supervisor?: (input: any) => string | null;
}

export interface Registration {
  readonly machine: AnyStateMachine;
  readonly id: string;
  readonly version: string;
  readonly schemas: MachineSchemas;
  /** Effect name → ids of the state nodes whose entry requests it, deepest first. Requested elsewhere, it lives with its actor. */
  readonly scopes: ReadonlyMap<string, readonly string[]>;
  /** Event types that only the engine may make for this machine (ACT-9). */
  readonly reserved: ReadonlySet<string>;
}

/** Actions that the engine itself carries out; see `machines/action.ts` for their params. */
export const ENGINE_ACTIONS = ["deliver", "createActor", "cancelEffect", "abortEffect"] as const;

/** How the types of XState's own actions start. */
const BUILT_IN = "xstate.";

/** XState's own actions that end within a pure transition. All others act on live actors and are refused. */
const PURE_ACTIONS = new Set(["assign", "emit", "raise", "enqueueActions", "log"]);

/** Checks a machine and prepares it for the engine. Throws `machine_invalid`. */
export function register(machine: AnyStateMachine): Registration {
  const schemas = machine.schemas as MachineSchemas | undefined;
  const id = machine.id;
  if (!/^[a-z][a-z0-9-]{0,63}$/.test(id))
    throw machineInvalid(id, "id", "must be 1 to 64 lower-case letters, digits and dashes, starting with a letter");
  if (!schemas || typeof schemas !== "object") throw machineInvalid(id, "schemas", "are missing: pass `schemas` to `setup()`");
  checkSchemas(id, schemas);
  const version = (machine.config as { version?: string }).version;
  if (version === undefined) throw machineInvalid(id, "version", "is missing");
  if (typeof version !== "string" || !/^\d{1,9}(\.\d{1,9}){0,2}$/.test(version))
    throw machineInvalid(id, "version", 'must be one to three numbers with dots between, such as "2" or "1.4.0"');
  const reserved = new Set(Object.entries(schemas.effects ?? {}).flatMap(([name, effect]) => checkEffect(id, name, effect, schemas)));
  const scopes = new Map<string, string[]>();
  for (const node of nodes(machine.root)) {
    const config = node.config as Record<string, any>;
    if (config.invoke) throw machineInvalid(id, node.id, "invokes an actor: request an effect, or create a durable actor");
    if (config.after) throw machineInvalid(id, node.id, "uses `after`: durable timers are not supported yet");
    for (const [where, action] of actionsOf(node)) {
      const name = nameOfAction(id, where, action, machine, schemas);
      if (name && isEffect(schemas, name) && where.endsWith(".entry")) scopes.set(name, [node.id, ...(scopes.get(name) ?? [])]);
    }
    for (const [where, guard] of guardsOf(node)) checkGuard(id, where, guard, machine);
  }
  return { machine, id, version, schemas, scopes, reserved };
}

function checkSchemas(id: string, schemas: MachineSchemas): void {
  for (const part of ["input", "context", "events", "facts"] as const)
    if (!schemas[part]) throw machineInvalid(id, `schemas.${part}`, "is missing");
  const isSchema = (value: unknown) => typeof (value as { safeParse?: unknown } | undefined)?.safeParse === "function";
  for (const part of ["input", "context"] as const)
    if (!isSchema(schemas[part])) throw machineInvalid(id, `schemas.${part}`, "is not a zod schema");
  for (const part of ["events", "facts"] as const)
    for (const [type, schema] of Object.entries(schemas[part]))
      if (!isSchema(schema)) throw machineInvalid(id, `schemas.${part}.${type}`, "is not a zod schema");
  for (const [name, effect] of Object.entries(schemas.effects ?? {}))
    if (!isSchema(effect.params)) throw machineInvalid(id, `schemas.effects.${name}.params`, "is not a zod schema");
}

/** The events that only the engine may make because of this effect. */
function checkEffect(id: string, name: string, effect: EffectSchema, schemas: MachineSchemas): string[] {
  const bad = (problem: string, part = "") => machineInvalid(id, `schemas.effects.${name}${part}`, problem);
  if ((ENGINE_ACTIONS as readonly string[]).includes(name)) throw bad("has the name of an action of the engine");
  const types = [effect.done, effect.failed, effect.aborted].filter((type) => type !== undefined);
  for (const type of types) if (!Object.hasOwn(schemas.events, type)) throw bad(`names the event ${type}, which schemas.events lacks`);
  if (effect.delivery !== "at_least_once" && effect.delivery !== "at_most_once")
    throw bad("is neither at_least_once nor at_most_once", ".delivery");
  if (effect.delivery === "at_most_once" && !Object.hasOwn(schemas.events, "effect.unknown"))
    throw bad("is delivered at most once, so schemas.events must have effect.unknown");
  if (effect.delivery === "at_most_once" && (effect.attempts ?? 1) !== 1)
    throw bad("must be 1 for an effect that is delivered at most once", ".attempts");
  for (const limit of ["attempts", "concurrency"] as const) {
    const value = effect[limit];
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= 1)) throw bad("must be a whole number from 1", `.${limit}`);
  }
  for (const limit of ["timeoutMs", "backoffMs", "abortGraceMs"] as const) {
    const value = effect[limit];
    if (value !== undefined && value !== null && !(Number.isFinite(value) && value >= 0))
      throw bad("must be a number of milliseconds from 0", `.${limit}`);
  }
  return types;
}

function isEffect(schemas: MachineSchemas, name: string): boolean {
  return schemas.effects !== undefined && Object.hasOwn(schemas.effects, name);
}

function* nodes(node: AnyStateNode): Generator<AnyStateNode> {
  yield node;
  for (const child of Object.values(node.states)) yield* nodes(child as AnyStateNode);
}

function list(value: unknown): any[] {
  return value === undefined ? [] : Array.isArray(value) ? value : [value];
}

/** Every transition of a node, with its place. */
function* transitionsOf(node: AnyStateNode): Generator<[string, Record<string, any>]> {
  const config = node.config as Record<string, any>;
  const groups: [string, unknown][] = [
    ["always", config.always],
    ["onDone", config.onDone],
    ["initial", config.initial],
  ];
  for (const [type, value] of Object.entries(config.on ?? {})) groups.push([`on.${type}`, value]);
  for (const [where, value] of groups)
    for (const item of list(value)) if (item && typeof item === "object") yield [`${node.id}.${where}`, item];
}

function* actionsOf(node: AnyStateNode): Generator<[string, unknown]> {
  const config = node.config as Record<string, any>;
  for (const action of list(config.entry)) yield [`${node.id}.entry`, action];
  for (const action of list(config.exit)) yield [`${node.id}.exit`, action];
  for (const [where, transition] of transitionsOf(node)) for (const action of list(transition.actions)) yield [where, action];
}

function* guardsOf(node: AnyStateNode): Generator<[string, unknown]> {
  for (const [where, transition] of transitionsOf(node)) if (transition.guard !== undefined) yield [where, transition.guard];
}

function nameOfAction(id: string, where: string, action: unknown, machine: AnyStateMachine, schemas: MachineSchemas): string | undefined {
  if (typeof action === "function") {
    checkPure(id, where, action, "has an action without a name");
    return undefined;
  }
  const name = typeof action === "string" ? action : (action as { type?: string }).type;
  if (!name) throw machineInvalid(id, where, "has an action without a name");
  if (isEffect(schemas, name) || (ENGINE_ACTIONS as readonly string[]).includes(name)) return name;
  const implementation = (machine.implementations.actions as Record<string, unknown>)[name];
  checkPure(
    id,
    where,
    implementation,
    `has the action ${name}, which is neither an effect of schemas.effects nor one of XState's pure actions`,
  );
  return name;
}

function checkPure(id: string, where: string, implementation: unknown, otherwise: string): void {
  const { type, delay } = (implementation ?? {}) as { type?: string; delay?: unknown };
  if (type === undefined || !type.startsWith(BUILT_IN)) throw machineInvalid(id, where, otherwise);
  const name = type.slice(BUILT_IN.length);
  if (!PURE_ACTIONS.has(name)) throw machineInvalid(id, where, `uses ${name}, which has no durable meaning`);
  if (delay !== undefined) throw machineInvalid(id, where, "raises an event with a delay: durable timers are not supported yet");
}

function checkGuard(id: string, where: string, guard: unknown, machine: AnyStateMachine): void {
  // and(), or(), not() and stateIn() are functions that carry a check of their own; a bare function has no name to show.
  if (typeof guard === "function") {
    if (!("check" in guard)) throw machineInvalid(id, where, "has a guard without a name");
    for (const part of list((guard as { guards?: unknown }).guards)) checkGuard(id, where, part, machine);
    return;
  }
  const name = typeof guard === "string" ? guard : (guard as { type?: string }).type;
  if (!name || !(machine.implementations.guards as Record<string, unknown>)[name])
    throw machineInvalid(id, where, `has the guard ${String(name)}, which setup() does not define`);
}

/** What is wrong with a machine, and where in it. */
export function machineInvalid(id: string, path: string, problem: string): HoldfastError {
  return engineError("machine_invalid", `machine ${id || "(unnamed)"}: ${path} ${problem}`, { details: { machine: id, path } });
}
