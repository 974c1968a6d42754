/**
 * Scope: the actor that XState is shown while it computes a transition, and that does nothing.
 *
 * Guarantees: what a machine asks for is noted, with the microstep that asked and the state whose entry it was; nothing is executed.
 */

import type { AnyMachineSnapshot, AnyStateMachine } from "xstate";
import { nameOf, nodesOf } from "./structure.ts";

/** Microsteps in one transition. XState has no bound of its own, and would go round for ever. */
const MICROSTEP_LIMIT = 10_000;

/** An action as XState resolved it. */
export interface Act {
  readonly type: string;
  readonly params: any;
  readonly step: number;
}

/** XState's view of the engine: an actor that does nothing, and notes what each microstep asks for. */
class Scope {
  readonly id = "durable";
  readonly sessionId = "durable";
  readonly logger = nothing;
  readonly defer = nothing;
  readonly stopChild = nothing;
  readonly emit = nothing;
  readonly system = {
    get: nothing,
    inspect: nothing,
    _relay: nothing,
    // The children of invocations (see invocation.ts) are made, and never started.
    _bookId: () => "durable",
    _sendInspectionEvent: nothing,
  };
  readonly self = { id: "durable", sessionId: "durable", system: this.system, send: nothing, on: nothing };
  acts: Act[] = [];
  step = -1;
  readonly #note = ({ type, params }: Act) => this.acts.push({ type, params, step: this.step });
  #executor: (action: Act) => void = this.#note;

  /** XState puts its own executor in front at the start of each microstep, and this one back at its end. */
  get actionExecutor(): (action: Act) => void {
    return this.#executor;
  }

  set actionExecutor(executor: (action: Act) => void) {
    if (executor !== this.#note && ++this.step === MICROSTEP_LIMIT)
      throw new Error(`it did not come to rest within ${MICROSTEP_LIMIT} microsteps: its transitions lead in a circle`);
    this.#executor = executor;
  }

  reset(): void {
    this.acts = [];
    this.step = -1;
  }
}

function nothing(): void {}

// One inert scope serves all transitions: they are synchronous, so only one is under way at a time.
export const scope = new Scope();

/** Type of the action that stands before each effect in a state's entry and says whose entry it is: XState tells nobody. */
export const ENTERED = "engine.entered";

/** Puts that action into a machine that is the engine's own copy. `requests`: true for the name of an effect. */
export function marked(machine: AnyStateMachine, requests: (name: string) => boolean): AnyStateMachine {
  for (const node of nodesOf(machine.root))
    node.entry = node.entry.flatMap((action) =>
      requests(nameOf(action) ?? "") ? [{ type: ENTERED, params: { node: node.id } } as never, action] : [action],
    );
  return machine;
}

/** Ids of the state nodes that are active in a snapshot. */
export function activeNodes(snapshot: AnyMachineSnapshot): ReadonlySet<string> {
  return new Set((snapshot as unknown as { _nodes: { id: string }[] })._nodes.map((node) => node.id));
}
