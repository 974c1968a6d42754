/** Values held against the schemas of machines: zod's, or those of any other library that implements Standard Schema. */

import type { z } from "zod";
import type { StandardSchema } from "./declaration.ts";
import { messageOf } from "./error.ts";

type Fit = { readonly ok: true; readonly data: unknown } | { readonly ok: false; readonly path: string; readonly message: string };

/** True where this is a schema: of whichever copy of zod, or of Standard Schema. */
export function isSchema(value: unknown): value is StandardSchema {
  if (isZod(value)) return true;
  const { version, validate } = (value as Partial<StandardSchema> | null | undefined)?.["~standard"] ?? {};
  return version === 1 && typeof validate === "function";
}

/** True for zod's own, which says more when it is asked in its own way, and can be compiled. */
function isZod(schema: unknown): schema is z.ZodType {
  const { safeParse, "~standard": standard } = (schema ?? {}) as { safeParse?: unknown; "~standard"?: { vendor?: unknown } };
  return typeof safeParse === "function" && (standard?.vendor ?? "zod") === "zod";
}

/** Uses of a schema after which it is compiled: that takes some ms once, and makes each further use some times faster. */
const COMPILED_AFTER = 1000;

interface Asked {
  times: number;
  check: (value: unknown) => Fit;
}

const asked = new WeakMap<object, Asked>();

function askedBefore(schema: StandardSchema): Asked {
  const known = asked.get(schema) ?? { times: 0, check: isZod(schema) ? byZod(schema) : (value: unknown) => byStandard(schema, value) };
  if (++known.times === 1) asked.set(schema, known);
  else if (known.times === COMPILED_AFTER && isZod(schema)) void compile(schema, known);
  return known;
}

/**
 * Replaces a schema by what zod has compiled of it: the same values fit it, with the same issues where they do not. Zod is loaded only
 * now, if it is not there: a program that starts, or whose schemas are others, does without.
 */
async function compile(schema: z.ZodType, known: Asked): Promise<void> {
  try {
    const zod = await import("zod/v4/core");
    // Another copy of zod may write its schemas in another way; what only has a `safeParse` is not written in any.
    if (schema._zod.version === zod.version) known.check = byZod(zod.compile(schema));
  } catch {
    // Then it stays as it is, and slower.
  }
}

/** A value by a schema. A schema that throws, or that cannot answer at once, does not fit. */
export function checkAgainst(schema: StandardSchema, value: unknown): Fit {
  try {
    return askedBefore(schema).check(value);
  } catch (error) {
    return { ok: false, path: "$", message: `the schema threw: ${messageOf(error)}` };
  }
}

function byZod(schema: z.ZodType): (value: unknown) => Fit {
  return (value) => {
    const parsed = schema.safeParse(value);
    return parsed.success ? { ok: true, data: parsed.data } : { ok: false, ...firstIssue(parsed.error) };
  };
}

function byStandard(schema: StandardSchema, value: unknown): Fit {
  const result = schema["~standard"].validate(value);
  if ("then" in result) {
    // Nobody waits for it: that it fails must not end the process.
    result.then(undefined, () => {});
    return { ok: false, path: "$", message: "the schema answers later, and an event is taken at once" };
  }
  const issue = result.issues?.[0];
  if (!result.issues) return { ok: true, data: result.value };
  const keys = issue?.path?.map((part) => String(typeof part === "object" ? part.key : part));
  return { ok: false, path: keys?.join(".") || "$", message: issue?.message ?? "is invalid" };
}

/** Where a value departs from its schema, and how. */
export function firstIssue(error: z.ZodError): { path: string; message: string } {
  const issue = error.issues[0];
  return { path: issue?.path.join(".") || "$", message: issue?.message ?? "is invalid" };
}
