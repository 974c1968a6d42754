/**
 * Registration: what the engine must know of a machine before it runs one.
 *
 * Owns: the machine as it is run.
 * Refuses, with `machine_invalid`, what machine-check.ts finds: what has no name, no schema, or no durable meaning.
 */

import type { AnyStateMachine } from "xstate";
import type { EffectSchema, MachineSchemas, StandardSchema } from "./declaration.ts";
import { definitionOf } from "./definition.ts";
import { checkedDelays, type DelayDeclaration, setTimers } from "./delay.ts";
import { engineError, type HoldfastError } from "./error.ts";
import type { EffectHandler } from "./handler.ts";
import { type Invocation, invocationsByChild, invokedLogic, promiseHandlers, standIns } from "./invocation.ts";
import { checkMachine } from "./machine-check.ts";
import { marked } from "./scope.ts";
import type { TimerPolicy } from "./store.ts";
import { nodesOf } from "./structure.ts";

export type { EffectSchema, MachineSchemas, Migration, StoredActor, StoredEffect, StoredTimer } from "./declaration.ts";
export type { DelayDeclaration } from "./delay.ts";
export type { Invocation } from "./invocation.ts";

/** A machine as the engine knows it. */
export interface Registration {
  /** The machine as the engine runs it: its promise logic stands in, and does nothing. */
  readonly machine: AnyStateMachine;
  /** The machine as it was given. */
  readonly source: AnyStateMachine;
  readonly id: string;
  readonly version: string;
  /** Digest of the definition: structure and names; the bodies of functions and schemas are not seen by it. */
  readonly definition: string;
  /** True where several states can be active side by side. */
  readonly isParallel: boolean;
  readonly schemas: MachineSchemas;
  /** All effects: the declared ones, and one for each invoked promise logic. */
  readonly effects: ReadonlyMap<string, EffectSchema>;
  /** By child id. */
  readonly invocations: ReadonlyMap<string, Invocation>;
  /** Handlers that come with the machine, by effect name: its own promise logic. */
  readonly handlers: Readonly<Record<string, EffectHandler>>;
  /** By timer id; for a delayed raise without id, by its event type. */
  readonly delays: ReadonlyMap<string, DelayDeclaration>;
  /** Event types that only the engine may make for this machine (ACT-9). */
  readonly reserved: ReadonlySet<string>;
}

const ANYTHING: StandardSchema = { "~standard": { version: 1, vendor: "holdfast", validate: (value) => ({ value }) } };

/** Invoked promise logic whose machine declares no limits: tried once, as XState does, and again only after a crash. */
const INVOKED: EffectSchema = { params: ANYTHING, delivery: "at_least_once", attempts: 1 };

/** Of machines that were registered before: the check and the digest of one walk all of it. */
const registrations = new WeakMap<AnyStateMachine, Registration>();

/**
 * Checks a machine and prepares it for the engine, once: what is changed in a machine, or in its schemas, after that is not looked at.
 * Throws `machine_invalid` with the first problem and the number of the others.
 */
export function register(machine: AnyStateMachine): Registration {
  const registration = registrations.get(machine) ?? registered(machine);
  registrations.set(machine, registration);
  return registration;
}

function registered(machine: AnyStateMachine): Registration {
  const [first, ...others] = checkMachine(machine);
  if (first) throw machineInvalid(machine.id, first.path, first.problem, first.remedy, others.length);
  const schemas = machine.schemas as MachineSchemas;
  const invoked = invokedLogic(machine);
  const effects = new Map<string, EffectSchema>(Object.entries(schemas.effects ?? {}));
  for (const name of invoked.keys()) if (!effects.has(name)) effects.set(name, INVOKED);
  const delays = new Map<string, DelayDeclaration>();
  for (const { key, delay } of setTimers(machine))
    delays.set(key as string, { delay: delay as string, policy: policyOf(schemas, delay as string) });
  return {
    machine: runnable(machine, schemas, invoked.keys(), new Set([...delays.values()].map(({ delay }) => delay))),
    source: machine,
    id: machine.id,
    version: (machine.config as { version: string }).version,
    definition: definitionOf(machine),
    isParallel: [...nodesOf(machine.root)].some(({ type }) => type === "parallel"),
    schemas,
    effects,
    invocations: invocationsByChild(machine, invoked),
    handlers: promiseHandlers(machine, invoked),
    delays,
    reserved: new Set(
      [...effects.values()].flatMap(({ done, failed, aborted }) => [done, failed, aborted]).filter((type) => type !== undefined),
    ),
  };
}

/** The machine with its promise logic replaced by what stands in, its delays held to give numbers, and its entries marked. */
function runnable(machine: AnyStateMachine, schemas: MachineSchemas, logic: Iterable<string>, names: Iterable<string>): AnyStateMachine {
  const [actors, delays, effects] = [standIns(logic), checkedDelays(machine, names), schemas.effects ?? {}];
  if ([actors, delays, effects].every((part) => Object.keys(part).length === 0)) return machine;
  return marked(machine.provide({ actors, delays } as never), (name) => Object.hasOwn(effects, name));
}

/** By its own name only: a delay may be called as something that every object has. */
function policyOf({ delays = {} }: MachineSchemas, delay: string): TimerPolicy {
  return Object.hasOwn(delays, delay) ? (delays[delay] as TimerPolicy) : "absolute";
}

/** What is wrong with a machine, where in it, and how to write it instead. */
export function machineInvalid(id: string, path: string, problem: string, remedy?: string, others = 0): HoldfastError {
  const more = others === 0 ? "" : ` (and ${others} more; \`holdfast machine check FILE\` lists all)`;
  return engineError("machine_invalid", `machine ${id || "(unnamed)"}: ${path} ${problem}${remedy ? `; ${remedy}` : ""}${more}`, {
    details: { machine: id, path, problems: others + 1, ...(remedy ? { remedy } : {}) },
  });
}
