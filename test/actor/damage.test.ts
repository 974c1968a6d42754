import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Engine, openEngine, registerAll } from "../../src/actor/engine.ts";
import { HoldfastError } from "../../src/actor/error.ts";
import { verify } from "../../src/actor/verify.ts";
import { MIGRATIONS } from "../../src/store/schema.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { simulatedClock } from "../../src/testing/index.ts";
import { counter, handlers, temporary } from "./counter.ts";
import { asleep, ship } from "./ship.ts";

const pending = () => new Promise<never>(() => {});
const options = () => ({
  machines: [counter, ship],
  effects: { ...handlers, ...asleep, work: pending, once: pending },
  closeGraceMs: 0,
  clock: simulatedClock(),
});

/** A root with a row in every table; what `counter/h` has is never damaged. */
async function makeRoot(file: string): Promise<Buffer> {
  const store = openSqliteStore({ file, synchronous: "normal" });
  const clock = simulatedClock();
  const engine = await openEngine(store, { ...options(), clock });
  const make = (id: string, keys: string[] = []) => engine.create(counter, id, { input: { start: 0 }, keys });
  const [a, b, q, gone] = [await make("a", ["order/1"]), await make("b"), await make("q"), await make("gone")];
  await gone.send({ type: "count.end" });
  const sailing = await engine.create(ship, "a", { input: { start: 1 } as never });
  await sailing.send({ type: "wait" } as never);
  await make("h");
  await gone.delete();
  await a.send({ type: "count.tell", to: "counter/b", by: 3 }, { key: "k" });
  await a.send({ type: "count.create", id: "c", start: 5, keys: [] });
  await a.send({ type: "count.say", to: "stranger/x", event: { type: "none", pad: "x".repeat(70_000) } });
  await b.send({ type: "count.say", to: q.address, event: { type: "assign.throw" } });
  await a.send({ type: "work.start", by: 4 });
  await b.send({ type: "silent.start" });
  await engine.putBlob(new TextEncoder().encode("idle"));
  await engine.close();
  const db = new Database(file);
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
  store.close();
  return readFileSync(file);
}

/** The row of each table that is damaged. */
const ROWS: Readonly<Record<string, string>> = {
  root: "one = 1",
  actors: "address = 'counter/a'",
  journal: "actor = 'counter/a' AND seq = 2",
  answers: "key = 'k'",
  identities: "name = 'order/1'",
  effects: "actor = 'counter/a'",
  timers: "key = (SELECT min(key) FROM timers)",
  dead_letters: "receiver = 'counter/q'",
  blobs: "length(bytes) > 1000",
  tombstones: "address = 'counter/gone'",
};

/** Wrong values of a type; "final" and "ship" are right elsewhere. A number beyond 2^53 is more than JavaScript can tell. */
const GARBAGE: Readonly<Record<string, readonly unknown[]>> = {
  TEXT: ["", '{"a\u0000', "counter/b", "99"],
  INTEGER: [-1n, 9_007_199_254_740_993n, 9_223_372_036_854_775_807n],
  BLOB: [Buffer.alloc(0), Buffer.from("other")],
};
const STRANGERS = ["ship", "ship/a", "final"];
const garbageFor = (column: string, type: string) => [
  ...(GARBAGE[type] ?? []),
  ...(/machine|address|actor|sender|receiver|status/.test(column) ? STRANGERS : []),
];

/** What no entry accounts for, so that verify cannot miss it; it must do no harm all the same. */
const UNACCOUNTED = new Set([
  // Where the chain is to be found: what does not fit is not used.
  "journal.before",
  "actors.position",
  "actors.ordinal",
  "actors.definition",
  "actors.epoch",
  "actors.quarantine",
  "effects.ordinal",
  "effects.state",
  "effects.epoch",
  "effects.opened_ms",
  "effects.error",
  "timers.ordinal",
  "timers.state",
  "dead_letters.position",
  "dead_letters.reason",
  "dead_letters.at_ms",
  "answers.event",
  "answers.at_ms",
  "blobs.ordinal",
  "blobs.stored_ms",
  "tombstones.ordinal",
  "tombstones.version",
  "tombstones.state",
  "tombstones.hash",
  "tombstones.deleted_ms",
]);

/** What belongs to the root as a whole: its damage may refuse the start, with a code that names it. */
const ROOT_LEVEL = new Set(["root", "journal.position"]);

let base: Buffer;
let file: string;
const scratch = new Database(":memory:");
for (const step of MIGRATIONS) scratch.exec(step);
const columns = Object.keys(ROWS).flatMap((table) =>
  (scratch.pragma(`table_info(${table})`) as { name: string; type: string }[]).map(({ name, type }) => [table, name, type] as const),
);
const tables = scratch
  .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
  .pluck()
  .all() as string[];
afterAll(() => scratch.close());

beforeAll(async () => {
  const { mkdtempSync, rmSync } = await import("node:fs");
  const { tmpdir } = await import("node:os");
  const directory = mkdtempSync(join(tmpdir(), "holdfast-damage-"));
  base = await makeRoot(join(directory, "root.db"));
  rmSync(directory, { recursive: true, force: true });
});

/** Runs SQL that no store would run; false where the schema itself refuses it. */
function tamper(sql: string, ...values: unknown[]): boolean {
  file = join(temporary(), "root.db");
  writeFileSync(file, base);
  const db = new Database(file);
  try {
    return db.prepare(sql).run(...values).changes > 0;
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith("SQLITE_CONSTRAINT")) return false;
    throw error;
  } finally {
    db.close();
  }
}

/** What became of the start, and of those who have no part in the damage. */
async function start(isChecked = true): Promise<{ refused?: string; found: boolean; others: unknown }> {
  let engine: Engine;
  const store = (() => {
    try {
      return openSqliteStore({ file, synchronous: "normal" });
    } catch (error) {
      return error as HoldfastError;
    }
  })();
  if (store instanceof Error) return { refused: (store as HoldfastError).code, found: true, others: undefined };
  // As it lies: what starts may mend a column that it writes anyway.
  const lying = !isChecked ? 0 : verify(store, registerAll([counter, ship]), (transition) => transition()).faults.length;
  try {
    engine = await openEngine(store, { ...options(), release: () => store.close() });
  } catch (error) {
    store.close();
    return { refused: error instanceof HoldfastError ? error.code : String(error), found: true, others: undefined };
  }
  const before = engine.list({ quarantined: true }).length;
  const first = await engine.get(counter, "h")?.send({ type: "count.add", by: 1 });
  const fresh = await engine.create(counter, "fresh", { input: { start: 0 } });
  const second = await fresh.send({ type: "count.tell", to: "counter/h", by: 1 });
  for (const id of ["a", "b", "c", "q"]) {
    const answer = engine.get(counter, id)?.send({ type: "count.add", by: 0 });
    await answer?.catch((error) => expect(error).toBeInstanceOf(HoldfastError));
  }
  const { faults } = engine.verify();
  const found = lying > 0 || faults.length > 0 || before > 1 || engine.list({ quarantined: true }).length > 1;
  await engine.close();
  return { found, others: [first?.kind, second.kind] };
}

it("every table has a row to damage", () => {
  expect(Object.keys(ROWS).sort()).toEqual([...tables].sort());
});

it("a sound root has no fault", async () => {
  expect(tamper("UPDATE root SET one = one")).toBe(true);
  expect(await start()).toEqual({ found: false, others: ["accepted", "accepted"] });
});

it.each(columns)("garbage in %s.%s never stops the start, nor the others", async (table, column, type) => {
  for (const value of garbageFor(column, type)) {
    if (!tamper(`UPDATE ${table} SET ${column} = :value WHERE ${ROWS[table]} AND ${column} IS NOT :value`, { value })) continue;
    const name = `${table}.${column}`;
    // The last number that SQLite can give leaves no room for another row: it refuses new ones (SQLITE_FULL), and old ones go on.
    if (/ordinal|dead_letters.position/.test(name) && value === 9_223_372_036_854_775_807n) continue;
    const became = await start(!UNACCOUNTED.has(name));
    const what = { name, value: String(value).slice(0, 30) };
    if (became.refused !== undefined) {
      expect({ ...what, isRootLevel: ROOT_LEVEL.has(table) || ROOT_LEVEL.has(name) }).toEqual({ ...what, isRootLevel: true });
      expect({ ...what, refused: became.refused }).toEqual({
        ...what,
        refused: expect.stringMatching(/^(journal_damaged|root_invalid|machine_version_newer)$/),
      });
      continue;
    }
    expect({ ...what, others: became.others }).toEqual({ ...what, others: ["accepted", "accepted"] });
    if (table !== "root" && !UNACCOUNTED.has(name)) expect({ ...what, found: became.found }).toEqual({ ...what, found: true });
  }
});

it.each(tables.filter((table) => table !== "root"))(
  "a row of %s that is missing stops nobody, and is missed where anything is lost",
  async (table) => {
    expect(tamper(`DELETE FROM ${table} WHERE ${ROWS[table]}`)).toBe(true);
    expect(await start()).toEqual({ found: true, others: ["accepted", "accepted"] });
  },
);

it.each([17, 33])(
  "an entry whose number is damaged to %i, further on than its actor, sets that actor aside and stops nobody",
  async (seq) => {
    const path = join(temporary(), "root.db");
    const open = async () => {
      const store = openSqliteStore({ file: path, synchronous: "normal" });
      return { store, engine: await openEngine(store, options()) };
    };
    const first = await open();
    const [a, b] = [
      await first.engine.create(counter, "a", { input: { start: 0 } }),
      await first.engine.create(counter, "b", { input: { start: 0 } }),
    ];
    for (let by = 2; by <= 16; by++) await a.send({ type: "count.tell", to: b.address, by: 1 });
    await first.engine.close();
    first.store.close();
    const db = new Database(path);
    db.exec(`UPDATE journal SET seq = ${seq} WHERE actor = 'counter/a' AND seq = 5`);
    db.close();
    const { store, engine } = await open();
    const [here, there] = [engine.get(counter, "a"), engine.get(counter, "b")];
    const answers = await Promise.all([here, there].map((ref) => ref?.send({ type: "count.tell", to: "counter/b", by: 1 })));
    expect(answers.map((answer) => answer?.kind)).toEqual(["refused", "accepted"]);
    expect(engine.list({ quarantined: true }).map(({ address }) => address)).toEqual(["counter/a"]);
    await engine.close();
    store.close();
  },
);

/** The engine of a root whose actors have taken six events each, and that was changed then; `putBack` takes a row back to the third. */
async function tampered(changed: (db: Database.Database, putBack: () => void) => void, isClosed: boolean) {
  const path = join(temporary(), "root.db");
  const open = async () => {
    const store = openSqliteStore({ file: path, synchronous: "normal" });
    return openEngine(store, { ...options(), release: () => store.close() });
  };
  const first = await open();
  const refs = [await first.create(counter, "a", { input: { start: 0 } }), await first.create(counter, "b", { input: { start: 0 } })];
  const more = async () => {
    for (let by = 1; by <= 3; by++) for (const ref of refs) await ref.send({ type: "count.add", by });
  };
  await more();
  const db = new Database(path);
  const row = db.prepare("SELECT * FROM actors WHERE address = 'counter/a'").get() as Record<string, unknown>;
  await more();
  if (isClosed) await first.close();
  const columns = Object.keys(row);
  const putBack = () => void db.prepare(`REPLACE INTO actors (${columns}) VALUES (${columns.map(() => "?")})`).run(...Object.values(row));
  changed(db, putBack);
  db.close();
  return isClosed ? open() : first;
}

const take = (engine: Engine) =>
  Promise.all(["a", "b"].map(async (id) => (await engine.get(counter, id)?.send({ type: "count.add", by: 1 }))?.kind));

it.each([
  ["at the next opening", true, ""],
  ["while its engine runs", false, ""],
  ["behind positions that were given out and are gone", true, "UPDATE root SET kept_position = 5000"],
])(
  "an actor whose row was put back whole to an earlier revision is set aside %s, and nothing is written behind it",
  async (_, isClosed, sql) => {
    const engine = await tampered((db, putBack) => {
      putBack();
      db.exec(sql);
    }, isClosed);
    expect(await take(engine)).toEqual(["refused", "accepted"]);
    expect(engine.list({ quarantined: true })).toMatchObject([
      { id: "a", quarantine: { message: "its row is at 4, and its journal goes on" } },
    ]);
    expect(engine.reader.journal("counter/a", { limit: 100 })).toHaveLength(7);
    await engine.close();
  },
);

it("an entry that became another actor's does not set that one aside", async () => {
  const engine = await tampered(
    (db) => void db.exec("UPDATE journal SET actor = 'counter/b', seq = 8 WHERE actor = 'counter/a' AND seq = 7"),
    true,
  );
  expect(await take(engine)).toEqual(["refused", "accepted"]);
  await engine.close();
});

it("a root without its row is refused, with the code", async () => {
  tamper("DELETE FROM root");
  expect(await start()).toMatchObject({ refused: "journal_damaged" });
});

it.each([
  { id: "a", wrong: "final", says: "its row says final, its snapshot active" },
  { id: "over", wrong: "active", says: "its row says active, its snapshot done" },
])("the status of $id damaged to $wrong sets it aside, and no neighbour in its group fails", async ({ id, wrong, says }) => {
  const path = join(temporary(), "root.db");
  const open = async () => {
    const store = openSqliteStore({ file: path, synchronous: "normal" });
    return openEngine(store, { ...options(), release: () => store.close() });
  };
  const first = await open();
  for (const each of ["a", "over"]) await first.create(counter, each, { input: { start: 0 } });
  await first.get(counter, "over")?.send({ type: "count.end" });
  await first.close();
  const db = new Database(path);
  db.prepare("UPDATE actors SET status = ? WHERE id = ?").run(wrong, id);
  db.close();
  const engine = await open();
  const [deleted, neighbour] = await Promise.allSettled([
    engine.get(counter, id)?.delete(),
    engine.create(counter, "neighbour", { input: { start: 0 } }),
  ]);
  expect(deleted).toMatchObject({ status: "rejected", reason: { code: "actor_quarantined" } });
  expect(neighbour?.status).toBe("fulfilled");
  expect(engine.list({ quarantined: true })).toMatchObject([{ id, quarantine: { code: "snapshot_damaged", message: says } }]);
  await engine.release(`counter/${id}`);
  expect(engine.verify().faults).toEqual([]);
  await engine.close();
});
