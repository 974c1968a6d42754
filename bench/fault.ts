/** Faults: counts and values that are not what they should be. One of them fails the bench, for its figures are then of other work. */

import Database from "better-sqlite3";
import { contextAfter } from "./machine/event.ts";

export class Faults {
  readonly all: string[] = [];
  checks = 0;

  expect(what: string, actual: unknown, expected: unknown): void {
    this.checks++;
    const [found, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
    if (found !== wanted) this.all.push(`${what}: found ${found}, expected ${wanted}`);
  }

  /** Reads a store of step machines: each actor has taken `steps` events, in one entry each, behind the one that created it. */
  expectSteps(what: string, file: string, actors: number, steps: number): void {
    const db = new Database(file, { readonly: true });
    try {
      const rows = db.prepare<[], { address: string; seq: number; snapshot: string }>("SELECT address, seq, snapshot FROM actors").all();
      this.expect(`${what}: actors`, rows.length, actors);
      const wrong = rows.filter(({ seq, snapshot }) => seq !== steps + 1 || !isAfter(snapshot, steps));
      this.expect(`${what}: actors at another revision or value`, wrong.slice(0, 3), []);
      const entries = db.prepare<[], { entries: number; last: number }>("SELECT count(*) AS entries, max(seq) AS last FROM journal").get();
      this.expect(`${what}: journal entries and last seq`, entries, { entries: actors * (steps + 1), last: steps + 1 });
    } finally {
      db.close();
    }
  }

  /** One number from a database. */
  expectCount(what: string, file: string, sql: string, expected: number): void {
    this.expect(what, countIn(file, sql), expected);
  }
}

/** The number that a query gives. */
export function countIn(file: string, sql: string): number | undefined {
  const db = new Database(file, { readonly: true });
  try {
    return db.prepare<[], number>(sql).pluck().get();
  } finally {
    db.close();
  }
}

/** True where a snapshot is that of a step machine after this many events. */
export function isAfter(snapshot: string, steps: number): boolean {
  const { context } = JSON.parse(snapshot) as { context: Record<string, unknown> };
  const expected = contextAfter(steps);
  return context.count === expected.count && context.total === expected.total && context.last === expected.last;
}
