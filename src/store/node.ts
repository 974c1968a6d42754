/** Which Node the SQLite binding runs on. An older one would end without a word when the binding is loaded. */

import { engineError } from "../actor/error.ts";

const OLDEST = [22, 19] as const;

/** Throws `node_unsupported` where this Node is too old; called before anything opens a database. */
export function demandNode(version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return;
  throw engineError("node_unsupported", `Holdfast needs Node ${OLDEST.join(".")} or newer; this is Node ${version}`);
}
