/** Answer: what becomes of an event, as it is told to whoever sent it. */

import type { AnyMachineSnapshot } from "xstate";

/** The answer to an event. It is durable when it is given. */
export type Answer =
  | { readonly kind: "accepted"; readonly seq: number; readonly snapshot: AnyMachineSnapshot; readonly repeated?: true }
  | { readonly kind: "ignored"; readonly reason?: string; readonly repeated?: true }
  | Refusal;

/** Why an event, or a request to the engine, was not taken. */
export interface Refusal {
  readonly kind: "refused";
  readonly code: string;
  readonly message: string;
  /** The field that was wrong, as a dotted path. */
  readonly path?: string;
}

/** A refusal; `path` names the field that was wrong. */
export function refused(code: string, message: string, path?: string): Refusal {
  return { kind: "refused", code, message, ...(path === undefined ? {} : { path }) };
}
