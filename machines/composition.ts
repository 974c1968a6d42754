/** Drift: where two compositions differ, and which differences matter. */

import { z } from "zod";
import { type Composition, type Drift, driftRule } from "./schema.ts";

/** The fields in which compositions are compared, under the names that reports use. */
const FIELDS = {
  prompt: "promptHash",
  tools: "toolsHash",
  availability: "availabilityHash",
  provider_options: "providerOptionsHash",
  context_window: "contextWindow",
  composer: "composerId",
  composer_revision: "composerRevision",
} as const satisfies Record<string, keyof Composition>;

/** What an embedder allows where a composition differs from the one that it must agree with, by field. */
export const driftPolicy = z.strictObject({
  prompt: driftRule,
  tools: driftRule,
  availability: driftRule,
  provider_options: driftRule,
  context_window: driftRule,
  composer: driftRule,
  composer_revision: driftRule,
} satisfies Record<keyof typeof FIELDS, z.ZodType>);

/** What an embedder allows where a composition differs, by field. */
export type DriftPolicy = z.infer<typeof driftPolicy>;

/** What the model would notice is refused; who composed it, and in which revision, is not. */
export const DRIFT_POLICY: DriftPolicy = {
  prompt: "refuse",
  tools: "refuse",
  availability: "refuse",
  provider_options: "refuse",
  context_window: "refuse",
  composer: "allow",
  composer_revision: "allow",
};

/** One entry for each field that differs, in the order of the table. */
export function driftBetween(source: Composition, own: Composition, policy: DriftPolicy = DRIFT_POLICY): Drift[] {
  return (Object.keys(FIELDS) as (keyof typeof FIELDS)[]).flatMap((field) => {
    const [before, now] = [source[FIELDS[field]], own[FIELDS[field]]];
    return before === now ? [] : [{ field, source: textOf(before), own: textOf(now), policy: policy[field] }];
  });
}

/** Those of the differences that a run must not go on with. */
export function refusedDrift(drift: readonly Drift[]): Drift[] {
  return drift.filter(({ policy }) => policy === "refuse");
}

function textOf(value: string | number | null): string | null {
  return value === null ? null : String(value);
}
