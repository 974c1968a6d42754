/** Action check: the actions and guards of a machine, each of which must be something that a pure transition can end. */

import type { AnyStateMachine } from "xstate";
import { ENGINE_ACTIONS, type MachineSchemas } from "./declaration.ts";
import { messageOf } from "./error.ts";
import { notJson } from "./json.ts";
import type { Report } from "./problem.ts";
import { checkAgainst, isSchema } from "./schema.ts";
import { type BuiltIn, builtInName, definedIn, listOf, nameOf, type Placed } from "./structure.ts";

/** XState's own actions that end within a pure transition, or leave a request to the engine. */
const PURE_ACTIONS: ReadonlySet<string> = new Set(["assign", "emit", "raise", "cancel", "enqueueActions", "log"]);

/** XState's own actions that act on live actors, and what to write instead. */
const LIVE_ACTIONS: Readonly<Record<string, string>> = {
  sendTo: "tell another durable actor with `deliver({ to, event })`; for an event to the machine itself use `raise`",
  spawnChild: "invoke named promise logic, or create a durable actor with the action `createActor`",
  stopChild: "leave the state that invokes it, or withdraw an effect with the action `cancelEffect`",
};

const NAME_ACTION =
  "define it in setup({ actions }) under a name: `assign` for context, `emit` for a fact, `effect()` with schemas.effects for outside work";

/** Checks actions and guards. `invoked` names the promise logic that states invoke. */
export class ActionCheck {
  readonly #machine: AnyStateMachine;
  readonly #effects: NonNullable<MachineSchemas["effects"]>;
  readonly #facts: MachineSchemas["facts"] | undefined;
  readonly #invoked: ReadonlySet<string>;
  readonly #report: Report;

  constructor(machine: AnyStateMachine, invoked: ReadonlySet<string>, report: Report) {
    this.#machine = machine;
    const { effects, facts } = (machine.schemas ?? {}) as Partial<MachineSchemas>;
    this.#effects = effects ?? {};
    this.#facts = facts;
    this.#invoked = invoked;
    this.#report = report;
  }

  /** Checks an action where it is used; returns the name of the effect that it requests, if it does. */
  action({ path, value }: Placed): string | undefined {
    const name = nameOf(value);
    if (name === undefined) {
      if (builtInName(value) === undefined) this.#report(path, "has an action without a name", NAME_ACTION);
      else this.#builtIn(path, "", value);
      return undefined;
    }
    const defined = definedIn(this.#machine, "actions", name);
    const isEngine = (ENGINE_ACTIONS as readonly string[]).includes(name);
    const isEffect = Object.hasOwn(this.#effects, name);
    if (builtInName(defined) !== undefined) {
      if (isEngine || isEffect)
        this.#report(
          path,
          `has the action ${name}, which is ${isEngine ? "an action of the engine" : "an effect"} and which setup() defines as ${builtInName(defined)}`,
          isEngine ? "spread `engineActions` into setup({ actions }), and rename yours" : `define it as effect(), and rename yours`,
        );
      else this.#builtIn(path, name, defined);
      return undefined;
    }
    if (this.#invoked.has(name)) {
      this.#report(
        path,
        `requests the effect ${name}, which is promise logic that a state invokes`,
        "give one of the two another name: an effect of actions has a `done` event, promise logic its onDone",
      );
      return undefined;
    }
    const { params } = value as BuiltIn;
    if (isEngine) this.#engineParams(path, name, params);
    else if (isEffect) this.#effectParams(path, name, params);
    else
      this.#report(
        path,
        `has the action ${name}, which is neither an effect of schemas.effects nor one of XState's pure actions`,
        defined === undefined
          ? `define it in setup({ actions }), or declare schemas.effects.${name}`
          : `a function would run again with each replay: declare schemas.effects.${name} and give its handler, or use assign or emit`,
      );
    return isEffect ? name : undefined;
  }

  #builtIn(path: string, name: string, action: unknown): void {
    const kind = builtInName(action) as string;
    const said = name === "" ? `uses ${kind}` : `uses ${kind} as ${name}`;
    if (!PURE_ACTIONS.has(kind))
      this.#report(path, `${said}, which has no durable meaning`, LIVE_ACTIONS[kind] ?? "use an effect, or an action of the engine");
    const type = ((action as BuiltIn).event as { type?: unknown } | null | undefined)?.type;
    if (kind === "emit" && typeof type === "string" && this.#facts && !Object.hasOwn(this.#facts, type))
      this.#report(path, `emits the fact ${type}, which schemas.facts lacks`, `add ${JSON.stringify(type)} to schemas.facts`);
  }

  #effectParams(path: string, name: string, params: unknown): void {
    const schema = this.#effects[name]?.params;
    if (typeof params === "function" || !isSchema(schema)) return;
    this.#jsonParams(path, name, params);
    const fit = checkAgainst(schema, params ?? {});
    if (!fit.ok)
      this.#report(
        path,
        `requests the effect ${name} with params that do not fit its schema: ${fit.path} ${fit.message}`,
        `write { type: ${JSON.stringify(name)}, params: … } with what schemas.effects.${name}.params asks for`,
      );
  }

  #engineParams(path: string, name: string, params: unknown): void {
    if (typeof params === "function") return;
    const given = (params ?? {}) as Record<string, any>;
    this.#jsonParams(path, name, params);
    const needs = (problem: string, remedy: string) => this.#report(path, `has the action ${name} ${problem}`, remedy);
    if (name === "deliver" && given.to !== null && (typeof given.to !== "string" || typeof given.event?.type !== "string"))
      needs("without `to` or `event`", '{ type: "deliver", params: { to: "<machine>/<id>", event: { type: … } } }');
    if (name === "createActor" && (typeof given.machine !== "string" || typeof given.id !== "string"))
      needs("without `machine` or `id`", '{ type: "createActor", params: { machine: …, id: …, input: {} } }');
    if (name !== "cancelEffect" && name !== "abortEffect") return;
    const effect = String(given.effect);
    if (!Object.hasOwn(this.#effects, effect) && !this.#invoked.has(effect))
      needs(`for ${effect}, which is no effect`, "name an effect of schemas.effects");
    else if (name === "abortEffect" && !this.#effects[effect]?.aborted)
      needs(`for ${effect}, which declares no \`aborted\` event`, `declare schemas.effects.${effect}.aborted, or use cancelEffect`);
  }

  #jsonParams(path: string, name: string, params: unknown): void {
    const found = params === undefined ? undefined : notJson(params);
    if (found) this.#report(path, `has the action ${name} with params that are not plain JSON at ${found}`, "give plain JSON");
  }

  /** Checks a guard, and the guards that it is made of. */
  guard({ path, value }: Placed): void {
    this.#guard(path, value, new Set());
  }

  #guard(path: string, guard: unknown, within: ReadonlySet<string>): void {
    const name = nameOf(guard);
    if (name !== undefined) {
      const defined = definedIn(this.#machine, "guards", name);
      if (defined === undefined)
        this.#report(path, `has the guard ${name}, which setup() does not define`, "define it in setup({ guards }), or correct the name");
      else if (within.has(name)) this.#report(path, `has the guard ${name}, which is made of itself`, "take the circle out");
      else if (typeof defined !== "function" || "guards" in defined || "stateValue" in defined)
        this.#guard(path, defined, new Set([...within, name]));
      return;
    }
    // and(), or(), not() and stateIn() are functions that carry a check of their own; a bare function has no name to show.
    if (typeof guard !== "function" || !("check" in guard)) {
      this.#report(path, "has a guard without a name", "define it in setup({ guards }), and name it here");
      return;
    }
    const { guards, stateValue } = guard as { guards?: unknown; stateValue?: unknown };
    // Within a guard that has a name, a part needs none.
    for (const part of listOf(guards))
      if (within.size === 0 || typeof part !== "function" || "check" in part) this.#guard(path, part, within);
    if (typeof stateValue === "string" && stateValue.startsWith("#")) this.#state(path, stateValue);
  }

  #state(path: string, id: string): void {
    try {
      this.#machine.getStateNodeById(id);
    } catch (error) {
      this.#report(path, `asks for the state ${id}, which is none: ${messageOf(error)}`, "name a state by its id, such as #machine.state");
    }
  }
}
