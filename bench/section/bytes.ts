/** Bytes: what a step adds to a root whose log is written back, and what it hands to the operating system. */

import { readFileSync } from "node:fs";
import Database from "better-sqlite3";
import type { Bench } from "../bench.ts";
import { stepInSequence } from "../contestant/engine.ts";
import { databaseOf } from "../place.ts";
import { type History, openHistory } from "./history.ts";

/** Counts over steps in sequence, with FULL: one commit each, and the checkpoints that fall among them. */
export async function measureBytes(bench: Bench, histories: readonly History[]): Promise<void> {
  const { bytesSteps } = bench.scale;
  const rest: number[] = [];
  const written: (number | undefined)[] = [];
  for (const history of histories) {
    const { engine, actor } = await openHistory(history);
    const [restBefore, writtenBefore] = [restBytes(history.root), writtenSoFar()];
    await stepInSequence(actor, history.taken, bytesSteps);
    const writtenAfter = writtenSoFar();
    history.taken += bytesSteps;
    rest.push((restBytes(history.root) - restBefore) / bytesSteps);
    written.push(writtenAfter !== undefined && writtenBefore !== undefined ? (writtenAfter - writtenBefore) / bytesSteps : undefined);
    await engine.close();
    bench.figures.counted(`length.bytes_${history.name}`, "B", rest.at(-1) ?? Number.NaN);
    const last = written.at(-1);
    if (last !== undefined) bench.figures.counted(`length.written_${history.name}`, "B", last);
  }
  bench.figures.counted("bytes_per_step", "B", Math.max(...rest), "at rest; the worst of the three lengths");
  if (written.every((bytes) => bytes !== undefined))
    bench.figures.counted("written_per_step", "B", Math.max(...written), "with checkpoints; the worst of the three lengths");
  else bench.figures.missing("written_per_step", "B", "there is no /proc/self/io here");
}

/** Bytes of the pages in use, after a checkpoint. */
function restBytes(root: string): number {
  const db = new Database(databaseOf(root));
  try {
    db.pragma("wal_checkpoint(TRUNCATE)");
    const [pages, free, size] = ["page_count", "freelist_count", "page_size"].map((name) => Number(db.pragma(name, { simple: true })));
    return ((pages ?? 0) - (free ?? 0)) * (size ?? 0);
  } finally {
    db.close();
  }
}

/** Bytes that this process has given to write calls; undefined where nobody counts them. */
function writtenSoFar(): number | undefined {
  try {
    const found = /^wchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1];
    return found === undefined ? undefined : Number(found);
  } catch {
    return undefined;
  }
}
