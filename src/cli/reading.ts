/** Reading: a state root read beside its owner, without a lock. */

import { HoldfastError } from "../actor/error.ts";
import type { StoreReader } from "../actor/store.ts";
import type { ClosableReader } from "../store/option.ts";
import { readOwnerHints } from "../store/owner.ts";
import { openRoot } from "../store/root.ts";
import { openOwnedStore, openRootReader } from "../store/root-store.ts";

/** Reads one commit of a root, whatever its owner writes meanwhile, and closes it again. Throws `root_not_found` and what else opening a root may give. */
export function withReader<T>(root: string, read: (reader: ClosableReader) => T): T {
  const reader = openRootReader(root);
  try {
    return reader.snapshot(() => read(reader));
  } finally {
    reader.close();
  }
}

/** As `withReader`, for a command that will own the root: one of an older schema is brought up to date first, as its owner. */
export function withOwnReader<T>(root: string, read: (reader: StoreReader) => T): T {
  try {
    return withReader(root, read);
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "schema_older") throw error;
    openOwnedStore({ path: root, create: false }).release();
    return withReader(root, read);
  }
}

/**
 * When the time of a root stopped that nobody owns; null while it goes on, as far as that can be told without touching the owner's
 * lock: a killed owner is told by its process id.
 */
export function unownedSinceMs(root: string, reader: ClosableReader): number | null {
  const { atMs, inOrder } = reader.stopped();
  const owner = inOrder ? undefined : readOwnerHints({ path: root });
  return owner && isAlive(owner.pid) ? null : atMs;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Throws `root_not_found`: commands that continue something must not make a root where there is none. */
export function demandRoot(root: string): void {
  openRoot({ path: root, create: false });
}

/** The run that continues a run: a successor under its seal, or a plain continuation. */
export function continuedBy(reader: StoreReader, runId: string): string | null {
  return reader.identity(`boundary/${runId}`)?.slice("run/".length) ?? null;
}
