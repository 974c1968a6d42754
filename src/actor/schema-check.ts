/**
 * Schema check: what a machine passes as `schemas` to `setup()`.
 *
 * Of a schema it proves that it is one; of an object schema of zod also that it leaves `type` and `stamp` to the engine. Any other schema
 * that asks for these, or that gives a promise instead of an answer, is found out by the first value that is held against it.
 */

import type { AnyStateMachine } from "xstate";
import { DISCARDED, type EffectSchema, ENGINE_ACTIONS, type MachineSchemas, MIGRATED } from "./declaration.ts";
import type { Report } from "./problem.ts";
import { isSchema } from "./schema.ts";
import { definedIn } from "./structure.ts";
import { compareVersions, isVersion } from "./version.ts";

const SHOW_SCHEMA = "z.strictObject({ … }), from zod, or another Standard Schema";
const PARTS = ["input", "context", "events", "facts"] as const;
const POLICIES: readonly unknown[] = ["absolute", "remaining", "restart"];
/** No machine takes these: a fold knows by them what the engine has written by itself. */
const OWN_TYPES: ReadonlySet<string> = new Set([MIGRATED, DISCARDED]);
const EFFECT_PARTS = new Set([
  "params",
  "done",
  "failed",
  "aborted",
  "delivery",
  "timeoutMs",
  "attempts",
  "backoffMs",
  "backoffFactor",
  "backoffLimitMs",
  "concurrency",
  "abortGraceMs",
]);

/** Checks all schemas. `invoked` names the promise logic that states invoke. */
export function checkSchemas(machine: AnyStateMachine, invoked: ReadonlySet<string>, report: Report): void {
  const schemas = machine.schemas as MachineSchemas;
  if (!isRecord(schemas)) {
    report("schemas", "are missing", "pass `schemas: { input, context, events, facts }` to `setup()`");
    return;
  }
  for (const part of PARTS) {
    const given = schemas[part] as unknown;
    const isList = part === "events" || part === "facts";
    if (given === undefined)
      report(`schemas.${part}`, "is missing", isList ? `${part}: { "a.type": ${SHOW_SCHEMA} }` : `${part}: ${SHOW_SCHEMA}`);
    else if (!isList && !isSchema(given)) report(`schemas.${part}`, "is no schema", `write ${SHOW_SCHEMA}`);
    else if (isList && !isRecord(given)) report(`schemas.${part}`, "is no record of schemas", `${part}: { "a.type": ${SHOW_SCHEMA} }`);
    else if (isList) checkTypes(part, given as Record<string, unknown>, report);
  }
  for (const part of ["refusal", "supervisor"] as const)
    if (schemas[part] !== undefined && typeof schemas[part] !== "function")
      report(`schemas.${part}`, "is no function", "give a pure function");
  for (const part of ["effects", "delays", "migrations"] as const)
    if (schemas[part] !== undefined && !isRecord(schemas[part])) report(`schemas.${part}`, "is no record", `${part}: { name: … }`);
  for (const [name, effect] of entriesOf<EffectSchema>(schemas.effects)) checkEffect(name, effect, schemas, invoked.has(name), report);
  for (const [name, policy] of entriesOf(schemas.delays)) {
    if (definedIn(machine, "delays", name) === undefined)
      report(
        `schemas.delays.${name}`,
        "names a delay that setup() does not define",
        `define ${name} in setup({ delays }), or correct the name`,
      );
    if (!POLICIES.includes(policy)) report(`schemas.delays.${name}`, "has an unknown policy", 'write "absolute", "remaining" or "restart"');
  }
  checkMigrations(machine, schemas, report);
}

function checkTypes(part: string, types: Record<string, unknown>, report: Report): void {
  for (const [type, schema] of Object.entries(types)) {
    if (!isSchema(schema)) report(`schemas.${part}.${type}`, "is no schema", `write ${SHOW_SCHEMA}`);
    if (type === "" || type.includes("*")) report(`schemas.${part}.${type}`, "is a pattern and no type", "name the types one by one");
    if (part === "events" && OWN_TYPES.has(type))
      report(`schemas.events.${type}`, "is an entry that the engine writes by itself", "leave it out: no machine is asked about it");
    if (isRecord(schema) && isRecord(schema.shape) && part === "events" && ("stamp" in schema.shape || "type" in schema.shape))
      report(`schemas.${part}.${type}`, "declares `type` or `stamp`", "leave both out: the type is the key, and the engine adds its stamp");
  }
}

function checkEffect(name: string, effect: EffectSchema, schemas: MachineSchemas, isInvoked: boolean, report: Report): void {
  const path = `schemas.effects.${name}`;
  if (!isRecord(effect)) {
    report(path, "is no declaration", "write { params, done, delivery }");
    return;
  }
  if ((ENGINE_ACTIONS as readonly string[]).includes(name)) report(path, "has the name of an action of the engine", "give it another name");
  if (!isSchema(effect.params)) report(`${path}.params`, "is no schema", `write ${SHOW_SCHEMA}`);
  for (const part of Object.keys(effect))
    if (!EFFECT_PARTS.has(part))
      report(`${path}.${part}`, "is nothing that an effect declares", `the parts are ${[...EFFECT_PARTS].join(", ")}`);
  for (const part of ["done", "failed", "aborted"] as const) {
    const type = effect[part];
    if (isInvoked && type !== undefined)
      report(
        `${path}.${part}`,
        "is declared for promise logic that a state invokes",
        "leave it out: use the invocation's onDone and onError",
      );
    else if (type !== undefined && !Object.hasOwn(schemas.events ?? {}, type))
      report(path, `names the event ${type}, which schemas.events lacks`, `add ${JSON.stringify(type)} to schemas.events`);
  }
  if (!isInvoked && effect.done === undefined)
    report(`${path}.done`, "is missing", "name the event that brings the result; only invoked promise logic has one of its own");
  checkDelivery(path, effect, schemas, report);
  checkLimits(path, effect, report);
}

function checkDelivery(path: string, { delivery, attempts }: EffectSchema, schemas: MachineSchemas, report: Report): void {
  if (delivery !== "at_least_once" && delivery !== "at_most_once")
    report(`${path}.delivery`, "is neither at_least_once nor at_most_once", 'write "at_least_once" where a repetition does no harm');
  if (delivery !== "at_most_once") return;
  if (!Object.hasOwn(schemas.events ?? {}, "effect.unknown"))
    report(
      path,
      "is delivered at most once, so schemas.events must have effect.unknown",
      'add "effect.unknown": z.strictObject({ effect: z.string(), name: z.string() })',
    );
  if ((attempts ?? 1) !== 1) report(`${path}.attempts`, "must be 1 for an effect that is delivered at most once", "leave it out");
}

function checkLimits(path: string, effect: EffectSchema, report: Report): void {
  for (const limit of ["attempts", "concurrency"] as const) {
    const value = effect[limit];
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= 1))
      report(`${path}.${limit}`, "must be a whole number from 1", "correct it, or leave it out for the default");
  }
  for (const limit of ["timeoutMs", "backoffMs", "backoffLimitMs", "abortGraceMs"] as const) {
    const value = effect[limit];
    if (limit === "timeoutMs" && value === null) continue;
    if (value !== undefined && !(Number.isFinite(value) && (value as number) >= 0))
      report(`${path}.${limit}`, "must be a number of milliseconds from 0", "correct it, or leave it out for the default");
  }
  const { backoffFactor } = effect;
  if (backoffFactor !== undefined && !(Number.isFinite(backoffFactor) && backoffFactor >= 1))
    report(`${path}.backoffFactor`, "must be a number from 1", "correct it, or leave it out for the default, 2");
}

/** Every chain of migrations must end at the machine's own version, and go upwards, so that it ends at all. */
function checkMigrations(machine: AnyStateMachine, schemas: MachineSchemas, report: Report): void {
  const migrations = new Map(entriesOf(schemas.migrations));
  const own = (machine.config as { version?: unknown }).version;
  for (const [from, migration] of migrations) {
    const path = `schemas.migrations.${from}`;
    const { to, migrate } = (migration ?? {}) as { to?: unknown; migrate?: unknown };
    if (!isVersion(from)) report(path, "is no version", 'use the older version as the key, such as "1" or "1.4.0"');
    if (typeof migrate !== "function") report(`${path}.migrate`, "is no function", "migrate: (stored) => ({ ...stored, context: … })");
    if (!isVersion(to)) report(`${path}.to`, "is no version", 'name the version that it leads to, such as "2"');
    else if (isVersion(from) && compareVersions(from, to) >= 0)
      report(`${path}.to`, "is not newer than its key", "migrations lead to later versions");
    else if (isVersion(own) && to !== own && compareVersions(to, own) >= 0)
      report(`${path}.to`, `leads beyond or beside the machine's own version, ${own}`, `lead to ${own}, or to a version before it`);
    else if (isVersion(own) && to !== own && !migrations.has(to))
      report(
        `${path}.to`,
        `leads to ${to}, from where no migration leads on`,
        `add schemas.migrations[${JSON.stringify(to)}], or lead to ${own}`,
      );
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function entriesOf<Value>(value: Readonly<Record<string, Value>> | undefined): [string, Value][] {
  return isRecord(value) ? (Object.entries(value) as [string, Value][]) : [];
}
