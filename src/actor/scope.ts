/**
 * Scope: the actor that XState is shown while it computes a transition, and that does nothing.
 *
 * Guarantees: what a machine asks for is noted, with the microstep that asked and the states active at that microstep's end; nothing
 * is executed.
 */

import type { AnyMachineSnapshot, AnyStateNode } from "xstate";

/** An action as XState resolved it. */
export interface Act {
  readonly type: string;
  readonly params: any;
  readonly step: number;
}

/** XState's view of the engine: an actor that does nothing, and notes what each microstep asks for and where it ends. */
class Scope {
  readonly id = "durable";
  readonly sessionId = "durable";
  readonly logger = nothing;
  readonly defer = nothing;
  readonly stopChild = nothing;
  readonly emit = nothing;
  readonly system = {
    scheduler: { schedule: nothing, cancel: nothing },
    get: nothing,
    inspect: nothing,
    _relay: nothing,
    _sendInspectionEvent: (event: { type: string; snapshot: AnyMachineSnapshot }) => {
      if (event.type === "@xstate.microstep") this.nodes[this.step] = () => activeNodes(event.snapshot);
    },
  };
  readonly self = { id: "durable", sessionId: "durable", system: this.system, send: nothing, on: nothing };
  acts: Act[] = [];
  step = -1;
  /** The states that were active at the end of each microstep; XState reports all but the first of a new actor. */
  nodes: (() => ReadonlySet<string>)[] = [];
  readonly #note = ({ type, params }: Act) => this.acts.push({ type, params, step: this.step });
  #executor: (action: Act) => void = this.#note;

  /** XState puts its own executor in front at the start of each microstep, and this one back at its end. */
  get actionExecutor(): (action: Act) => void {
    return this.#executor;
  }

  set actionExecutor(executor: (action: Act) => void) {
    if (executor !== this.#note) this.step++;
    this.#executor = executor;
  }

  reset(): void {
    this.acts = [];
    this.nodes = [];
    this.step = -1;
  }
}

function nothing(): void {}

// One inert scope serves all transitions: they are synchronous, so only one is under way at a time.
export const scope = new Scope();

/** Ids of the nodes that a machine enters first. */
export function initialNodes(node: AnyStateNode): string[] {
  const children = node.type === "parallel" ? Object.values(node.states) : (node.initial?.target ?? []);
  return [node.id, ...(children as AnyStateNode[]).flatMap(initialNodes)];
}

/** Ids of the state nodes that are active in a snapshot. */
export function activeNodes(snapshot: AnyMachineSnapshot): ReadonlySet<string> {
  return new Set((snapshot as unknown as { _nodes: { id: string }[] })._nodes.map((node) => node.id));
}
