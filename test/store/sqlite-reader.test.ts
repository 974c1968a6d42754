import { closeSync, existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { Connection } from "../../src/store/connection.ts";
import { openWritable } from "../../src/store/database.ts";
import { openRootReader } from "../../src/store/root-store.ts";
import { openSqliteReader, openSqliteStore } from "../../src/store/sqlite.ts";
import { SqliteReader } from "../../src/store/sqlite-reader.ts";
import { ALL, appendRow, entryRow } from "../../src/testing/store-row.ts";
import { filled, tamper } from "./sample.ts";
import { temporary, thrownBy, Worker } from "./worker.ts";

/** A connection that answers no list, but says how SQLite would find it. */
function explained() {
  const plans: string[] = [];
  class Explained extends Connection {
    override all<Row>(sql: string, ...values: unknown[]): Row[] {
      const steps = super.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
      plans.push(steps.map((step) => step.detail).join("; "));
      return [];
    }
  }
  return { connection: new Explained(openWritable({ file: filled() })), plans };
}

test("damaged pages are reported as damage, never as a raw error", () => {
  const file = filled(200);
  const db = new Database(file);
  const pages = db.prepare("SELECT pageno FROM dbstat WHERE name = 'journal' AND pagetype = 'leaf'").pluck().all() as number[];
  db.close();
  const handle = openSync(file, "r+");
  for (const page of pages) writeSync(handle, Buffer.alloc(4096, 0xa5), 0, 4096, (page - 1) * 4096);
  closeSync(handle);
  const reader = openSqliteReader({ file });
  expect(thrownBy(() => reader.entries(ALL))).toMatchObject({ code: "journal_damaged" });
  reader.close();
});

test("a quarantine record that cannot be read keeps its actor aside and stops no list (ACT-10)", () => {
  const file = filled();
  tamper(file, "UPDATE actors SET quarantine = '{'");
  const reader = openSqliteReader({ file });
  expect(reader.actors({ quarantined: true }, ALL)).toMatchObject([{ address: "m/a", quarantine: { code: "journal_damaged" } }]);
  reader.close();
});

test("a reader needs a database that exists, and makes none", () => {
  const file = join(temporary(), "none.db");
  expect(thrownBy(() => openSqliteReader({ file }))).toMatchObject({ code: "root_not_found" });
  expect(existsSync(file)).toBe(false);
  expect(thrownBy(() => openSqliteStore({ file: join(file, "below.db") })).code).toMatch(/root_not_found|storage_failed/);
});

test("readers see every commit of a killed owner that is still in the WAL, and change nothing", async () => {
  const path = join(temporary(), "root");
  const worker = await Worker.start();
  await worker.ask(`own ${path}`);
  expect(await worker.ask("append 50")).toEqual({ value: 50 });
  await worker.kill();
  const files = ["holdfast.db", "holdfast.db-wal"].map((name) => join(path, name));
  const before = files.map((file) => readFileSync(file));
  expect(before[1]?.length).toBeGreaterThan(0);
  for (let time = 0; time < 2; time++) {
    const reader = openRootReader(path);
    expect(reader.lastPosition()).toBe(50);
    expect(reader.journal("m/a", ALL)).toHaveLength(50);
    expect(reader.epoch()).toBe(1);
    reader.close();
  }
  expect(files.map((file) => readFileSync(file))).toEqual(before);
});

test("a snapshot stays at one commit while the owner writes on", async () => {
  const path = join(temporary(), "root");
  const worker = await Worker.start();
  await worker.ask(`own ${path}`);
  await worker.ask("append 1");
  const reader = openRootReader(path);
  const foreign = openRootReader(path);
  reader.snapshot(() => {
    expect(reader.lastPosition()).toBe(1);
    const store = openSqliteStore({ file: join(path, "holdfast.db") });
    store.write(store.epoch(), (writer) => appendRow(writer, entryRow("m/b", 1)));
    store.close();
    expect(foreign.lastPosition()).toBe(2);
    expect(reader.lastPosition()).toBe(1);
  });
  expect(reader.lastPosition()).toBe(2);
  for (const open of [reader, foreign]) open.close();
});

test("readers beside a writing owner see whole commits, and newer ones as they come", async () => {
  const path = join(temporary(), "root");
  const worker = await Worker.start();
  await worker.ask(`own ${path}`);
  await worker.ask("append 1");
  const reader = openRootReader(path);
  expect(reader.lastPosition()).toBe(1);
  worker.tell("append 300");
  const answered = worker.answer();
  let done = false;
  void answered.then(() => (done = true));
  while (!done) {
    const seen = reader.entries(ALL).map((row) => row.position);
    expect(seen).toEqual(Array.from({ length: seen.length }, (_, index) => index + 1));
    await new Promise(setImmediate);
  }
  expect(await answered).toEqual({ value: 301 });
  expect(reader.entries(ALL)).toHaveLength(301);
  reader.close();
});

test("the machines of unfinished actors are found by jumps along an index, whatever number of actors there is", () => {
  const { connection, plans } = explained();
  new SqliteReader(connection).unfinishedMachines();
  connection.close();
  const index = "USING COVERING INDEX actors_unfinished_machine";
  expect(plans[0]?.split("; ").filter((step) => /later|actors/.test(step))).toEqual([
    `SCAN actors ${index}`, // For the first one only: its LIMIT ends it.
    `SEARCH later ${index} (machine=? AND version=? AND definition>?)`,
    `SEARCH later ${index} (machine=? AND version>?)`,
    `SEARCH later ${index} (machine>?)`,
    "SEARCH actors USING INTEGER PRIMARY KEY (rowid=?)",
  ]);
});

test("lists that can grow are walked through an index, in order", () => {
  const { connection, plans } = explained();
  const reader = new SqliteReader(connection);
  const page = { after: 5, limit: 10 };
  reader.actors({ status: "active", epochBelow: 7 }, page);
  reader.actors({ status: "active", epochBelow: 7, machine: "m" }, page);
  reader.actors({ machine: "m" }, page);
  reader.actors({ quarantined: true }, page);
  reader.actors({ status: "final", updatedBeforeMs: 7 }, page);
  reader.actors({ status: "final", updatedBeforeMs: 7, machine: "m" }, page);
  reader.effects({ actor: "m/a" }, page);
  reader.effects({ state: "open" }, page);
  reader.startableEffects(page);
  reader.timers({ actor: "m/a" }, page);
  reader.timers({}, page);
  reader.dueTimers(5, 10);
  reader.blobs(page);
  reader.tombstones(page);
  reader.entries(page);
  reader.deadLetters({ receiver: "m/a" }, page);
  reader.deadLetters({ reason: "machine_unknown" }, page);
  reader.identities("m/a");
  connection.close();
  expect(plans).toEqual([
    "SEARCH actors USING INDEX actors_unfinished (ordinal>?)",
    "SEARCH actors USING INDEX actors_unfinished_of_machine (machine=? AND ordinal>?)",
    "SEARCH actors USING INDEX actors_of_machine (machine=? AND ordinal>?)",
    "SEARCH actors USING INDEX actors_quarantined (ordinal>?)",
    ...Array.from(
      { length: 2 },
      () =>
        "SEARCH actors USING INTEGER PRIMARY KEY (rowid=?); LIST SUBQUERY 1; SEARCH actors USING COVERING INDEX actors_final (updated_ms<?); USE TEMP B-TREE FOR ORDER BY",
    ),
    "SEARCH effects USING INDEX effects_of_actor (actor=? AND ordinal>?)",
    "SEARCH effects USING INDEX effects_in_state (state=? AND ordinal>?)",
    "SEARCH effects USING INDEX effects_in_state (state=? AND ordinal>?); SEARCH actors USING INDEX sqlite_autoindex_actors_1 (address=?)",
    "SEARCH timers USING INDEX timers_of_actor (actor=? AND ordinal>?)",
    "SEARCH timers USING INTEGER PRIMARY KEY (rowid>?)",
    "SEARCH timers USING INDEX timers_due (due_ms<?)",
    "SEARCH blobs USING INTEGER PRIMARY KEY (rowid>?)",
    "SEARCH tombstones USING INTEGER PRIMARY KEY (rowid>?)",
    "SEARCH journal USING INTEGER PRIMARY KEY (rowid>?)",
    "SEARCH dead_letters USING INDEX dead_letters_of_receiver (receiver=? AND position>?)",
    "SEARCH dead_letters USING INDEX dead_letters_for_reason (reason=? AND rowid>?)",
    "SEARCH identities USING COVERING INDEX identities_of_actor (actor=?)",
  ]);
});
