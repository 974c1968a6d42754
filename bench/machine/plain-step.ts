/** The measured machine, with schemas that ask by hand what those of `step.ts` ask in zod. */

import type { StandardSchema } from "../../src/actor/declaration.ts";
import { stepOf } from "./step-of.ts";

type Check = (value: unknown) => boolean;

const int: Check = Number.isSafeInteger;
const text =
  (limit: number): Check =>
  (value) =>
    typeof value === "string" && value.length <= limit;

/** An object with these fields and no others. */
function strict(fields: Readonly<Record<string, Check>>): StandardSchema {
  const validate: StandardSchema["~standard"]["validate"] = (value) => {
    if (typeof value !== "object" || value === null) return { issues: [{ message: "is no object" }] };
    const given = value as Readonly<Record<string, unknown>>;
    const wrong = Object.keys(fields).find((key) => !fields[key]?.(given[key])) ?? Object.keys(given).find((key) => !(key in fields));
    return wrong === undefined ? { value } : { issues: [{ message: "does not fit", path: [wrong] }] };
  };
  return { "~standard": { version: 1, vendor: "bench", validate } };
}

export const plainStep = stepOf(
  {
    input: strict({}),
    context: strict({ count: int, total: int, last: text(32) }),
    events: { "step.take": strict({ id: text(32), amount: int, from: text(64), note: text(256) }) },
    facts: { "step.taken": strict({ count: int }) },
  },
  ["taken"],
);
