/** Raw better-sqlite3: the recorded statements of the engine with ready values, and single-row inserts as the outer limit. */

import { copyFileSync } from "node:fs";
import Database from "better-sqlite3";
import { openWritable } from "../../src/store/database.ts";
import type { Bench, Synchronous } from "../bench.ts";
import { EVENT_BYTES } from "../machine/event.ts";
import { perSecond, timed } from "../measure.ts";
import { isRead, type Recording } from "./recording.ts";

/** `same`: every statement of the engine. `writes`: without those that only read, as a store that trusts its memory would. */
export type Statements = "same" | "writes";

/** Replays a recording on a database of the same schema, content and pragmas. Steps per second. */
export function replayTurn(bench: Bench, recording: Recording, synchronous: Synchronous, which: Statements): number {
  const { actors, before, rounds } = recording;
  const file = bench.place.fresh("raw.db");
  copyFileSync(recording.template, file);
  const db = openWritable({ file, synchronous });
  const prepared = new Map<string, Database.Statement<unknown[]>>();
  const ready = recording.statements
    .filter((one) => which === "same" || !isRead(one))
    .map(({ sql, method, values }) => {
      const statement = prepared.get(sql) ?? db.prepare<unknown[]>(sql);
      prepared.set(sql, statement);
      return { statement, isRun: method === "run" || !statement.reader, isAll: method === "all", values };
    });
  const ms = timed(() => {
    for (const { statement, isRun, isAll, values } of ready)
      if (isRun) statement.run(values);
      else if (isAll) statement.all(values);
      else statement.get(values);
  });
  db.close();
  bench.faults.expectSteps(`raw, ${actors} actors, ${synchronous}`, file, actors, before + rounds);
  bench.place.remove(file);
  return perSecond(actors * rounds, ms);
}

/** A database as a user would open it by hand. */
export function openPlain(file: string, synchronous: Synchronous): Database.Database {
  const db = new Database(file);
  db.pragma("journal_mode = WAL");
  db.pragma(`synchronous = ${synchronous.toUpperCase()}`);
  return db;
}

/** Rows of about 200 bytes into one table, `group` of them per transaction. Rows per second. */
export function rowsTurn(bench: Bench, count: number, group: number, synchronous: Synchronous): number {
  const file = bench.place.fresh("rows.db");
  const db = openPlain(file, synchronous);
  db.exec("CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT NOT NULL)");
  const insert = db.prepare<[string]>("INSERT INTO rows (body) VALUES (?)");
  const insertGroup = db.transaction((bodies: readonly string[]) => {
    for (const body of bodies) insert.run(body);
  });
  const bodies = Array.from({ length: group }, (_, index) => String(index).padStart(EVENT_BYTES, "r"));
  const ms = timed(() => {
    for (let done = 0; done < count; done += group) insertGroup(bodies);
  });
  bench.faults.expect(`rows, ${group} per transaction, ${synchronous}`, db.prepare("SELECT count(*) FROM rows").pluck().get(), count);
  db.close();
  bench.place.remove(file);
  return perSecond(count, ms);
}
