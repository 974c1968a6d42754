import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openRoot } from "../../src/store/root.ts";
import { openOwnedStore, openRootReader } from "../../src/store/root-store.ts";
import { askAll, startWorkers, temporary, thrownBy, Worker } from "./worker.ts";

const open = (path: string, create = true) => openRoot({ path, create });
const refusal = (path: string, create = true) => thrownBy(() => open(path, create)).code;
const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
/** Declares a test where its subject exists: Windows has neither modes nor users in this sense. */
const onPosix = process.platform === "win32" ? () => undefined : test;
const asSuperuser = process.geteuid?.() === 0 ? test : () => undefined;

test("a new root is made once and found again under its real path", () => {
  const path = join(temporary(), "a", "räum ?%20#x:y");
  const root = open(path);
  expect(open(path, false)).toEqual(root);
  expect(open(path)).toEqual(root);
  expect(root).toMatchObject({ path, databaseFile: join(path, "holdfast.db") });
  expect(JSON.parse(readFileSync(join(path, "holdfast.json"), "utf8"))).toEqual({
    schema: 2,
    rootId: root.rootId,
    place: { path, dev: `${statSync(path).dev}`, ino: `${statSync(path).ino}` },
  });
  const owned = openOwnedStore({ path, create: false });
  expect(owned.store.rootId).toBe(root.rootId);
  owned.release();
});

test("an empty directory becomes a root; a directory with anything else in it does not", () => {
  const empty = temporary();
  open(empty);
  const strange = temporary();
  writeFileSync(join(strange, "thesis.txt"), "mine", { mode: 0o600 });
  expect(refusal(strange)).toBe("root_invalid");
  expect(readdirSync(strange)).toEqual(["thesis.txt"]);
});

test("what a creator that crashed left behind does not stop the next one", () => {
  const path = temporary();
  writeFileSync(join(path, ".holdfast-0198c5a6-0000-7000-8000-000000000000.tmp"), "{", { mode: 0o600 });
  writeFileSync(join(path, "holdfast.db"), "", { mode: 0o600 });
  open(path);
  const other = temporary();
  writeFileSync(join(other, "holdfast.db"), "someone's data", { mode: 0o600 });
  expect(refusal(other)).toBe("root_invalid");
});

test("of processes that create one root at the same time, all get one id", async () => {
  const directory = temporary();
  const workers = await startWorkers(12);
  for (let round = 1; round <= 20; round++) {
    const path = join(directory, `root-${round}`);
    const answers = await askAll(workers, `root ${path}`);
    const { rootId } = open(path, false);
    expect(answers).toEqual(workers.map(() => ({ value: rootId })));
    expect(readdirSync(path).sort()).toEqual(["holdfast.db", "holdfast.json"]);
  }
});

test("a missing root is not made without being asked, and a file is not a root", () => {
  const directory = temporary();
  expect(refusal(join(directory, "none"), false)).toBe("root_not_found");
  expect(existsSync(join(directory, "none"))).toBe(false);
  expect(refusal(directory, false)).toBe("root_not_found");
  writeFileSync(join(directory, "file"), "");
  for (const create of [true, false]) {
    expect(refusal(join(directory, "file"), create)).toBe("root_invalid");
    expect(refusal(join(directory, "file", "below"), create)).toBe("root_invalid");
    expect(refusal("nul\0byte", create)).toBe("root_invalid");
  }
});

test("a marker that is not one is refused and kept", () => {
  const path = join(temporary(), "root");
  const { rootId } = open(path);
  const marker = join(path, "holdfast.json");
  const good = readFileSync(marker, "utf8");
  const bad = [
    "",
    "{",
    "[]",
    "null",
    JSON.stringify({ schema: 1 }),
    JSON.stringify({ schema: 1, rootId: "x" }),
    JSON.stringify({ schema: 0, rootId }),
    JSON.stringify({ schema: 2, rootId }),
    JSON.stringify({ schema: 2, rootId, place: { path, dev: 1, ino: 2 } }),
  ];
  for (const text of [...bad, JSON.stringify({ schema: 1, rootId, more: 1 }), good + " ".repeat(32 * 1024)]) {
    writeFileSync(marker, text);
    expect(refusal(path), text).toBe("root_invalid");
    expect(readFileSync(marker, "utf8")).toBe(text);
  }
  writeFileSync(marker, JSON.stringify({ schema: 3, anything: true }));
  expect(refusal(path)).toBe("schema_newer");
  rmSync(marker);
  writeFileSync(join(path, "elsewhere"), good, { mode: 0o600 });
  symlinkSync("elsewhere", marker);
  expect(refusal(path)).toBe("root_invalid");
  rmSync(marker);
  mkdirSync(marker);
  expect(refusal(path)).toBe("root_invalid");
});

test("a marker and a database of different roots are refused, for owners and for readers", () => {
  const directory = temporary();
  for (const name of ["a", "b"]) openOwnedStore({ path: join(directory, name), create: true }).release();
  const [a, b] = ["a", "b"].map((name) => JSON.parse(readFileSync(join(directory, name, "holdfast.json"), "utf8")));
  writeFileSync(join(directory, "a", "holdfast.json"), JSON.stringify({ ...a, rootId: b.rootId }));
  expect(thrownBy(() => openOwnedStore({ path: join(directory, "a"), create: true }))).toMatchObject({ code: "root_invalid" });
  expect(thrownBy(() => openRootReader(join(directory, "a")))).toMatchObject({ code: "root_invalid" });
});

test("a root whose database is gone is refused, not started anew", () => {
  const path = join(temporary(), "root");
  openOwnedStore({ path, create: true }).release();
  rmSync(join(path, "holdfast.db"));
  expect(refusal(path)).toBe("root_invalid");
  expect(existsSync(join(path, "holdfast.db"))).toBe(false);
});

test("a reader of a root whose owner has not written yet is told that there is nothing", () => {
  const path = join(temporary(), "root");
  open(path);
  expect(thrownBy(() => openRootReader(path))).toMatchObject({ code: "root_not_found" });
});

onPosix("a new root and everything in it belong to this user alone, whatever the umask", async () => {
  const path = join(temporary(), "root");
  const worker = await Worker.start();
  await worker.ask(`own ${path}`);
  await worker.ask("append 3");
  const modes = Object.fromEntries(readdirSync(path).map((name) => [name, mode(join(path, name))]));
  const names = ["holdfast.db", "holdfast.db-shm", "holdfast.db-wal", "holdfast.json", "owner.db", "owner.json"];
  expect(modes).toEqual(Object.fromEntries(names.map((name) => [name, "600"])));
  expect(mode(path)).toBe("700");
});

onPosix("a root or a file in it that others can reach is refused, and left as it is", () => {
  const path = join(temporary(), "root");
  openOwnedStore({ path, create: true }).release();
  for (const name of ["", "holdfast.json", "holdfast.db", "owner.db"]) {
    const before = statSync(join(path, name)).mode & 0o777;
    for (const shared of [0o770, 0o604, 0o610, 0o702]) {
      // Without its own search bit even the directory's owner could not look inside.
      chmodSync(join(path, name), shared | before);
      expect(refusal(path), `${name} ${shared.toString(8)}`).toBe("root_insecure");
    }
    chmodSync(join(path, name), before);
  }
  open(path);
  const shared = temporary();
  chmodSync(shared, 0o755);
  expect(refusal(shared)).toBe("root_insecure");
  expect(readdirSync(shared)).toEqual([]);
});

onPosix("a database that is a symbolic link is refused", () => {
  const path = join(temporary(), "root");
  openOwnedStore({ path, create: true }).release();
  rmSync(join(path, "holdfast.db"));
  writeFileSync(join(path, "other.db"), "", { mode: 0o600 });
  symlinkSync("other.db", join(path, "holdfast.db"));
  expect(refusal(path)).toBe("root_invalid");
});

asSuperuser("a root that belongs to another user is refused", () => {
  const path = join(temporary(), "root");
  open(path);
  chownSync(join(path, "holdfast.json"), 12345, 12345);
  expect(refusal(path)).toBe("root_insecure");
  chownSync(path, 12345, 12345);
  expect(refusal(path)).toBe("root_insecure");
});
