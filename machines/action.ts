/**
 * Actions that the engine carries out for a machine, and the way to declare an effect. They do nothing by themselves, so a machine
 * that uses them stays a plain `setup().createMachine()`; the engine reads their names and params.
 */

/** An event for another actor. */
export interface DeliveredEvent {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** Tells another durable actor, `<machine>/<id>`, in the same commit. `to: null` tells nobody. */
export function deliver(_: unknown, _params: { to: string | null; event: DeliveredEvent }): void {}

/** Creates a durable actor in the same commit. It owns its address and `keys`; a collision fails the whole macrostep. */
export function createActor(
  _: unknown,
  _params: { machine: string; id: string; input: Record<string, unknown>; keys?: readonly string[] },
): void {}

/** Ends every open effect of this name: its request is withdrawn and its handler interrupted. */
export function cancelEffect(_: unknown, _params: { effect: string }): void {}

/** Asks the handlers of this effect to stop; what they still report is taken, or its `aborted` event says that they ended. */
export function abortEffect(_: unknown, _params: { effect: string }): void {}

/** All of them, to spread into `setup({ actions })`. */
export const engineActions = { deliver, createActor, cancelEffect, abortEffect };

/** Declares an action that requests the effect of the same name; its limits are in `schemas.effects`. Without `Params` it takes none. */
export function effect<Params = undefined>(): (_: unknown, params: Params) => void {
  return () => {};
}
