/** Raw rows by key: the least that a program must do which wants to go on with stored actors. */

import Database from "better-sqlite3";
import type { Bench } from "../bench.ts";

/** Reads the rows of these addresses one by one and parses their snapshots, over a connection of its own. */
export function readRows(bench: Bench, file: string, addresses: readonly string[]): { readonly readMs: number; readonly wholeMs: number } {
  const begun = performance.now();
  const db = new Database(file);
  const read = db.prepare<[string], { snapshot: string }>("SELECT * FROM actors WHERE address = ?");
  const prepared = performance.now();
  let found = 0;
  for (const address of addresses) {
    const row = read.get(address);
    if (row && (JSON.parse(row.snapshot) as { value: string }).value === "working") found++;
  }
  const ended = performance.now();
  db.close();
  bench.faults.expect("raw rows: found at work", found, addresses.length);
  return { readMs: ended - prepared, wholeMs: ended - begun };
}
