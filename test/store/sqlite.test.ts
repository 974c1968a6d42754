import Database from "better-sqlite3";
import { expect, test, vi } from "vitest";
import type { StoreWriter } from "../../src/actor/store.ts";
import { Connection } from "../../src/store/connection.ts";
import { openWritable } from "../../src/store/database.ts";
import { openSqliteReader, openSqliteStore, SqliteStore } from "../../src/store/sqlite.ts";
import { ALL, actorRow, appendRow, entryRow, NOW_MS, timerRow } from "../../src/testing/store-row.ts";
import { filled, tamper } from "./sample.ts";
import { thrownBy, Worker } from "./worker.ts";

test("what was committed is there after the file is opened again, with its root and its epoch", () => {
  const file = filled();
  const first = openSqliteStore({ file });
  expect(first.beginEpoch(NOW_MS)).toBe(2);
  first.close();
  const second = openSqliteStore({ file, rootId: first.rootId });
  expect(second.epoch()).toBe(2);
  expect(second.journal("m/a", ALL).map((row) => row.seq)).toEqual([1, 2, 3]);
  second.close();
});

test("entries removed from the end by force leave the last position as it was kept", () => {
  const file = filled();
  const opened = openSqliteStore({ file });
  opened.write(opened.beginEpoch(NOW_MS), (writer) => {
    appendRow(writer, entryRow("m/a", 4));
    writer.rest(NOW_MS);
  });
  opened.close();
  tamper(file, "DELETE FROM journal WHERE position >= 2");
  const store = openSqliteStore({ file });
  expect(store.lastPosition()).toBe(4);
  store.close();
});

test("entries removed from the end by force leave the last position as it was when the root was last opened", () => {
  const file = filled();
  const opened = openSqliteStore({ file });
  opened.beginEpoch(NOW_MS);
  opened.close();
  tamper(file, "DELETE FROM journal WHERE position >= 2");
  const store = openSqliteStore({ file });
  expect(store.entries(ALL)).toHaveLength(1);
  expect(store.lastPosition()).toBe(3);
  const epoch = store.beginEpoch(NOW_MS);
  expect(store.lastPosition()).toBe(3);
  const two = store.write(epoch, (writer) => [2, 3].map((seq) => appendRow(writer, entryRow("m/a", seq))));
  expect(two).toEqual([4, 5]);
  store.close();
});

test("a store hears of what another connection committed, once, and again where its own write failed", () => {
  const file = filled();
  const store = openSqliteStore({ file });
  const epoch = store.beginEpoch(NOW_MS);
  const heard = () => store.write(epoch, (writer) => writer.isChangedElsewhere());
  heard();
  expect([heard(), heard()]).toEqual([false, false]);
  tamper(file, "UPDATE actors SET state = 'changed'");
  // A read in between sees the change, and does not use it up.
  expect(store.actor("m/a")?.state).toBe("changed");
  const fail = (writer: StoreWriter) => {
    expect(writer.isChangedElsewhere()).toBe(true);
    throw new Error("undone");
  };
  expect(() => store.write(epoch, fail)).toThrow("undone");
  expect([heard(), heard()]).toEqual([true, false]);
  store.write(epoch, (writer) => writer.putActor(actorRow("m/b")));
  expect(heard()).toBe(false);
  const reader = openSqliteReader({ file });
  reader.snapshot(() => reader.entries(ALL));
  expect(heard()).toBe(false);
  reader.close();
  store.close();
});

test("timers that were damaged do not keep a root from being opened (ACT-10)", () => {
  const file = filled();
  const first = openSqliteStore({ file });
  const policies = ["absolute", "remaining", "restart"] as const;
  first.write(first.beginEpoch(NOW_MS), (writer) => policies.forEach((policy) => void writer.putTimer(timerRow(policy, { policy }))));
  first.close();
  for (const extreme of ["9223372036854775807", "-9223372036854775808"]) {
    tamper(file, `UPDATE timers SET due_ms = ${extreme}, delay_ms = ${extreme}; UPDATE root SET opened_ms = -${extreme.slice(1)}`);
    const store = openSqliteStore({ file });
    store.beginEpoch(NOW_MS);
    expect(store.timers({}, ALL)).toHaveLength(3);
    expect(store.dueTimers(NOW_MS, 10).length).toBeLessThanOrEqual(3);
    store.close();
  }
});

test("a foreign connection that holds the lock for less than the bound is waited for", async () => {
  const file = filled();
  const worker = await Worker.start();
  const store = openSqliteStore({ file, busyTimeoutMs: 30_000 });
  const epoch = store.beginEpoch(NOW_MS);
  await worker.ask(`lock ${file}`);
  worker.tell("unlock");
  // The worker gets to its command while this process already waits, blocked, for the lock.
  expect(store.write(epoch, (writer) => appendRow(writer, entryRow("m/a", 4)))).toBe(4);
  store.close();
});

test("a foreign connection that holds the lock for longer gives storage_failed, and the store goes on afterwards", async () => {
  const file = filled();
  const worker = await Worker.start();
  const store = openSqliteStore({ file, busyTimeoutMs: 20 });
  const epoch = store.beginEpoch(NOW_MS);
  await worker.ask(`lock ${file}`);
  const write = () => store.write(epoch, (writer) => appendRow(writer, entryRow("m/a", 4)));
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
  store.write(store.beginEpoch(NOW_MS), () => {
    expect(thrownBy(() => other.exec("BEGIN IMMEDIATE"))).toMatchObject({ code: "SQLITE_BUSY" });
  });
  other.exec("BEGIN IMMEDIATE; COMMIT");
  other.close();
  store.close();
});

test("an owner that lost its lock is fenced by the epoch in the database, not by what it remembers", () => {
  const file = filled();
  const stale = openSqliteStore({ file });
  const epoch = stale.beginEpoch(NOW_MS);
  stale.write(epoch, (writer) => writer.putIdentity("name", "m/a"));
  const next = openSqliteStore({ file });
  next.beginEpoch(NOW_MS);
  expect(thrownBy(() => stale.write(epoch, (writer) => writer.putActor(actorRow("m/b"))))).toMatchObject({ code: "not_owner" });
  expect(next.actor("m/b")).toBeUndefined();
  next.close();
  stale.close();
});

test("positions go on behind the last entry, also where another connection has appended one since the last write", () => {
  const file = filled();
  const store = openSqliteStore({ file });
  const epoch = store.beginEpoch(NOW_MS);
  const append = (seq: number) => store.write(epoch, (writer) => appendRow(writer, entryRow("m/a", seq)));
  expect([append(4), append(5)]).toEqual([4, 5]);
  tamper(
    file,
    "INSERT INTO journal SELECT position + 1, 'm/b', 1, at_ms, cause, event, facts, actions, version, hash, 0 FROM journal WHERE position = 5",
  );
  expect([append(6), append(7)]).toEqual([7, 8]);
  store.close();
});

test("where a root stands is read once, and again where another connection has committed", () => {
  const file = filled();
  const connection = new Connection(openWritable({ file }));
  const asked = vi.spyOn(connection, "get");
  const standings = () => asked.mock.calls.splice(0).filter(([sql]) => sql.includes("lastPosition")).length;
  const store = new SqliteStore(connection);
  const epoch = store.beginEpoch(NOW_MS);
  const write = () => store.write(epoch, (writer) => writer.putIdentity("name", "m/a"));
  expect(standings()).toBe(1);
  write();
  write();
  expect(standings()).toBe(0);
  tamper(file, "DELETE FROM identities");
  write();
  expect(standings()).toBe(1);
  expect(() => store.write(epoch, () => { throw new Error("undone"); })).toThrow("undone"); // biome-ignore format: short
  write();
  expect(standings()).toBe(0);
  store.close();
});

test("a full disk fails the whole group, also where the body goes on, and the store works when there is room again", () => {
  const connection = new Connection(openWritable({ file: filled() }));
  const store = new SqliteStore(connection);
  const epoch = store.beginEpoch(NOW_MS);
  const pages = connection.get<{ page_count: number }>("PRAGMA page_count")?.page_count ?? 0;
  connection.get(`PRAGMA max_page_count = ${pages + 4}`);
  const fill = (writer: StoreWriter) => {
    for (let seq = 4; seq < 100; seq++) appendRow(writer, entryRow("m/a", seq, { event: "x".repeat(5000) }));
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
  expect(thrownBy(() => store.write(store.beginEpoch(NOW_MS), body))).toBe(foreign);
  store.close();
});
