import { statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { StoreWriter } from "../../src/actor/store.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { actorRow, appendRow, digestOf, entryRow, NOW_MS } from "../../src/testing/store-row.ts";
import { temporary } from "./worker.ts";

const PAGE_BYTES = 4096;
/** A page in the WAL has a header of its own. */
const FRAME_BYTES = PAGE_BYTES + 24;
const HASH = "0123456789abcdef".repeat(4);
/** 200 bytes of JSON. */
const EVENT = JSON.stringify({ type: "order.note", text: "x".repeat(169) });

/** A store with an actor of the length of real ones, and what counts the pages that a write costs. */
function measured(actors = 1) {
  const file = join(temporary(), "measured.db");
  const store = openSqliteStore({ file, synchronous: "normal" });
  const epoch = store.beginEpoch(NOW_MS);
  const addresses = Array.from({ length: actors }, (_, index) => `run/0198c5a6-0000-7000-8000-${String(index).padStart(12, "0")}`);
  const snapshot = JSON.stringify({ status: "active", value: "running", context: { text: "x".repeat(500) } });
  store.write(epoch, (writer) => {
    for (const address of addresses) {
      appendRow(writer, entryRow(address, 1, { hash: HASH }));
      writer.putActor(actorRow(address, { hash: HASH, snapshot, state: "running" }));
    }
  });
  const db = new Database(file, { readonly: true });
  const pragma = (name: string) => Number(db.pragma(name, { simple: true }));
  const pages = () => pragma("page_count") - pragma("freelist_count");
  const write = (body: (writer: StoreWriter) => void) => {
    const before = statSync(`${file}-wal`).size;
    store.write(epoch, body);
    return (statSync(`${file}-wal`).size - before) / FRAME_BYTES;
  };
  const step = (writer: StoreWriter, seq: number, address = addresses[0] ?? "") => {
    writer.isChangedElsewhere();
    appendRow(writer, entryRow(address, seq, { event: EVENT, cause: '{"kind":"outside"}', hash: HASH }));
    writer.advanceActors([{ from: seq - 1, address, seq, state: "running", hash: HASH, snapshot, updatedMs: NOW_MS + seq }]);
  };
  const close = () => {
    db.close();
    store.close();
  };
  return { store, epoch, addresses, write, step, pages, close };
}

test("an ordinary step writes two pages, unless one of them is full", () => {
  const { write, step, close } = measured();
  const frames = Array.from({ length: 200 }, (_, index) => write((writer) => step(writer, index + 2)));
  expect(Math.min(...frames)).toBe(2);
  expect(frames[0]).toBe(2);
  // A leaf of the journal holds ten such entries.
  expect(frames.filter((count) => count === 2).length).toBeGreaterThan(165);
  close();
});

test("steps of one transaction share the pages of the journal", () => {
  const { write, step, addresses, close } = measured(4);
  const frames = write((writer) => addresses.forEach((address) => void step(writer, 2, address)));
  expect(frames).toBeLessThanOrEqual(5);
  close();
});

test("steps of many actors in one transaction write few pages besides their entries and their rows, however long their histories are", () => {
  const { store, epoch, write, step, addresses, close } = measured(200);
  for (let seq = 2; seq <= 100; seq++) store.write(epoch, (writer) => addresses.forEach((address) => void step(writer, seq, address)));
  const frames = write((writer) => addresses.forEach((address) => void step(writer, 101, address)));
  // Ten entries, and five rows, to a page. An index of all entries would add a page for each actor.
  expect(frames).toBeLessThan(20 + 40 + 10);
  close();
});

test("a step whose event has 200 bytes takes at most 500 bytes at rest", () => {
  const { store, epoch, step, pages, close } = measured();
  expect(EVENT).toHaveLength(200);
  const before = pages();
  for (let seq = 2; seq <= 2001; seq++) store.write(epoch, (writer) => step(writer, seq));
  expect(((pages() - before) * PAGE_BYTES) / 2000).toBeLessThanOrEqual(500);
  close();
});

test("a write that changes nothing writes no page, a blob that is stored again within the hour included", () => {
  const { write, close } = measured();
  const bytes = Buffer.alloc(100_000);
  const put = (atMs: number) => write((writer) => writer.putBlob(digestOf(bytes), bytes, atMs));
  expect(put(NOW_MS)).toBeGreaterThan(20);
  expect(put(NOW_MS + 3_599_999)).toBe(0);
  // Its hour is one page; its bytes stay where they are.
  expect(put(NOW_MS + 3_600_000)).toBe(1);
  expect(write((writer) => writer.deleteAnswers(NOW_MS, 10))).toBe(0);
  close();
});
