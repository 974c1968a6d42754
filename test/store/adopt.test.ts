import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { adoptRoot } from "../../src/actors.ts";
import { openOwnedStore, openRootReader } from "../../src/store/root-store.ts";
import { ALL, appendRow, entryRow, NOW_MS } from "../../src/testing/store-row.ts";
import { tamper } from "./sample.ts";
import { temporary, thrownBy, Worker } from "./worker.ts";

const own = (path: string) => openOwnedStore({ path, create: false });
const refusal = (path: string) => thrownBy(() => own(path)).code;
const markerFile = (path: string) => join(path, "holdfast.json");
const marker = (path: string): Record<string, unknown> => JSON.parse(readFileSync(markerFile(path), "utf8"));
const writeMarker = (path: string, more: object) => writeFileSync(markerFile(path), JSON.stringify({ ...marker(path), ...more }));

/** A root with one entry, closed. */
function made(name = "root"): { path: string; directory: string; rootId: string } {
  const directory = temporary();
  const path = join(directory, name);
  const { store, release } = openOwnedStore({ path, create: true });
  store.write(store.beginEpoch(NOW_MS), (writer) => appendRow(writer, entryRow("m/a", 1)));
  release();
  return { path, directory, rootId: store.rootId };
}

/** The same, and a copy of it under another name. */
function copied() {
  const { path: original, directory, rootId } = made();
  const path = join(directory, "copy");
  mkdirSync(path, { mode: 0o700 });
  cpSync(original, path, { recursive: true });
  return { original, path, directory, rootId };
}

/** The root in a directory is whole, has this id, and goes on. */
function expectWhole(path: string, rootId: string): void {
  const { store, root, release } = own(path);
  expect([store.rootId, root.rootId, root.path]).toEqual([rootId, rootId, path]);
  expect(store.entries(ALL)[0]).toMatchObject(entryRow("m/a", 1));
  release();
  expect(marker(path)).toMatchObject({ schema: 2, rootId, place: { path } });
  expect(Object.keys(marker(path)).sort()).toEqual(["place", "rootId", "schema"]);
  const reader = openRootReader(path);
  expect(reader.rootId).toBe(rootId);
  reader.close();
}

test("a root that was moved within its file system is accepted, and its marker says where it is now", () => {
  const { path, directory, rootId } = made();
  renameSync(path, join(directory, "moved"));
  expectWhole(join(directory, "moved"), rootId);
  // So that it is known there, and a copy under its old name is none of it.
  mkdirSync(path, { mode: 0o700 });
  cpSync(join(directory, "moved"), path, { recursive: true });
  expect(refusal(path)).toBe("root_moved");
  expectWhole(join(directory, "moved"), rootId);
});

test("a copy that was put in the place of its root is refused as such until it is adopted, whatever became of the old directory", () => {
  const { original, path, directory, rootId } = copied();
  renameSync(original, join(directory, "old"));
  renameSync(path, original);
  const error = thrownBy(() => own(original)) as Error;
  expect(error).toMatchObject({ code: "root_moved", details: { path: original, from: original } });
  expect(error.message).toContain("put in the old one's place; `holdfast adopt --moved` keeps its id");
  expectWhole(join(directory, "old"), rootId);
  const { rootId: other } = adoptRoot({ path: original, as: "copied" });
  expectWhole(original, other);
  expectWhole(join(directory, "old"), rootId);
});

test("a root whose device has another number is accepted under its path: it may have been mounted anew", () => {
  const { path, rootId } = made();
  writeMarker(path, { place: { path, dev: "1", ino: "2" } });
  expectWhole(path, rootId);
  const { dev, ino } = statSync(path, { bigint: true });
  expect(marker(path)).toMatchObject({ place: { path, dev: `${dev}`, ino: `${ino}` } });
});

test("a copied root is refused to an owner, with what to do, and without a trace; readers may look", () => {
  const { original, path, rootId } = copied();
  rmSync(join(path, "owner.db"));
  const before = readdirSync(path).map((name) => [name, readFileSync(join(path, name), "utf8")]);
  const error = thrownBy(() => own(path)) as Error;
  expect(error).toMatchObject({ code: "root_moved", retryable: false, details: { path, from: original } });
  expect(error.message).toContain(
    "this directory was copied or restored from elsewhere; `holdfast adopt --moved` keeps its id, `--copied` gives it a new one",
  );
  expect(readdirSync(path).map((name) => [name, readFileSync(join(path, name), "utf8")])).toEqual(before);
  const reader = openRootReader(path);
  expect([reader.rootId, reader.lastPosition()]).toEqual([rootId, 1]);
  reader.close();
  expectWhole(original, rootId);
});

test("an alias of a root is no copy of it", () => {
  const { path, directory, rootId } = made();
  symlinkSync(path, join(directory, "alias"));
  const { root, release } = own(join(directory, "alias"));
  expect(root).toMatchObject({ path, rootId });
  release();
});

test("a copy that is adopted as moved keeps its id, one adopted as copied gets its own", () => {
  const first = copied();
  expect(adoptRoot({ path: first.path, as: "moved" })).toMatchObject({ path: first.path, rootId: first.rootId });
  expectWhole(first.path, first.rootId);
  const second = copied();
  const { rootId } = adoptRoot({ path: second.path, as: "copied" });
  expect(rootId).not.toBe(second.rootId);
  expectWhole(second.path, rootId);
  expectWhole(second.original, second.rootId);
});

test("a marker of the first version is read, and brought up to date by its owner and not by a reader", () => {
  const { path, directory, rootId } = made();
  const old = `${JSON.stringify({ schema: 1, rootId })}\n`;
  writeFileSync(markerFile(path), old);
  openRootReader(path).close();
  expect(readFileSync(markerFile(path), "utf8")).toBe(old);
  expectWhole(path, rootId);
  mkdirSync(join(directory, "copy"), { mode: 0o700 });
  cpSync(path, join(directory, "copy"), { recursive: true });
  expect(refusal(join(directory, "copy"))).toBe("root_moved");
});

test("adoption needs the owner lock", async () => {
  const { path } = made();
  const worker = await Worker.start();
  await worker.ask(`own ${path}`);
  const before = readFileSync(markerFile(path), "utf8");
  for (const as of ["moved", "copied"] as const) expect(thrownBy(() => adoptRoot({ path, as }))).toMatchObject({ code: "root_owned" });
  expect(readFileSync(markerFile(path), "utf8")).toBe(before);
  await worker.kill();
  adoptRoot({ path, as: "moved" });
});

test("what is no root is not adopted", () => {
  const directory = temporary();
  expect(thrownBy(() => adoptRoot({ path: directory, as: "copied" }))).toMatchObject({ code: "root_not_found" });
  expect(existsSync(markerFile(directory))).toBe(false);
});

const ADOPTING = "0198c5a6-0000-7000-8000-00000000000a";
/** What each step of an adoption as copied leaves where it is the last. */
const CRASHES: Record<string, (path: string) => void> = {
  "the intent": (path) => writeMarker(path, { adopting: ADOPTING }),
  "the database": (path) => {
    writeMarker(path, { adopting: ADOPTING });
    tamper(join(path, "holdfast.db"), `UPDATE root SET root_id = '${ADOPTING}'`);
  },
};
test.each(Object.keys(CRASHES))(
  "an adoption that was cut off after %s keeps owners away, lets readers look, and can be finished either way",
  (step) => {
    // The last two at home, where no other place keeps owners away.
    for (const [as, { path, rootId }] of [
      ["moved", copied()],
      ["copied", copied()],
      ["moved", made()],
      ["copied", made()],
    ] as const) {
      CRASHES[step]?.(path);
      expect(refusal(path)).toBe("root_moved");
      const reader = openRootReader(path);
      expect(reader.lastPosition()).toBe(1);
      reader.close();
      const adopted = adoptRoot({ path, as });
      expect(adopted.rootId).toBe(as === "moved" ? rootId : ADOPTING);
      expectWhole(path, adopted.rootId);
    }
  },
);

test("a crash while the next marker was being written does not stop the adoption that follows", () => {
  const { path } = copied();
  writeFileSync(`${markerFile(path)}.tmp`, "{", { mode: 0o600 });
  expectWhole(path, adoptRoot({ path, as: "copied" }).rootId);
  expect(existsSync(`${markerFile(path)}.tmp`)).toBe(false);
});

test("a marker and a database that know nothing of each other are not adopted", () => {
  const { path } = copied();
  tamper(join(path, "holdfast.db"), `UPDATE root SET root_id = '${ADOPTING}'`);
  expect(thrownBy(() => adoptRoot({ path, as: "moved" }))).toMatchObject({ code: "root_invalid" });
});
