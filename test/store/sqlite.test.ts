import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { StoreWriter } from "../../src/actor/store.ts";
import { Connection } from "../../src/store/connection.ts";
import { openWritable } from "../../src/store/database.ts";
import { openSqliteStore, SqliteStore } from "../../src/store/sqlite.ts";
import { ALL, actorRow, entryRow } from "../../src/testing/store-row.ts";
import { filled, tamper } from "./sample.ts";
import { thrownBy, Worker } from "./worker.ts";

test("what was committed is there after the file is opened again, with its root and its epoch", () => {
  const file = filled();
  const first = openSqliteStore({ file });
  expect(first.beginEpoch()).toBe(2);
  first.close();
  const second = openSqliteStore({ file, rootId: first.rootId });
  expect(second.epoch()).toBe(2);
  expect(second.journal("m/a", ALL).map((row) => row.seq)).toEqual([1, 2, 3]);
  second.close();
});

test("entries removed from the end by force leave the last position as it was", () => {
  const file = filled();
  tamper(file, "DELETE FROM journal WHERE position = 3");
  const store = openSqliteStore({ file });
  expect(store.entries(ALL)).toHaveLength(2);
  expect(store.lastPosition()).toBe(3);
  expect(store.write(store.beginEpoch(), (writer) => writer.appendEntry(entryRow("m/a", 3)))).toBe(4);
  store.close();
});

test("a foreign connection that holds the lock for less than the bound is waited for", async () => {
  const file = filled();
  const worker = await Worker.start();
  const store = openSqliteStore({ file, busyTimeoutMs: 30_000 });
  const epoch = store.beginEpoch();
  await worker.ask(`lock ${file}`);
  worker.tell("unlock");
  // The worker gets to its command while this process already waits, blocked, for the lock.
  expect(store.write(epoch, (writer) => writer.appendEntry(entryRow("m/a", 4)))).toBe(4);
  store.close();
});

test("a foreign connection that holds the lock for longer gives storage_failed, and the store goes on afterwards", async () => {
  const file = filled();
  const worker = await Worker.start();
  const store = openSqliteStore({ file, busyTimeoutMs: 20 });
  const epoch = store.beginEpoch();
  await worker.ask(`lock ${file}`);
  const write = () => store.write(epoch, (writer) => writer.appendEntry(entryRow("m/a", 4)));
  expect(thrownBy(write)).toMatchObject({ code: "storage_failed", retryable: true, cause: { code: "SQLITE_BUSY" } });
  expect(store.lastPosition()).toBe(3);
  await worker.ask("unlock");
  expect(write()).toBe(4);
  store.close();
});

test("a write holds the lock from its beginning, so that nothing it reads changes before it writes", () => {
  const file = filled();
  const store = openSqliteStore({ file });
  const other = new Database(file, { timeout: 0 });
  store.write(store.beginEpoch(), () => {
    expect(thrownBy(() => other.exec("BEGIN IMMEDIATE"))).toMatchObject({ code: "SQLITE_BUSY" });
  });
  other.exec("BEGIN IMMEDIATE; COMMIT");
  other.close();
  store.close();
});

test("an owner that lost its lock is fenced by the epoch in the database, not by what it remembers", () => {
  const file = filled();
  const stale = openSqliteStore({ file });
  const epoch = stale.beginEpoch();
  const next = openSqliteStore({ file });
  next.beginEpoch();
  expect(thrownBy(() => stale.write(epoch, (writer) => writer.putActor(actorRow("m/b"))))).toMatchObject({ code: "not_owner" });
  expect(next.actor("m/b")).toBeUndefined();
  next.close();
  stale.close();
});

test("a full disk fails the whole group, also where the body goes on, and the store works when there is room again", () => {
  const connection = new Connection(openWritable({ file: filled() }));
  const store = new SqliteStore(connection);
  const epoch = store.beginEpoch();
  const pages = connection.get<{ page_count: number }>("PRAGMA page_count")?.page_count ?? 0;
  connection.get(`PRAGMA max_page_count = ${pages + 4}`);
  const fill = (writer: StoreWriter) => {
    for (let seq = 4; seq < 100; seq++) writer.appendEntry(entryRow("m/a", seq, { event: "x".repeat(5000) }));
  };
  const swallow = (writer: StoreWriter) => {
    expect(thrownBy(() => fill(writer))).toMatchObject({ code: "storage_failed" });
    expect(thrownBy(() => writer.putActor(actorRow("m/small")))).toMatchObject({ code: "storage_failed" });
    expect(thrownBy(() => writer.actor("m/a"))).toMatchObject({ code: "storage_failed" });
  };
  for (const body of [fill, swallow]) {
    expect(thrownBy(() => store.write(epoch, body))).toMatchObject({
      code: "storage_failed",
      retryable: true,
      cause: { code: "SQLITE_FULL" },
    });
    expect(store.lastPosition()).toBe(3);
    expect(store.actor("m/small")).toBeUndefined();
  }
  connection.get("PRAGMA max_page_count = 100000");
  store.write(epoch, fill);
  expect(store.lastPosition()).toBe(99);
  store.close();
});

test("a storage error of another database, thrown by the body, passes through unchanged", () => {
  const store = openSqliteStore({ file: filled() });
  const foreign = new Database.SqliteError("theirs", "SQLITE_FULL");
  const body = () => {
    throw foreign;
  };
  expect(thrownBy(() => store.write(store.beginEpoch(), body))).toBe(foreign);
  store.close();
});
