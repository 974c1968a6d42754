/** Values held against the schemas of machines. */

import { z } from "zod";
import { messageOf } from "./error.ts";

type Fit = { readonly ok: true; readonly data: unknown } | { readonly ok: false; readonly path: string; readonly message: string };

/** True where this is a zod schema, of whichever copy of zod. */
export function isSchema(value: unknown): value is z.ZodType {
  return typeof (value as { safeParse?: unknown } | undefined | null)?.safeParse === "function";
}

/** Uses of a schema after which it is compiled: that takes some ms once, and makes each further use some times faster. */
const COMPILED_AFTER = 1000;

const used = new WeakMap<z.ZodType, { times: number; schema: z.ZodType }>();

/** The schema, or, where it is used often, what zod has compiled of it: the same values fit it, with the same issues where they do not. */
function compiled(schema: z.ZodType): z.ZodType {
  const known = used.get(schema) ?? { times: 0, schema };
  // Another copy of zod may write its schemas in another way.
  if (++known.times === COMPILED_AFTER && schema._zod?.version === z.core.version) known.schema = z.compile(schema);
  if (known.times === 1) used.set(schema, known);
  return known.schema;
}

/** A value by a schema. A schema that throws, or that cannot answer at once, does not fit. */
export function checkAgainst(schema: z.ZodType, value: unknown): Fit {
  try {
    const parsed = compiled(schema).safeParse(value);
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
