/** The measured machine, with schemas in zod. */

import { z } from "zod";
import { stepOf } from "./step-of.ts";

const schemas = {
  input: z.strictObject({}),
  context: z.strictObject({ count: z.int(), total: z.int(), last: z.string().max(32) }),
  events: {
    "step.take": z.strictObject({ id: z.string().max(32), amount: z.int(), from: z.string().max(64), note: z.string().max(256) }),
  },
  facts: { "step.taken": z.strictObject({ count: z.int() }) },
};

export const step = stepOf(schemas, ["taken"]);
export const silentStep = stepOf(schemas, []);
