/** What a section of the bench is given. */

import type { Faults } from "./fault.ts";
import type { Figures } from "./figure.ts";
import type { Place } from "./place.ts";
import type { Scale } from "./scale.ts";

export interface Bench {
  readonly place: Place;
  readonly figures: Figures;
  readonly faults: Faults;
  readonly scale: Scale;
  /** Progress, for people; it goes to stderr. */
  say(text: string): void;
}

/** A part of the bench that can be run alone. */
export interface Section {
  readonly name: string;
  readonly about: string;
  run(bench: Bench): Promise<void>;
}

/** `full`: a commit survives a power failure. `normal`: a crash of the process only. */
export type Synchronous = "full" | "normal";
export const BOTH: readonly Synchronous[] = ["full", "normal"];
