/** The events of one actor, in order: the nth is the same for every contestant, so that the final values can be told beforehand. */

/** What the step machine takes; 200 bytes as JSON. */
export interface StepEvent {
  readonly type: "step.take";
  readonly id: string;
  readonly amount: number;
  readonly from: string;
  readonly note: string;
}

export const EVENT_BYTES = 200;
const KINDS = 1000;

const events = Array.from({ length: KINDS }, (_, index): StepEvent => {
  const bare = { type: "step.take" as const, id: `e-${String(index).padStart(6, "0")}`, amount: index % 10, from: "bench", note: "" };
  return { ...bare, note: "n".repeat(EVENT_BYTES - JSON.stringify(bare).length) };
});

/** Event `index` (0, 1, …) of an actor. */
export function eventAt(index: number): StepEvent {
  return events[index % KINDS] as StepEvent;
}

/** The context of a step machine after its first `count` events. */
export function contextAfter(count: number): { readonly count: number; readonly total: number; readonly last: string } {
  let total = 0;
  for (let index = 0; index < count; index++) total += eventAt(index).amount;
  return { count, total, last: count === 0 ? "" : eventAt(count - 1).id };
}
