/**
 * Machine check: everything in a machine that cannot be made durable, with its place and the way to write it instead.
 *
 * Guarantees: a machine without problems is registered; nothing in it will turn out at run time to have no durable meaning, except
 * what only a function knows: what `enqueueActions` enqueues and `assign` spawns. That fails its macrostep with a code.
 */

import type { AnyStateMachine, AnyStateNode } from "xstate";
import { ActionCheck } from "./action-check.ts";
import { ENGINE_ACTIONS, type MachineSchemas } from "./declaration.ts";
import { notDelay, setTimers } from "./delay.ts";
import { invokedLogic, kindOfLogic, type LogicKind } from "./invocation.ts";
import { notJson } from "./json.ts";
import type { MachineProblem, Report } from "./problem.ts";
import { checkAgainst, isSchema } from "./schema.ts";
import { checkSchemas } from "./schema-check.ts";
import { actionsOf, definedIn, guardsOf, invocationsOf, listOf, nodesOf } from "./structure.ts";
import { isVersion } from "./version.ts";

/** All problems of a machine, in its order; none where it can be registered. Never throws. */
export function checkMachine(machine: AnyStateMachine): readonly MachineProblem[] {
  const problems: MachineProblem[] = [];
  const report: Report = (path, problem, remedy) => problems.push({ path, problem, remedy });
  const schemas = (machine.schemas ?? {}) as Partial<MachineSchemas>;
  const invoked = new Set(invokedLogic(machine).keys());
  checkIdentity(machine, report);
  checkSchemas(machine, invoked, report);
  const actions = new ActionCheck(machine, invoked, report);
  const children = new Set<unknown>();
  for (const node of nodesOf(machine.root)) {
    checkEvents(node, schemas, report);
    checkOutput(node, report);
    checkInvocations(machine, node, schemas, children, report);
    for (const placed of actionsOf(node)) actions.action(placed);
    for (const placed of guardsOf(node)) actions.guard(placed);
  }
  checkTimers(machine, schemas, report);
  return problems;
}

function checkIdentity({ id, config }: AnyStateMachine, report: Report): void {
  const { version } = config as { version?: unknown };
  if (!/^[a-z][a-z0-9-]{0,63}$/.test(id))
    report("id", "must be 1 to 64 lower-case letters, digits and dashes, starting with a letter", 'write id: "order" or "work-plan"');
  if (version === undefined) report("version", "is missing", 'add version: "1" beside the id; raise it with each change');
  else if (!isVersion(version))
    report("version", 'must be one to three numbers with dots between, such as "2" or "1.4.0"', 'write version: "1"');
}

/** Transitions for events that cannot come. */
function checkEvents(node: AnyStateNode, { events }: Partial<MachineSchemas>, report: Report): void {
  const config = node.config as Record<string, any>;
  if (config.route !== undefined)
    report(
      `${node.id}.route`,
      "waits for xstate.route, and only the engine makes events of XState",
      `add an event with target "#${node.id}"`,
    );
  for (const type of Object.keys(config.on ?? {})) {
    const path = `${node.id}.on.${type}`;
    const isPattern = type === "*" || type.endsWith(".*");
    if (type.includes("*") && (!isPattern || type.slice(0, -1).includes("*")))
      report(path, "has a wildcard before its end, which XState never matches", 'end the pattern with ".*", or write "*"');
    else if (events && !isPattern && !type.startsWith("xstate.") && !Object.hasOwn(events, type))
      report(path, `takes the event ${type}, which schemas.events lacks`, `add ${JSON.stringify(type)} to schemas.events, or correct it`);
  }
}

function checkOutput(node: AnyStateNode, report: Report): void {
  const { output } = node.config as { output?: unknown };
  const found = output === undefined || typeof output === "function" ? undefined : notJson(output);
  if (found) report(`${node.id}.output`, `is not plain JSON at ${found}`, "give plain JSON, or one function that returns it");
}

const OTHER_LOGIC: Readonly<Record<Exclude<LogicKind, "promise">, string>> = {
  machine: "register the machine as a durable one of its own, and create its actor with the action `createActor`",
  transition: "write it as a machine and create a durable actor with the action `createActor`, or keep its state in the context",
  callback: "use fromPromise, or declare an effect, whose handler sends events to its actor with `send` while it works",
  observable: "declare an effect, whose handler sends an event for each value with `send`",
  unknown: "use fromPromise, or declare an effect",
};

function checkInvocations(
  machine: AnyStateMachine,
  node: AnyStateNode,
  schemas: Partial<MachineSchemas>,
  children: Set<unknown>,
  report: Report,
): void {
  for (const [index, { path, value }] of invocationsOf(node).entries()) {
    const { src, input, systemId, onSnapshot, syncSnapshot } = value as Record<string, unknown>;
    if (typeof src !== "string") {
      report(path, "invokes logic without a name", 'define it in setup({ actors: { load: fromPromise(…) } }), and invoke src: "load"');
      continue;
    }
    const logic = definedIn(machine, "actors", src);
    const kind = kindOfLogic(logic);
    if (logic === undefined)
      report(path, `invokes ${src}, which setup() does not define`, "define it in setup({ actors }), or correct the name");
    else if (kind !== "promise") report(path, `invokes ${src}, which is ${kind} logic and lives only in memory`, OTHER_LOGIC[kind]);
    if ((ENGINE_ACTIONS as readonly string[]).includes(src))
      report(path, `invokes ${src}, which is the name of an action of the engine`, "give the logic another name");
    if (onSnapshot !== undefined || syncSnapshot)
      report(path, "asks for snapshots of a child, and promise logic has none but its end", "leave onSnapshot out; use onDone");
    if (systemId !== undefined) report(path, "has a systemId, and there is no actor system", "leave it out; durable actors have addresses");
    const { id } = listOf(node.invoke)[index] as { id: unknown };
    if (typeof id !== "string") report(path, "has a child id that is no text", "give a text, or leave it out");
    else if (children.has(id)) report(path, `has the child id ${id}, which another invocation has`, "give it its own id, or leave it out");
    children.add(id);
    const schema = schemas.effects?.[src]?.params;
    if (typeof input === "function") continue;
    const found = input === undefined ? undefined : notJson(input);
    const fit = !found && isSchema(schema) ? checkAgainst(schema as never, input ?? null) : { ok: true as const };
    if (found) report(path, `has an input that is not plain JSON at ${found}`, "give plain JSON, or a function that returns it");
    else if (!fit.ok)
      report(path, `has an input that does not fit schemas.effects.${src}.params: ${fit.path} ${fit.message}`, "correct it");
  }
}

function checkTimers(machine: AnyStateMachine, { events }: Partial<MachineSchemas>, report: Report): void {
  const delayOf = new Map<string, unknown>();
  for (const { path, key, delay, raise } of setTimers(machine)) {
    const defined = typeof delay === "string" ? definedIn(machine, "delays", delay) : undefined;
    const isInline = raise ? typeof delay !== "string" : !Number.isNaN(Number(delay));
    if (isInline) {
      const written = typeof delay === "function" ? "({ context, event }) => …" : String(delay);
      const use = raise ? 'delay: "patience"' : "after: { patience: … }";
      report(path, "has a delay without a name", `name it in setup({ delays: { patience: ${written} } }), and write ${use}`);
    } else if (defined === undefined)
      report(path, `has the delay ${String(delay)}, which setup() does not define`, "define it in setup({ delays }), or correct the name");
    else if (typeof defined !== "function") {
      const problem = notDelay(defined);
      if (problem) report(`setup.delays.${String(delay)}`, problem, "give milliseconds, or a pure function that returns them");
    }
    if (raise && raise.id !== undefined && typeof raise.id !== "string")
      report(
        path,
        "raises a delayed event under an id that is no text",
        "give a text as the id, so that its timer is known after a restart",
      );
    else if (key === undefined)
      report(path, "raises a delayed event that only a function knows, without an id", 'give it one: raise(…, { delay, id: "reminder" })');
    else if (delayOf.has(key) && delayOf.get(key) !== delay)
      report(path, `sets the timer ${key} with another delay than elsewhere`, "give each of the two raises an id of its own");
    else delayOf.set(key, delay);
    const type = raise?.type;
    if (events && typeof type === "string" && !Object.hasOwn(events, type))
      report(path, `raises the event ${type}, which schemas.events lacks`, `add ${JSON.stringify(type)} to schemas.events`);
  }
}
