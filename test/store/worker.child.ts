/**
 * Another process: takes one command a line on stdin, answers each with one line of JSON. Ends when stdin ends.
 * Its umask lets everything through, so that the modes of what it creates are the code's own.
 */

import { createInterface } from "node:readline";
import Database from "better-sqlite3";
import { HoldfastError } from "../../src/actor/error.ts";
import type { Store } from "../../src/actor/store.ts";
import { openRoot } from "../../src/store/root.ts";
import { type OwnedStore, openOwnedStore } from "../../src/store/root-store.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { appendRow, entryRow, NOW_MS } from "../../src/testing/store-row.ts";

process.umask(0);

let owned: OwnedStore | undefined;
let store: Store | undefined;
let foreign: Database.Database | undefined;
let appended = 0;

const commands: Record<string, (argument: string) => unknown> = {
  ready: () => process.pid,
  own(path) {
    owned = openOwnedStore({ path, create: true, program: "worker" });
    store = owned.store;
    return owned.store.beginEpoch(NOW_MS);
  },
  release() {
    owned?.release();
    return "released";
  },
  root: (path) => openRoot({ path, create: true }).rootId,
  store(file) {
    store?.close();
    store = openSqliteStore({ file });
    return store.beginEpoch(NOW_MS);
  },
  append(count) {
    for (let index = 0; index < Number(count); index++)
      store?.write(store.epoch(), (writer) => appendRow(writer, entryRow("m/a", ++appended)));
    return store?.lastPosition();
  },
  /** A connection that knows nothing of Holdfast takes the write lock. */
  lock(file) {
    foreign = new Database(file);
    foreign.exec("BEGIN IMMEDIATE");
    return "locked";
  },
  unlock() {
    foreign?.exec("COMMIT");
    return "unlocked";
  },
  /** Leaves a hot rollback journal behind: changes have reached the file, and the transaction is still open. */
  half(file) {
    foreign = new Database(file);
    foreign.pragma("cache_size = 1");
    foreign.exec("BEGIN IMMEDIATE; CREATE TABLE half (x)");
    const insert = foreign.prepare("INSERT INTO half VALUES (randomblob(4000))");
    for (let row = 0; row < 200; row++) insert.run();
    return "half";
  },
};

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const [name = "", ...rest] = line.split(" ");
    let answer: unknown;
    try {
      answer = { value: commands[name]?.(rest.join(" ")) };
    } catch (error) {
      answer = error instanceof HoldfastError ? { code: error.code, details: error.details } : { bug: String((error as Error).stack) };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  })
  .on("close", () => process.exit(0));
