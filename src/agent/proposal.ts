/** A work plan as a program proposes it: with less than the machine demands. */

import type { Proposal } from "../../machines/index.ts";

/** One step as it is proposed. */
export interface ProposedStep {
  /** 1 to 128 letters, digits, `_` or `-`, unique in its plan. Default: `step-1`, `step-2` and so on, by its place. */
  readonly id?: string;
  /** One line of plain text, 1 to 200 characters. */
  readonly title: string;
  /** At most 16,384 characters. */
  readonly description?: string;
  /** Files that it is about, at most 50. */
  readonly files?: readonly string[];
}

/** A plan as it is proposed: at most 61,440 characters of JSON. */
export interface ProposedPlan {
  /** One line of plain text, 1 to 200 characters. */
  readonly title: string;
  /** 1 to 50 of them. */
  readonly steps: readonly ProposedStep[];
  /** At most 20, each of at most 16,384 characters. */
  readonly risks?: readonly string[];
}

/** A proposal with what may be left out. What is no proposal at all stays as it is, for the machine's schema to refuse. */
export function completed(given: ProposedPlan): Proposal {
  if (typeof given !== "object" || given === null || !Array.isArray(given.steps)) return given as unknown as Proposal;
  const steps = given.steps.map((step: unknown, index) =>
    typeof step === "object" && step !== null ? { id: `step-${index + 1}`, description: "", files: [], ...defined(step) } : step,
  );
  return { risks: [], ...defined(given), steps } as unknown as Proposal;
}

/** Without the fields that are there and undefined. */
function defined(given: object): object {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
