/** Values held against the schemas of machines. */

import type { z } from "zod";
import { messageOf } from "./error.ts";

type Fit = { readonly ok: true; readonly data: unknown } | { readonly ok: false; readonly path: string; readonly message: string };

/** True where this is a zod schema, of whichever copy of zod. */
export function isSchema(value: unknown): value is z.ZodType {
  return typeof (value as { safeParse?: unknown } | undefined | null)?.safeParse === "function";
}

/** A value by a schema. A schema that throws, or that cannot answer at once, does not fit. */
export function checkAgainst(schema: z.ZodType, value: unknown): Fit {
  try {
    const parsed = schema.safeParse(value);
    return parsed.success ? { ok: true, data: parsed.data } : { ok: false, ...firstIssue(parsed.error) };
  } catch (error) {
    return { ok: false, path: "$", message: `the schema threw: ${messageOf(error)}` };
  }
}

/** Where a value departs from its schema, and how. */
export function firstIssue(error: z.ZodError): { path: string; message: string } {
  const issue = error.issues[0];
  return { path: issue?.path.join(".") || "$", message: issue?.message ?? "is invalid" };
}
