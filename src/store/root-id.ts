/** Fresh ids of roots, and of files on their way to a name. */

import { createRequire } from "node:module";

type Uuid = typeof import("uuid");

/** A new UUID, version 7. Its library is loaded by the first call: a root that is only opened needs none. */
export function freshId(): string {
  const { v7 } = createRequire(import.meta.url)("uuid") as Uuid;
  return v7();
}
