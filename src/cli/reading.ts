/** Reading: a state root read beside its owner, without a lock; ids and addresses as people write them. */

import type { StoreReader } from "../actor/store.ts";
import { agentError } from "../agent/error.ts";
import { openRoot } from "../store/root.ts";
import { openRootReader } from "../store/root-store.ts";

/** Reads one commit of a root, whatever its owner writes meanwhile, and closes it again. Throws `root_not_found` and what else opening a root may give. */
export function withReader<T>(root: string, read: (reader: StoreReader) => T): T {
  const reader = openRootReader(root);
  try {
    return reader.snapshot(() => read(reader));
  } finally {
    reader.close();
  }
}

/** Throws `root_not_found`: commands that continue something must not make a root where there is none. */
export function demandRoot(root: string): void {
  openRoot({ path: root, create: false });
}

/** `run/ID` or `ID` as an id. Throws `argument_invalid`. */
export function runIdOf(given: string): string {
  const id = given.startsWith("run/") ? given.slice("run/".length) : given;
  if (id === "" || id.length > 256) throw agentError("argument_invalid", "RUN: expected a run's id", { details: { path: "RUN" } });
  return id;
}

/** The run that continues a run: a successor under its seal, or a plain continuation. */
export function continuedBy(reader: StoreReader, runId: string): string | null {
  return reader.identity(`boundary/${runId}`)?.slice("run/".length) ?? null;
}
