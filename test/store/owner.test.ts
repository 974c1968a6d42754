import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { acquireOwnership, readOwnerHints } from "../../src/store/owner.ts";
import { openRoot } from "../../src/store/root.ts";
import { openOwnedStore } from "../../src/store/root-store.ts";
import { NOW_MS } from "../../src/testing/store-row.ts";
import { askAll, startWorkers, temporary, thrownBy, Worker } from "./worker.ts";

test("of twenty processes that race for a root exactly one wins, and the others are told who", async () => {
  const directory = temporary();
  const workers = await startWorkers(20);
  const late = await Worker.start();
  // Several rounds: a lock that lets racing contenders refuse each other fails only some of them.
  for (let round = 1; round <= 10; round++) {
    const path = join(directory, `root-${round}`);
    const answers = await askAll(workers, `own ${path}`);
    const winners = workers.filter((_, index) => answers[index]?.value === 1);
    expect(winners, `round ${round}`).toHaveLength(1);
    expect(answers.filter((answer) => answer.code === "root_owned")).toHaveLength(19);
    expect(await late.ask(`own ${path}`)).toMatchObject({ code: "root_owned", details: { pid: winners[0]?.pid, program: "worker" } });
  }
});

test("a killed owner's lock is free at once, every time", async () => {
  const path = join(temporary(), "root");
  for (let epoch = 1; epoch <= 5; epoch++) {
    const worker = await Worker.start();
    expect(await worker.ask(`own ${path}`)).toEqual({ value: epoch });
    await worker.kill();
  }
  const owned = openOwnedStore({ path, create: false });
  expect(owned.store.beginEpoch(NOW_MS)).toBe(6);
  owned.release();
});

test("a stopped owner still excludes others, until it dies", async () => {
  const path = join(temporary(), "root");
  const worker = await Worker.start();
  await worker.ask(`own ${path}`);
  worker.stop();
  expect(thrownBy(() => openOwnedStore({ path, create: true }))).toMatchObject({
    code: "root_owned",
    retryable: true,
    details: { pid: worker.pid },
  });
  await worker.kill();
  openOwnedStore({ path, create: true }).release();
});

test("one process cannot own a root twice, and its refused attempt does not cost it the lock", async () => {
  const path = join(temporary(), "root");
  const owned = openOwnedStore({ path, create: true, program: "first" });
  expect(thrownBy(() => openOwnedStore({ path, create: true }))).toMatchObject({
    code: "root_owned",
    details: { pid: process.pid, program: "first" },
  });
  expect(await (await Worker.start()).ask(`own ${path}`)).toMatchObject({ code: "root_owned" });
  owned.release();
  openOwnedStore({ path, create: true }).release();
});

test("an alias of a root leads to the same lock, in this process and in others", async () => {
  const directory = temporary();
  const path = join(directory, "root");
  const owned = openOwnedStore({ path, create: true });
  symlinkSync(path, join(directory, "alias"));
  expect(openRoot({ path: join(directory, "alias"), create: false })).toEqual(owned.root);
  expect(thrownBy(() => openOwnedStore({ path: join(directory, "alias"), create: true }))).toMatchObject({ code: "root_owned" });
  expect(await (await Worker.start()).ask(`own ${join(directory, "alias")}`)).toMatchObject({ code: "root_owned" });
  owned.release();
});

test("release frees the lock for other processes, keeps the lock file and removes the hints; again it does nothing", async () => {
  const path = join(temporary(), "root");
  const first = openOwnedStore({ path, create: true });
  first.release();
  expect(thrownBy(() => first.store.epoch())).toMatchObject({ code: "closed" });
  expect(existsSync(join(path, "owner.db"))).toBe(true);
  expect(existsSync(join(path, "owner.json"))).toBe(false);
  const worker = await Worker.start();
  expect(await worker.ask(`own ${path}`)).toEqual({ value: 1 });
  first.release();
  expect(readOwnerHints(first.root)).toMatchObject({ pid: worker.pid });
  expect(await worker.ask("release")).toEqual({ value: "released" });
  openOwnedStore({ path, create: false }).release();
});

test("hints that cannot be read are absent, and decide nothing", () => {
  const root = openRoot({ path: join(temporary(), "root"), create: true });
  const ownership = acquireOwnership(root, { program: "p", clock: { now: () => 7 } });
  expect(readOwnerHints(root)).toEqual({ pid: process.pid, startedMs: 7, program: "p" });
  const text = readFileSync(join(root.path, "owner.json"), "utf8");
  for (const unreadable of ["", "{", "null", '{"pid":-1,"startedMs":1,"program":"x"}', text + " ".repeat(5000)]) {
    writeFileSync(join(root.path, "owner.json"), unreadable);
    expect(readOwnerHints(root)).toBeUndefined();
    expect(thrownBy(() => acquireOwnership(root)).details).toEqual({ path: root.path, pid: process.pid });
  }
  ownership.release();
});

test("an owner that takes over replaces the hints of one that was killed", async () => {
  const path = join(temporary(), "root");
  const worker = await Worker.start();
  await worker.ask(`own ${path}`);
  await worker.kill();
  expect(JSON.parse(readFileSync(join(path, "owner.json"), "utf8"))).toMatchObject({ pid: worker.pid });
  const owned = openOwnedStore({ path, create: false });
  expect(readOwnerHints(owned.root)).toMatchObject({ pid: process.pid });
  owned.release();
});

test("what fails after the lock was taken gives the lock back", () => {
  const path = join(temporary(), "root");
  const { databaseFile } = openRoot({ path, create: true });
  writeFileSync(databaseFile, "no database at all, and longer than a header of one hundred bytes".repeat(10));
  for (let time = 0; time < 2; time++)
    expect(thrownBy(() => openOwnedStore({ path, create: true }))).toMatchObject({ code: "root_invalid" });
  writeFileSync(databaseFile, "");
  openOwnedStore({ path, create: true }).release();
});

test("a lock file that is no database is refused with a code", () => {
  const root = openRoot({ path: join(temporary(), "root"), create: true });
  writeFileSync(join(root.path, "owner.db"), "garbage".repeat(200), { mode: 0o600 });
  expect(thrownBy(() => acquireOwnership(root))).toMatchObject({ code: "root_invalid" });
});
