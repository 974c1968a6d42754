/** XState events: the types that XState gives to the events that it makes itself. With transition.ts, all that knows them. */

const AFTER = "xstate.after.";

/** Of an `after`: the event that its timer becomes, and the timer's id. */
export function afterEvent(delay: string, node: string): string {
  return `${AFTER}${delay}.${node}`;
}

/** True for such an event, or id. */
export function isAfterEvent(type: string): boolean {
  return type.startsWith(AFTER);
}

/** Of an invoked child that is done. */
export function doneEvent(child: string): string {
  return `xstate.done.actor.${child}`;
}

/** Of an invoked child that failed. */
export function errorEvent(child: string): string {
  return `xstate.error.actor.${child}`;
}

/** What promise logic tells itself when its promise is kept. */
export const PROMISE_KEPT = "xstate.promise.resolve";

/** Of an actor's first entry; its payload is the creation's input and keys. */
export const CREATION = "xstate.init";
