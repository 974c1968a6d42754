/** A database file for a test, and a way to change it behind the store's back. */

import { join } from "node:path";
import Database from "better-sqlite3";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { actorRow, appendRow, entryRow, NOW_MS } from "../../src/testing/store-row.ts";
import { temporary } from "./worker.ts";

/** Runs SQL over a connection of its own. */
export function tamper(file: string, sql: string): void {
  const db = new Database(file);
  db.exec(sql);
  db.close();
}

/** A closed store with some rows. */
export function filled(entries = 3): string {
  const file = join(temporary(), "some.db");
  const store = openSqliteStore({ file });
  const epoch = store.beginEpoch(NOW_MS);
  store.write(epoch, (writer) => {
    writer.putActor(actorRow("m/a", { quarantine: { code: "c", message: "m", atMs: 1 } }));
    for (let seq = 1; seq <= entries; seq++) appendRow(writer, entryRow("m/a", seq, { event: "x".repeat(500) }));
  });
  store.close();
  return file;
}
