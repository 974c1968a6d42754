/** Trace: which transitions a machine takes, and what its guards answer, while a body runs. */

import type { AnyMachineSnapshot, AnyStateMachine, AnyStateNode } from "xstate";
import { type Registration, register } from "../actor/registration.ts";
import { activeNodes, scope } from "../actor/scope.ts";
import { nodesOf } from "../actor/structure.ts";
import { GuardUses } from "./path-guard.ts";

/** What was seen of a machine. */
export interface Trace {
  /** Ids of transitions; see `Watched.transitions`. */
  readonly transitions: ReadonlySet<string>;
  /** `<guard>: yes` or `<guard>: no`, the guard with its params. */
  readonly guards: ReadonlySet<string>;
  /** Ids of the state nodes that were active after a microstep: also of what is left at once. */
  readonly nodes: ReadonlySet<string>;
}

/** A transition of a machine's definition. */
export interface Arrow {
  /** `<state node id>|<event type>|<index among those of this event>`: the same for every copy of the machine. */
  readonly id: string;
  /** For people: `order.open: order.pay -> order.charging`. */
  readonly text: string;
}

/** What XState shows of a microstep. */
interface Inspected {
  readonly _transitions?: readonly object[];
  readonly snapshot: AnyMachineSnapshot;
}

interface Transition {
  readonly eventType: string;
  guard?: unknown;
  readonly target?: readonly { readonly id: string }[];
}

/** A copy of a machine that tells what it does. */
export class Watched {
  readonly registration: Registration;
  readonly transitions: readonly Arrow[];
  /** Names of the guards that `setup()` defines, each with the params that it is used with. */
  readonly guards: readonly string[];
  readonly #ids = new Map<object, string>();
  #answers = new Set<string>();

  /** Throws `machine_invalid`. */
  constructor(machine: AnyStateMachine) {
    // A copy of its own: what the engine runs for others stays as it is.
    this.registration = register(machine.provide({}));
    const uses = new GuardUses(this.registration.machine, (answer) => this.#answers.add(answer));
    this.transitions = arrowsOf(this.registration.machine, (transition, id) => {
      this.#ids.set(transition, id);
      if (transition.guard !== undefined) transition.guard = uses.of(transition.guard, id);
    });
    this.guards = uses.names;
  }

  /** Runs `body`, and gives what it returns with what the machine did meanwhile. */
  watch<T>(body: () => T): { readonly result: T; readonly trace: Trace } {
    const transitions = new Set<string>();
    const nodes = new Set<string>();
    this.#answers = new Set();
    const inspected = scope.system as { _sendInspectionEvent: (event: any) => void };
    const before = inspected._sendInspectionEvent;
    inspected._sendInspectionEvent = ({ _transitions = [], snapshot }: Inspected) => {
      for (const node of activeNodes(snapshot)) nodes.add(node);
      for (const transition of _transitions) {
        const id = this.#ids.get(transition);
        if (id !== undefined) transitions.add(id);
      }
    };
    try {
      return { result: body(), trace: { transitions, guards: this.#answers, nodes } };
    } finally {
      inspected._sendInspectionEvent = before;
    }
  }
}

/** The transitions of a machine in document order. */
export function arrowsOf(machine: AnyStateMachine, note: (transition: Transition, id: string) => void = () => {}): Arrow[] {
  const arrows: Arrow[] = [];
  for (const node of nodesOf(machine.root))
    for (const [type, transitions] of groupsOf(node))
      transitions.forEach((transition, index) => {
        const id = arrowId(node, type, index);
        const guard = transition.guard === undefined ? "" : ` [${guardName(transition.guard)}]`;
        const target = transition.target?.map((one) => one.id).join(", ") ?? "(stays)";
        arrows.push({ id, text: `${node.id}: ${type || "(always)"}${guard} -> ${target}` });
        note(transition, id);
      });
  return arrows;
}

/** The id of a transition: the `index`-th of its state for an event; the type of `always` is empty. */
export function arrowId(node: AnyStateNode, type: string, index: number): string {
  return `${node.id}|${type}|${index}`;
}

function groupsOf(node: AnyStateNode): [string, readonly Transition[]][] {
  const always = (node.always ?? []) as readonly Transition[];
  return [...(node.transitions as ReadonlyMap<string, readonly Transition[]>), ["", always]];
}

function guardName(guard: unknown): string {
  if (typeof guard === "string") return guard;
  const { type, guards, name } = guard as { type?: string; guards?: readonly unknown[]; name?: string };
  if (guards) return `${name ?? "all"}(${guards.map(guardName).join(", ")})`;
  return type ?? name ?? "unnamed";
}
