import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { registerAll } from "../../src/actor/engine.ts";
import type { Store } from "../../src/actor/store.ts";
import { checkUpgrade, type UpgradeReport } from "../../src/actor/upgrade.ts";
import { checkUpgrade as checkRoot, openActors } from "../../src/actors.ts";
import { counter, handlers, place, STORES, temporary } from "./counter.ts";
import { asleep, harbour, moved, NEW, sail, ship, ship2, shipOf } from "./ship.ts";

function check(store: Store, machine: typeof ship, changed?: "refuse" | "refold"): UpgradeReport[] {
  return [...checkUpgrade(store, registerAll([machine]), (transition) => transition(), changed)];
}

/** Changes an actor's row without the engine. */
function change(store: Store, address: string, changed: object): void {
  store.write(store.epoch(), (writer) => {
    const row = writer.actor(address);
    if (row) writer.putActor({ ...row, ...changed });
  });
}

const blocked = (actor: string, code: string, path?: string) => ({
  actor,
  verdict: "blocked",
  code,
  ...(path === undefined ? {} : { path }),
});
const throws = (): never => {
  throw new Error("no way");
};

describe.each(STORES)("an upgrade check (%s)", (kind) => {
  it("reports each unfinished actor: the same, migratable, or blocked with the code and the place", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [{ type: "add", by: 1 }], b: [{ type: "wait" }], c: [{ type: "work", by: 1 }], d: [{ type: "end" }], e: [] });
    const before = [store.entries({ limit: 99 }), store.actors({}, { limit: 99 }), store.epoch()];
    const verdicts = (machine: typeof ship, changed?: "refold") =>
      check(store, machine, changed).map(({ reason: _, from: __, to: ___, ...report }) => report);
    const each = (verdict: string) => ["a", "b", "c", "e"].map((id) => ({ actor: `ship/${id}`, verdict }));
    expect(verdicts(ship)).toEqual(each("same"));
    expect(verdicts(ship2())).toEqual(each("migratable"));
    expect(check(store, ship2())[0]).toEqual({ actor: "ship/a", from: "1", to: "2", verdict: "migratable" });
    expect(verdicts(counter as never)).toEqual(each("blocked").map((report) => ({ ...report, code: "machine_unknown" })));
    expect(verdicts(shipOf({ version: "2" }))).toEqual(
      each("blocked").map(({ actor }) => blocked(actor, "machine_version_unknown", "version")),
    );
    expect(verdicts(shipOf({ version: "0" }))).toEqual(each("blocked").map(({ actor }) => blocked(actor, "machine_version_newer")));
    expect(verdicts(ship2((stored) => (stored.value === "waiting" ? throws() : { ...moved.migrate(stored), value: "rest" })))).toEqual([
      { actor: "ship/a", verdict: "migratable" },
      blocked("ship/b", "migration_failed", "$"),
      blocked("ship/c", "migration_failed", "effects.0.scope"),
      { actor: "ship/e", verdict: "migratable" },
    ]);
    // Under the same version: what it states, where it goes, what it asks for, what it is called.
    expect(verdicts(shipOf({ version: "1", told: (n) => ({ n: -n }) }))[0]).toEqual(blocked("ship/a", "fold_mismatch", "entry 2"));
    expect(verdicts(shipOf({ version: "1", waiting: "sleeping" }))[1]).toEqual(blocked("ship/b", "machine_changed", "entry 2"));
    const tagged = shipOf({ version: "1", tags: ["quiet"] });
    expect(verdicts(tagged)).toEqual(each("blocked").map(({ actor }) => blocked(actor, "machine_changed", "definition")));
    expect(verdicts(tagged, "refold")).toEqual(each("same"));
    expect([store.entries({ limit: 99 }), store.actors({}, { limit: 99 }), store.epoch()]).toEqual(before);
  });

  it("says what it will come to: each verdict is what the deploy then does", async () => {
    for (const machine of [ship, ship2(), shipOf({ version: "2" }), shipOf({ version: "1", tags: ["quiet"] }), ship2(throws)]) {
      const { store } = place(kind);
      await harbour(store, { a: [{ type: "add", by: 1 }], b: [{ type: "wait" }] });
      const reports = check(store, machine);
      const engine = await sail(store, machine);
      for (const { actor, verdict, code } of reports) {
        const answer = await engine.get(machine, actor.slice(5))?.send({ type: "add", by: 1 } as never);
        expect(answer?.kind === "refused" ? answer.code : "takes events").toBe(verdict === "blocked" ? code : "takes events");
      }
      await engine.close();
    }
  });

  it("holds a migrated snapshot against the bound that the opening has", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [] });
    const machine = ship2();
    const within = (sizeLimit: number) => checkUpgrade(store, registerAll([machine]), (transition) => transition(), "refuse", sizeLimit);
    const engine = await sail(store, machine, { contextLimit: 40 });
    const answer = await engine.get(machine, "a")?.send({ type: "add", by: 1 } as never);
    expect(answer).toMatchObject({ kind: "refused", code: "migration_failed" });
    await engine.close();
    const reports = (sizeLimit: number) => [...within(sizeLimit)];
    const { length } = Array.from({ length: 1000 }).filter((_, limit) => reports(limit)[0]?.verdict === "blocked");
    expect(reports(length)).toMatchObject([{ verdict: "migratable" }]);
    expect(reports(length - 1)).toMatchObject([blocked("ship/a", "migration_failed", "context")]);
    const other = await sail(store, machine);
    expect(store.actor("ship/a")?.snapshot).toHaveLength(length);
    await other.close();
  });

  it("says of a machine that was changed under its version which entry shows it, what differs there, and what to do", async () => {
    const { store } = place(kind);
    await harbour(store, { b: [{ type: "wait" }] });
    const hasty = shipOf({ version: "1", soon: 2000 });
    const [report] = check(store, hasty);
    expect(report).toMatchObject({ verdict: "blocked", code: "machine_changed", path: "entry 2" });
    expect(report?.reason).toMatch(
      /version 1: entry 2 has other requests .*\$\.0\.delayMs.*; give the changed machine a version of its own/,
    );
    const engine = await sail(store, hasty);
    expect(await engine.get(hasty, "b")?.send({ type: "rest" } as never)).toMatchObject({ code: "machine_changed" });
    await engine.close();
  });

  it("hides none behind one that is damaged or set aside", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [], b: [], c: [], d: [], e: [], f: [] });
    change(store, "ship/a", { snapshot: "{" });
    change(store, "ship/b", { hash: "0" });
    change(store, "ship/c", { seq: 7 });
    change(store, "ship/d", { quarantine: { code: "event_poisoned", message: "it threw", atMs: 1 } });
    change(store, "ship/e", { snapshot: store.actor("ship/e")?.snapshot.replace("1", "2") });
    expect(check(store, ship)[3]).toMatchObject({
      verdict: "quarantined",
      reason: "event_poisoned: it threw; release it before the deploy or after",
    });
    const of = (machine: typeof ship) => check(store, machine).map(({ actor, verdict, code }) => [actor.slice(5), code ?? verdict]);
    const both = [["a", "snapshot_damaged"], ["b", "snapshot_damaged"], ["c", "snapshot_damaged"], ["d", "actor_quarantined"]]; // biome-ignore format: a table
    expect(of(ship)).toEqual([...both, ["e", "fold_mismatch"], ["f", "same"]]);
    expect(of(ship2())).toEqual([...both, ["e", "migratable"], ["f", "migratable"]]);
  });

  it("goes over all pages", async () => {
    const { store } = place(kind);
    const engine = await sail(store, ship);
    await Promise.all(Array.from({ length: 1001 }, (_, id) => engine.create(ship, `s${id}`, { input: { start: 1 } as never })));
    await engine.close();
    const reports = check(store, ship2());
    expect([
      reports.length,
      new Set(reports.map(({ actor }) => actor)).size,
      reports.every(({ verdict }) => verdict === "migratable"),
    ]).toEqual([1001, 1001, true]);
  });
});

it("an upgrade check tells damage from a change: an entry that was tampered with is no fault of the changed machine", async () => {
  const { store, file } = place("sqlite");
  await harbour(store, { a: [{ type: "add", by: 1 }] });
  const db = new Database(file as string);
  db.exec("UPDATE journal SET event = replace(event, '1', '2') WHERE seq = 1");
  db.close();
  const louder = shipOf({ version: "1", told: (n) => ({ n: -n }), tags: ["loud"] });
  expect(check(store, louder)).toMatchObject([{ verdict: "blocked", code: "journal_damaged", path: "entry 1" }]);
});

it("an upgrade check of a root reads it beside its owner and changes no file of it", async () => {
  const root = join(temporary(), "root");
  const engine = await openActors({ root, machines: [ship, counter], effects: { ...asleep, ...handlers } });
  await engine.create(ship, "a", { input: { start: 1 } as never });
  const next = shipOf({ ...NEW, version: "2", migrations: { 1: moved } });
  const reports = () => checkRoot({ root, machines: [next, counter] });
  const bytes = () =>
    readdirSync(root)
      .filter((name) => !name.endsWith("-shm"))
      .sort()
      .map((name) => [name, readFileSync(join(root, name)).toString("hex")]);
  const before = bytes();
  expect(reports()).toEqual([{ actor: "ship/a", from: "1", to: "2", verdict: "migratable" }]);
  expect(bytes()).toEqual(before);
  await engine.close();
  expect(reports()).toHaveLength(1);
});
