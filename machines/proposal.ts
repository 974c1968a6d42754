/** A proposed work plan, as a person is shown it. */

import { z } from "zod";
import { id } from "./schema.ts";

/** Characters of a proposal's JSON, at most. */
export const PROPOSAL_LIMIT = 61_440;

/** Steps of a plan, at most. */
export const STEP_LIMIT = 50;

/** What Markdown would make into something else at the beginning of a line, or anywhere in it. */
const MARKUP = /^(?:#{1,6}|[-*+>]|\d+[.)]|~~~)\s|^-{3,}$|`|\*\*|__|~~|!?\[[^\]]*\]\(/;

/** A line of plain text: it is shown as it is, to a person who decides on it. */
const line = z
  .string()
  .min(1)
  .max(200)
  .refine((value) => !/\p{Cc}/u.test(value) && value === value.trim(), "has control characters or outer blanks")
  .refine((value) => !MARKUP.test(value), "is Markdown and not plain text");

const prose = z.string().max(16_384);

/** An id of a step, unique in its plan. */
export const stepId = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/, "is not 1 to 128 letters, digits, _ or -");

/** An id of a plan: shorter than others, so that `<plan>.<revision>` is one too. */
export const planId = id.refine((value) => value.length <= 160, "has more than 160 characters");

/** One step of a plan: what is to be done, and which files it is about. */
export const planStep = z.strictObject({
  id: stepId,
  title: line,
  description: prose,
  files: z.array(z.string().min(1).max(4096)).max(50),
});

/** A proposed plan: 1 to 50 steps with ids of their own. */
export const proposal = z
  .strictObject({
    title: line,
    steps: z
      .array(planStep)
      .min(1)
      .max(STEP_LIMIT)
      .refine((steps) => new Set(steps.map((step) => step.id)).size === steps.length, "have an id twice"),
    risks: z.array(prose).max(20),
  })
  .refine((value) => JSON.stringify(value).length <= PROPOSAL_LIMIT, `has more than ${PROPOSAL_LIMIT} characters of JSON`);

/** A proposed plan. */
export type Proposal = z.infer<typeof proposal>;
