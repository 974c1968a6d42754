import { copyFileSync, existsSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { openReadable, openWritable } from "../../src/store/database.ts";
import { openSqliteReader, openSqliteStore } from "../../src/store/sqlite.ts";
import { entryRow, NOW_MS } from "../../src/testing/store-row.ts";
import { filled, tamper } from "./sample.ts";
import { askAll, startWorkers, temporary, thrownBy, Worker } from "./worker.ts";

test("a database of another root is refused", () => {
  const file = filled();
  expect(thrownBy(() => openSqliteStore({ file, rootId: "other" }))).toMatchObject({ code: "root_invalid" });
  expect(thrownBy(() => openSqliteReader({ file, rootId: "other" }))).toMatchObject({ code: "root_invalid" });
});

test("commits are synced as asked, also in WAL mode", () => {
  const file = filled();
  for (const [synchronous, level] of [
    ["full", 2],
    ["normal", 1],
  ] as const) {
    const db = openWritable({ file, synchronous });
    expect([db.pragma("synchronous", { simple: true }), db.pragma("journal_mode", { simple: true })]).toEqual([level, "wal"]);
    db.close();
  }
  const db = openWritable({ file });
  expect(db.pragma("synchronous", { simple: true })).toBe(2);
  db.close();
});

test.runIf(existsSync("/proc/self/fd"))("no file beside the database is opened for a statement that touches many pages", () => {
  const file = join(temporary(), "many.db");
  const store = openSqliteStore({ file, synchronous: "normal" });
  const actors = Array.from({ length: 4000 }, (_, index) => `m/${String((index * 7919) % 4000).padStart(40, "0")}`);
  const gone = () => readdirSync("/proc/self/fd").filter((fd) => linkOf(`/proc/self/fd/${fd}`).endsWith("(deleted)"));
  const before = gone();
  store.write(store.beginEpoch(NOW_MS), (writer) => {
    for (const seq of [1, 17]) {
      const rows = actors.map((actor) => entryRow(actor, seq));
      writer.appendEntries(rows, rows.map(() => 0)); // biome-ignore format: short
      expect(gone()).toEqual(before);
    }
  });
  store.close();
});

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // The one that listed the folder.
    return "";
  }
}

test("the bound on waiting for a lock is the one asked for, five seconds where none is", () => {
  const file = filled();
  for (const [options, bound] of [
    [{}, 5000],
    [{ busyTimeoutMs: 17 }, 17],
  ] as const)
    for (const db of [openWritable({ file, ...options }), openReadable({ file, ...options })]) {
      expect(db.pragma("busy_timeout", { simple: true })).toBe(bound);
      db.close();
    }
});

test("a newer schema is refused, for writing and for reading, and not one byte changes", () => {
  for (const journal of ["WAL", "DELETE"]) {
    const file = filled();
    tamper(file, `PRAGMA journal_mode = ${journal}; PRAGMA user_version = 999`);
    const before = readFileSync(file);
    expect(thrownBy(() => openSqliteStore({ file }))).toMatchObject({ code: "schema_newer", retryable: false });
    expect(thrownBy(() => openSqliteReader({ file }))).toMatchObject({ code: "schema_newer" });
    expect(readFileSync(file).equals(before)).toBe(true);
  }
});

test("a newer schema that a killed program left in its WAL is refused, and the WAL stays", () => {
  const source = filled();
  const db = new Database(source);
  db.pragma("wal_autocheckpoint = 0");
  db.pragma("user_version = 999");
  const file = join(temporary(), "killed.db");
  for (const suffix of ["", "-wal"]) copyFileSync(source + suffix, file + suffix);
  db.close();
  const before = [readFileSync(file), readFileSync(`${file}-wal`)];
  expect(before[1]?.length).toBeGreaterThan(0);
  expect(thrownBy(() => openSqliteStore({ file }))).toMatchObject({ code: "schema_newer" });
  expect([readFileSync(file), readFileSync(`${file}-wal`)]).toEqual(before);
});

test("another program's database, a file that is none, and a damaged one are refused with a code", () => {
  const stranger = join(temporary(), "stranger.db");
  tamper(stranger, "CREATE TABLE theirs (x)");
  const text = join(temporary(), "text.db");
  writeFileSync(text, "not a database ".repeat(100));
  const emptied = filled();
  tamper(emptied, "DROP TABLE root");
  for (const [file, code] of [
    [stranger, "root_invalid"],
    [text, "root_invalid"],
    [emptied, "journal_damaged"],
  ] as const) {
    const before = readFileSync(file);
    expect(thrownBy(() => openSqliteStore({ file })).code).toBe(code);
    expect(thrownBy(() => openSqliteReader({ file })).code).toBe(code);
    if (file !== emptied) expect(readFileSync(file).equals(before)).toBe(true);
  }
});

test("processes that open one new file at the same time agree on WAL mode, schema, root and epochs", async () => {
  const directory = temporary();
  const workers = await startWorkers(8);
  for (let round = 1; round <= 30; round++) {
    const answers = await askAll(workers, `store ${join(directory, `${round}.db`)}`);
    expect(answers.sort((a, b) => Number(a.value) - Number(b.value))).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((value) => ({ value })));
  }
});

test("a crash while an empty database was being made is undone by the next owner", async () => {
  const file = join(temporary(), "half.db");
  writeFileSync(file, "", { mode: 0o600 });
  const worker = await Worker.start();
  expect(await worker.ask(`half ${file}`)).toEqual({ value: "half" });
  await worker.kill();
  expect(statSync(file).size).toBeGreaterThan(0);
  expect(existsSync(`${file}-journal`)).toBe(true);
  const store = openSqliteStore({ file });
  expect(store.beginEpoch(NOW_MS)).toBe(1);
  store.close();
});
