/**
 * Guard uses: the guards of a machine, made to tell what they answer. Uses of one guard with other params are told apart.
 *
 * Only names are told of: `stateIn()` that stands in a transition has none, and neither have `and()`, `or()` and `not()`, but their parts
 * may have.
 */

import type { AnyStateMachine } from "xstate";
import { type BuiltIn, nameOf } from "../actor/structure.ts";

/** What a name stands for: a function, or what XState made of others, which has a check of its own. */
type Implementation = ((...args: any[]) => boolean) & {
  readonly check?: (...args: any[]) => boolean;
  readonly guards?: readonly unknown[];
};

/** The guards of one machine, which is changed. */
export class GuardUses {
  readonly #given: Readonly<Record<string, Implementation>>;
  readonly #telling: Record<string, Implementation>;
  readonly #note: (answer: string) => void;
  /** By the guard's name, what its uses in transitions are called. */
  readonly #uses = new Map<string, Set<string>>();

  /** `note` is given `<use>: yes` or `<use>: no`. */
  constructor(machine: AnyStateMachine, note: (answer: string) => void) {
    this.#telling = machine.implementations.guards as Record<string, Implementation>;
    this.#given = { ...this.#telling };
    this.#note = note;
    for (const name of Object.keys(this.#given)) this.#tell(name, name, name);
  }

  /** The uses of all guards; one that is in no transition may be asked for by an action. */
  get names(): string[] {
    return Object.keys(this.#given).flatMap((name) => [...(this.#uses.get(name) ?? [name])]);
  }

  /** What stands in for the guard of a transition. `place` tells a use from others whose params are computed too. */
  of(guard: unknown, place: string): unknown {
    const name = nameOf(guard);
    if (name === undefined) return this.#parted(guard, place);
    const { params } = Object(guard) as BuiltIn;
    const use = params === undefined ? name : `${name} ${typeof params === "function" ? `of ${place}` : JSON.stringify(params)}`;
    this.#uses.set(name, (this.#uses.get(name) ?? new Set()).add(use));
    if (!Object.hasOwn(this.#telling, use)) this.#tell(use, name, place);
    return params === undefined ? guard : { type: use, params };
  }

  /** Makes the guard of a name tell its answers as those of a use. */
  #tell(use: string, name: string, place: string): void {
    const given = this.#given[name] as Implementation;
    const noted = (answer: boolean): boolean => {
      this.#note(`${use}: ${answer ? "yes" : "no"}`);
      return answer;
    };
    const { check } = given;
    this.#telling[use] = check
      ? Object.assign(this.#parted(given, place) as Implementation, { check: (...args: any[]) => noted(check(...args)) })
      : (...args) => noted(given(...args));
  }

  /** A copy of what XState made of other guards, made of those that tell. */
  #parted(guard: unknown, place: string): unknown {
    if (typeof guard !== "function" || !("check" in guard)) return guard;
    const { guards } = guard as Implementation;
    const parts = guards === undefined ? {} : { guards: guards.map((part) => this.of(part, place)) };
    return Object.assign(() => false, guard, parts);
  }
}
