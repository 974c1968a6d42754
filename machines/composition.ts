/** Drift: where two compositions differ in a way that matters. */

import type { Composition, Drift } from "./schema.ts";

/** The fields that a successor must share with its source, under the names that reports use. Composer and revision are not among them. */
const FIELDS = {
  prompt: "promptHash",
  tools: "toolsHash",
  availability: "availabilityHash",
  provider_options: "providerOptionsHash",
  context_window: "contextWindow",
} as const satisfies Record<string, keyof Composition>;

/** One entry for each field that differs, in the order of the table. */
export function driftBetween(source: Composition, own: Composition): Drift[] {
  return Object.entries(FIELDS).flatMap(([field, key]) =>
    source[key] === own[key]
      ? []
      : [{ field, source: source[key] === null ? null : String(source[key]), own: own[key] === null ? null : String(own[key]) }],
  );
}
