/**
 * Own schema: values held against what the engine itself asks of them: options, policies, what a migration gives, files of a root.
 *
 * These schemas are of `zod/mini`, of which the package contains what it uses: to load all of zod takes a third of a cold start. It walks
 * over a schema and compiles no function for it, which would take longer than the few uses that each has.
 */

import { z } from "zod/mini";

/** The parts of zod that the engine's own schemas are made of. */
export { z as own } from "zod/mini";

type OwnFit<Data> =
  | { readonly ok: true; readonly data: Data }
  | { readonly ok: false; readonly issue: z.core.$ZodIssue; readonly path: string; readonly message: string };

/** What is made when it is first used: a start does without the schemas of what it does not do. */
export function later<Made>(make: () => Made): () => Made {
  let made: Made | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** What an issue says: `zod/mini` has no words of its own. */
const words = later(() => z.locales.en().localeError);

/** A value by a schema of the engine's own. */
export function checkOwn<Schema extends z.ZodMiniType>(schema: Schema, value: unknown): OwnFit<z.infer<Schema>> {
  const { data, error } = z.safeParse(schema, value, { error: (issue) => words()(issue) });
  const issue = error?.issues[0];
  if (!issue) return { ok: true, data: data as z.infer<Schema> };
  return { ok: false, issue, path: issue.path.join(".") || "$", message: issue.message };
}
