import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { backupRoot, checkUpgrade, restoreRoot } from "../../src/actors.ts";
import { openOwnedStore, openRootReader } from "../../src/store/root-store.ts";
import { APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION } from "../../src/store/schema.ts";
import { appendRow, entryRow, everything, NOW_MS, putOneOfEach } from "../../src/testing/store-row.ts";
import { temporary, thrownBy, Worker } from "./worker.ts";

/** A root with one row of each kind, closed, and what is in it. */
function made() {
  const directory = temporary();
  const path = join(directory, "root");
  const { store, release } = openOwnedStore({ path, create: true });
  store.write(store.beginEpoch(NOW_MS), (writer) => putOneOfEach(writer, "a"));
  const rows = everything(store);
  release();
  return { directory, path, rootId: store.rootId, rows, file: join(directory, "backup.db") };
}

function contentOf(path: string): unknown {
  const { store, release } = openOwnedStore({ path, create: false });
  const rows = everything(store);
  release();
  return rows;
}

test("a backup holds everything, belongs to this user alone, and leaves nothing beside it", () => {
  const { directory, path, rootId, rows, file } = made();
  const backup = backupRoot({ path, file });
  expect(backup).toEqual({ file, rootId, bytes: statSync(file).size });
  if (process.platform !== "win32") expect((statSync(file).mode & 0o777).toString(8)).toBe("600");
  expect(readdirSync(directory).sort()).toEqual(["backup.db", "root"]);
  const db = new Database(file, { readonly: true });
  const pragma = (name: string) => db.pragma(name, { simple: true });
  expect([pragma("integrity_check"), pragma("user_version"), pragma("application_id")]).toEqual(["ok", SCHEMA_VERSION, APPLICATION_ID]);
  db.close();
  restoreRoot({ file, path: join(directory, "restored"), as: "copied" });
  expect(contentOf(join(directory, "restored"))).toEqual(rows);
});

test("backups taken while an owner writes on hold one commit each, without a gap and without a half", async () => {
  const directory = temporary();
  const path = join(directory, "root");
  const worker = await Worker.start();
  await worker.ask(`own ${path}`);
  await worker.ask("append 10");
  worker.tell("append 3000");
  const answered = worker.answer();
  let done = false;
  void answered.then(() => (done = true));
  const lasts: number[] = [];
  for (let number = 0; !done || number < 3; number++) {
    const file = join(directory, `${number}.db`);
    backupRoot({ path, file });
    const db = new Database(file, { readonly: true });
    const positions = db.prepare("SELECT position FROM journal ORDER BY position").pluck().all() as number[];
    expect(positions).toEqual(Array.from({ length: positions.length }, (_, index) => index + 1));
    expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
    db.close();
    lasts.push(positions.length);
    await new Promise(setImmediate);
  }
  expect(await answered).toEqual({ value: 3010 });
  expect(lasts).toEqual([...lasts].sort((a, b) => a - b));
  expect(lasts.some((last) => last > 10 && last < 3010)).toBe(true);
});

test("a backup of what a killed owner left in its WAL is whole", async () => {
  const directory = temporary();
  const path = join(directory, "root");
  const worker = await Worker.start();
  await worker.ask(`own ${path}`);
  await worker.ask("append 20");
  await worker.kill();
  const file = join(directory, "backup.db");
  backupRoot({ path, file });
  const { rootId } = restoreRoot({ file, path: join(directory, "restored"), as: "moved" });
  const { store, release } = openOwnedStore({ path: join(directory, "restored"), create: false });
  expect([store.rootId, store.lastPosition(), store.beginEpoch(NOW_MS)]).toEqual([rootId, 20, 2]);
  expect(store.write(2, (writer) => appendRow(writer, entryRow("m/a", 21)))).toBe(21);
  release();
});

test("a backup replaces nothing and needs a directory", () => {
  const { directory, path, file } = made();
  writeFileSync(file, "mine");
  expect(thrownBy(() => backupRoot({ path, file }))).toMatchObject({ code: "file_exists", details: { path: file } });
  expect(readFileSync(file, "utf8")).toBe("mine");
  expect(thrownBy(() => backupRoot({ path, file: join(directory, "none", "backup.db") }))).toMatchObject({ code: "storage_failed" });
  expect(thrownBy(() => backupRoot({ path: join(directory, "none"), file: join(directory, "b.db") }))).toMatchObject({
    code: "root_not_found",
  });
  expect(readdirSync(directory).sort()).toEqual(["backup.db", "root"]);
});

test("a backup is not written into its own root, by whatever path: the next owner may write to its name", () => {
  const { directory, path, rows } = made();
  mkdirSync(join(path, "kept"));
  symlinkSync(path, join(directory, "alias"));
  for (const file of [join(path, "owner.json"), join(path, "kept", "b.db"), join(directory, "alias", "b.db")])
    expect(thrownBy(() => backupRoot({ path, file }))).toMatchObject({ code: "input_invalid", details: { path: file } });
  expect(existsSync(join(path, "owner.json"))).toBe(false);
  expect(readdirSync(join(path, "kept"))).toEqual([]);
  expect(contentOf(path)).toEqual(rows);
  // A name that begins like the root's, or like the way out of it.
  for (const name of ["root-2", "..backups"]) {
    mkdirSync(join(directory, name));
    backupRoot({ path, file: join(directory, name, "b.db") });
  }
});

test("a damaged root gives no backup, and no file", () => {
  const { directory, path, file } = made();
  truncateSync(join(path, "holdfast.db"), 4096 * 8);
  expect(thrownBy(() => backupRoot({ path, file }))).toMatchObject({ code: "journal_damaged" });
  expect(readdirSync(directory)).toEqual(["root"]);
});

test("a root of the first schema can be backed up before it is brought up to date, and restored into the present one", () => {
  const { directory, path, rootId, file } = made();
  const old = join(path, "holdfast.db");
  truncateSync(old, 0);
  const db = new Database(old);
  db.exec(MIGRATIONS[0] ?? "");
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1; INSERT INTO root VALUES (1, '${rootId}', 7)`);
  db.close();
  expect(thrownBy(() => openRootReader(path))).toMatchObject({ code: "schema_older" });
  expect(backupRoot({ path, file })).toMatchObject({ rootId });
  restoreRoot({ file, path: join(directory, "restored"), as: "moved" });
  // What the old root cannot be asked, the restored one can.
  expect(thrownBy(() => checkUpgrade({ root: path, machines: [] }))).toMatchObject({ code: "schema_older" });
  expect(checkUpgrade({ root: join(directory, "restored"), machines: [] })).toEqual([]);
  const reader = openRootReader(join(directory, "restored"));
  expect([reader.rootId, reader.epoch()]).toEqual([rootId, 7]);
  reader.close();
});

test("a restore as moved keeps the id, one as copied gives a new one, also into an empty directory", () => {
  const { directory, path, rootId, rows, file } = made();
  backupRoot({ path, file });
  const empty = join(directory, "empty");
  mkdirSync(empty, { mode: 0o700 });
  expect(restoreRoot({ file, path: empty, as: "moved" })).toMatchObject({ path: empty, rootId });
  expect(contentOf(empty)).toEqual(rows);
  const other = join(directory, "deep", "er");
  const copy = restoreRoot({ file, path: other, as: "copied" });
  expect(copy.rootId).not.toBe(rootId);
  expect(contentOf(other)).toEqual(rows);
  const { store, release } = openOwnedStore({ path: other, create: false });
  expect(store.rootId).toBe(copy.rootId);
  release();
  if (process.platform === "win32") return;
  expect(readdirSync(other).map((name) => (statSync(join(other, name)).mode & 0o777).toString(8))).toEqual(
    readdirSync(other).map(() => "600"),
  );
});

test("nothing is restored over a root, over files, or of what is no backup", () => {
  const { directory, path, rows, file } = made();
  backupRoot({ path, file });
  expect(thrownBy(() => restoreRoot({ file, path, as: "moved" }))).toMatchObject({ code: "root_invalid" });
  expect(contentOf(path)).toEqual(rows);
  const full = temporary();
  writeFileSync(join(full, "thesis.txt"), "mine", { mode: 0o600 });
  expect(thrownBy(() => restoreRoot({ file, path: full, as: "moved" }))).toMatchObject({ code: "root_invalid" });
  expect(readdirSync(full)).toEqual(["thesis.txt"]);
  const target = join(directory, "target");
  writeFileSync(join(directory, "text"), "no database ".repeat(100));
  expect(thrownBy(() => restoreRoot({ file: join(directory, "text"), path: target, as: "moved" }))).toMatchObject({ code: "root_invalid" });
  expect(thrownBy(() => restoreRoot({ file: join(directory, "none"), path: target, as: "moved" }))).toMatchObject({
    code: "root_not_found",
  });
  expect(existsSync(target)).toBe(false);
});

test("a restore that was cut off cannot be opened or adopted, and can be run again", () => {
  const { directory, path, rows, file } = made();
  backupRoot({ path, file });
  const target = join(directory, "target");
  restoreRoot({ file, path: target, as: "copied" });
  const whole = JSON.parse(readFileSync(join(target, "holdfast.json"), "utf8"));
  // A WAL of the database that is replaced, with a change that must not reach the next one.
  const database = join(target, "holdfast.db");
  const db = new Database(database);
  db.exec("UPDATE root SET epoch = 99");
  const wal = readFileSync(`${database}-wal`);
  db.close();
  writeFileSync(join(target, "holdfast.json"), JSON.stringify({ ...whole, restoring: true }));
  writeFileSync(join(target, "holdfast.db.tmp"), "half", { mode: 0o600 });
  writeFileSync(join(target, "holdfast.db-wal"), wal, { mode: 0o600 });
  for (const open of [() => openOwnedStore({ path: target, create: true }), () => openRootReader(target)])
    expect(thrownBy(open)).toMatchObject({ code: "root_invalid" });
  expect(thrownBy(() => backupRoot({ path: target, file: join(directory, "b") }))).toMatchObject({ code: "root_invalid" });
  restoreRoot({ file, path: target, as: "moved" });
  expect(contentOf(target)).toEqual(rows);
  expect(readdirSync(target).sort()).toEqual(["holdfast.db", "holdfast.json", "owner.db"]);
});

test("a restore whose backup is damaged leaves a directory that another backup can be restored into", () => {
  const { directory, path, rows, file } = made();
  backupRoot({ path, file });
  const damaged = join(directory, "damaged.db");
  const db = new Database(file, { readonly: true });
  const page = Number(db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'journal'").pluck().get());
  db.close();
  writeFileSync(damaged, readFileSync(file).fill(0xa5, (page - 1) * 4096, page * 4096));
  const target = join(directory, "target");
  expect(thrownBy(() => restoreRoot({ file: damaged, path: target, as: "moved" }))).toMatchObject({ code: "journal_damaged" });
  expect(thrownBy(() => openOwnedStore({ path: target, create: true }))).toMatchObject({ code: "root_invalid" });
  restoreRoot({ file, path: target, as: "moved" });
  expect(contentOf(target)).toEqual(rows);
});
