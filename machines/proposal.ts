/** A proposed work plan, as a person is shown it. */

import { z } from "zod";
import { id } from "./schema.ts";

const line = z
  .string()
  .min(1)
  .max(200)
  .refine((value) => !/\p{Cc}/u.test(value) && value === value.trim(), "has control characters or outer blanks");
const prose = z.string().max(16_384);

/** One step of a plan: what is to be done, and which files it is about. */
export const planStep = z.strictObject({ id, title: line, description: prose, files: z.array(z.string().min(1).max(4096)).max(50) });

/** Characters of a proposal's JSON, at most. */
export const PROPOSAL_LIMIT = 61_440;

/** A proposed plan: 1 to 50 steps with ids of their own. */
export const proposal = z
  .strictObject({
    title: line,
    steps: z
      .array(planStep)
      .min(1)
      .max(50)
      .refine((steps) => new Set(steps.map((step) => step.id)).size === steps.length, "have an id twice"),
    risks: z.array(prose).max(20),
  })
  .refine((value) => JSON.stringify(value).length <= PROPOSAL_LIMIT, `has more than ${PROPOSAL_LIMIT} characters of JSON`);

/** A proposed plan. */
export type Proposal = z.infer<typeof proposal>;
