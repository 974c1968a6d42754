/** Where the bench writes: one folder of its own, which goes with the process. */

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";

export class Place {
  readonly path: string;
  #made = 0;

  /** `directory` should be on a real disk: where a sync costs nothing, FULL measures nothing. */
  constructor(directory: string) {
    this.path = mkdtempSync(join(directory, "holdfast-bench-"));
    process.once("exit", () => rmSync(this.path, { recursive: true, force: true }));
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
  }

  /** A path that does not exist yet. */
  fresh(name: string): string {
    return join(this.path, `${++this.#made}-${name}`);
  }

  remove(path: string): void {
    rmSync(path, { recursive: true, force: true });
    for (const tail of ["-wal", "-shm"]) rmSync(`${path}${tail}`, { force: true });
  }
}

/** The database of a state root. */
export function databaseOf(root: string): string {
  return join(root, "holdfast.db");
}
