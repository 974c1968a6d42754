import { createHash } from "node:crypto";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { APPLICATION_ID, MIGRATIONS } from "../../src/store/schema.ts";
import { openSqliteReader, openSqliteStore } from "../../src/store/sqlite.ts";
import { ALL, actorRow, answerRow, appendRow, digestOf, effectRow, entryRow, letterRow, NOW_MS } from "../../src/testing/store-row.ts";
import { tamper } from "./sample.ts";
import { temporary, thrownBy } from "./worker.ts";

const ROOT_ID = "0198c5a6-0000-7000-8000-000000000000";

/** A database as version 1 of the schema left it, with rows in every table and the last entry cut off. */
function released(): string {
  const file = join(temporary(), "released.db");
  const db = new Database(file);
  db.pragma("journal_mode = WAL");
  db.exec(MIGRATIONS[0] ?? "");
  db.pragma(`application_id = ${APPLICATION_ID}`);
  db.pragma("user_version = 1");
  const insert = (table: string, row: Record<string, unknown>) => {
    const columns = Object.keys(row);
    db.prepare(`INSERT INTO ${table} (${columns}) VALUES (${columns.map(() => "?")})`).run(...Object.values(row));
  };
  insert("root", { one: 1, root_id: ROOT_ID, epoch: 4 });
  for (const [address, ordinal] of Object.entries({ "m/a": 3, "m/b": 7 })) {
    const { createdMs, updatedMs, definition: _, quarantine, ...row } = actorRow(address, { seq: 2, hash: "h2", epoch: 4 });
    insert("actors", { ...row, ordinal, created_ms: createdMs, updated_ms: updatedMs, quarantine });
    for (const seq of [1, 2, 3]) {
      const { atMs, ...entry } = entryRow(address, seq);
      insert("journal", { ...entry, at_ms: atMs, body: "b" });
    }
    insert("answers", { actor: address, key: "k", event: "e", answer: "{}" });
    insert("identities", { name: `id of ${address}`, actor: address });
    const { openedMs, child: __, ...effect } = effectRow(`${address}:e`, { actor: address });
    insert("effects", { ...effect, opened_ms: openedMs });
    const { atMs, ...letter } = letterRow(address);
    insert("dead_letters", { ...letter, at_ms: atMs });
    const bytes = Buffer.from(address);
    insert("blobs", { digest: digestOf(bytes), bytes });
  }
  insert("answers", { actor: "m/gone", key: "k", event: "e", answer: "{}" });
  db.exec(
    "DELETE FROM journal WHERE actor = 'm/b' AND seq = 3; DELETE FROM effects WHERE actor = 'm/b'; DELETE FROM dead_letters WHERE receiver = 'm/b'",
  );
  db.close();
  return file;
}

test("the first version of the schema is as it was released", () => {
  const digest = createHash("sha256")
    .update(MIGRATIONS[0] ?? "")
    .digest("hex");
  expect(digest).toBe("c9058344b39813538fb7c2943ec9bf38cb1a53a0d611dff1c48cb414a984989e");
});

test("a database of the first version is whole after it was opened, its hashes unchanged", () => {
  const file = released();
  const store = openSqliteStore({ file, rootId: ROOT_ID });
  expect([store.rootId, store.epoch(), store.lastPosition()]).toEqual([ROOT_ID, 4, 6]);
  const actor = (address: string) => actorRow(address, { seq: 2, hash: "h2", epoch: 4, definition: "" });
  expect(store.actors({}, ALL)).toEqual([
    { ...actor("m/a"), ordinal: 3 },
    { ...actor("m/b"), ordinal: 7 },
  ]);
  const places = [["m/a", 1], ["m/a", 2], ["m/a", 3], ["m/b", 1], ["m/b", 2]] as const; // biome-ignore format: a table
  expect(store.entries(ALL)).toEqual(places.map(([address, seq], index) => ({ ...entryRow(address, seq), position: index + 1 })));
  const effect = effectRow("m/a:e", { actor: "m/a", child: null });
  expect(store.effects({}, ALL)).toEqual([{ ...effect, ordinal: 1 }]);
  expect(store.startableEffects(ALL)).toEqual([{ ...effect, ordinal: 1, machine: "m", version: "1", definition: "" }]);
  expect(store.deadLetters({}, ALL)).toEqual([{ ...letterRow("m/a"), position: 1 }]);
  expect([store.identity("id of m/b"), store.identities("m/a")]).toEqual(["m/b", ["id of m/a"]]);
  const storedMs = NOW_MS;
  expect(store.blobs(ALL)).toEqual(
    [1, 2].map((ordinal) => ({ ordinal, digest: digestOf(Buffer.from(ordinal === 1 ? "m/a" : "m/b")), size: 3, storedMs })),
  );
  expect(Buffer.from(store.blob(digestOf(Buffer.from("m/b"))) ?? []).toString()).toBe("m/b");
  expect([store.timers({}, ALL), store.tombstones(ALL), store.watermarks()]).toEqual([[], [], { answersMs: 0, deadLettersMs: 0 }]);
  store.close();
});

test("an answer of the first version is as old as its actor's last entry, and 0 where its actor is gone", () => {
  const store = openSqliteStore({ file: released() });
  expect(store.answer("m/a", "k")).toEqual(answerRow("m/a", "k", { atMs: NOW_MS + 1 }));
  expect(store.answer("m/gone", "k")).toEqual(answerRow("m/gone", "k", { atMs: 0 }));
  store.close();
});

test("ordinals and positions of the first version are not given out again", () => {
  const store = openSqliteStore({ file: released() });
  const position = store.write(store.beginEpoch(NOW_MS), (writer) => {
    writer.putEffect(effectRow("new"));
    writer.putDeadLetter(letterRow("m/a"));
    writer.putActor(actorRow("m/new"));
    return appendRow(writer, entryRow("m/new", 1));
  });
  expect([position, store.lastPosition()]).toEqual([7, 7]);
  expect(store.actors({}, ALL).map((row) => row.ordinal)).toEqual([3, 7, 8]);
  expect(store.effects({}, ALL).map((row) => row.ordinal)).toEqual([1, 3]);
  expect(store.deadLetters({}, ALL).map((row) => row.position)).toEqual([1, 3]);
  store.close();
});

test("the chains of a migrated journal are those that a new one has", () => {
  const chains = (file: string) => {
    const db = new Database(file, { readonly: true });
    const rows = ["SELECT position, actor, seq, before FROM journal", "SELECT address, seq, position FROM actors"].map((sql) =>
      db.prepare(sql).all(),
    );
    db.close();
    return rows;
  };
  const migrated = released();
  openSqliteStore({ file: migrated }).close();
  const fresh = join(temporary(), "fresh.db");
  const store = openSqliteStore({ file: fresh });
  store.write(store.beginEpoch(NOW_MS), (writer) => {
    for (const seq of [1, 2, 3]) appendRow(writer, entryRow("m/a", seq));
    for (const seq of [1, 2]) appendRow(writer, entryRow("m/b", seq));
    for (const [address, seq] of [["m/a", 2], ["m/b", 2]] as const) writer.putActor(actorRow(address, { seq })); // biome-ignore format: a list
  });
  store.close();
  expect(chains(migrated)).toEqual(chains(fresh));
});

test("a migrated database has the schema of a new one", () => {
  const files = [released(), join(temporary(), "new.db")];
  const schemas = files.map((file) => {
    openSqliteStore({ file }).close();
    const db = new Database(file);
    const schema = db.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name").all();
    db.close();
    return schema;
  });
  expect(schemas[0]).toEqual(schemas[1]);
});

test("a database of the first version whose tables are not as they were is refused, and stays as it was", () => {
  const file = released();
  tamper(file, "DROP TABLE identities; ALTER TABLE answers RENAME COLUMN actor TO who");
  expect(thrownBy(() => openSqliteStore({ file }))).toMatchObject({ code: "journal_damaged" });
  const db = new Database(file);
  expect(db.pragma("user_version", { simple: true })).toBe(1);
  expect(db.prepare("SELECT count(*) FROM journal WHERE body = 'b'").pluck().get()).toBe(5);
  db.close();
});

test("a reader does not migrate, and says that the owner does", () => {
  const file = released();
  expect(thrownBy(() => openSqliteReader({ file }))).toMatchObject({ code: "schema_older" });
});
