/** Rules: what holds for every macrostep of an engine. */

import type { Registration } from "./registration.ts";
import type { Enclosure } from "./transition.ts";

/** What a macrostep works by. */
export interface Rules {
  readonly registrations: ReadonlyMap<string, Registration>;
  /** Transitions in one macrostep, 1 or more. */
  readonly cascadeLimit: number;
  readonly enclose: Enclosure;
  readonly now: () => number;
  readonly size: SizeRules;
}

/** Bounds on what is stored of an actor, in characters of JSON. */
export interface SizeRules {
  /** A snapshot beyond this fails its macrostep. */
  readonly limit: number;
  /** A snapshot beyond this is worth a warning. */
  readonly warnAt: number;
  warn(actor: string, size: number): void;
}
