import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, vi } from "vitest";
import { assign, enqueueActions } from "xstate";
import { z } from "zod";
import { DeliveryCheck } from "../../src/actor/delivery-check.ts";
import { openEngine, registerAll } from "../../src/actor/engine.ts";
import { fold } from "../../src/actor/fold.ts";
import { makeEntry } from "../../src/actor/journal.ts";
import { PAGE } from "../../src/actor/page.ts";
import type { Registration } from "../../src/actor/registration.ts";
import type { EffectRow, JournalRow, PlacedDeadLetterRow, PlacedJournalRow, StoreReader } from "../../src/actor/store.ts";
import { checkEntry, type Verified, verify } from "../../src/actor/verify.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { counter, counterOf, handlers, temporary } from "./counter.ts";
import { thing } from "./thing.ts";

/** It delivers what it is told to. */
const teller = thing(
  {
    id: "teller",
    on: {
      tell: {
        actions: enqueueActions(({ enqueue, event: { to, events } }: any) => {
          for (const event of events) enqueue({ type: "deliver", params: { to, event } } as never);
        }),
      },
    },
  },
  { schemas: { events: { tell: z.looseObject({}) } } },
);
/** It takes what it is told by some schema, and ignores some. */
const toldBy = (by: z.ZodType) =>
  thing(
    { id: "told", context: { n: 0 }, on: { go: { actions: assign(({ context }: any) => ({ n: context.n + 1 }) as never) } } },
    { schemas: { events: { go: z.strictObject({ by }), no: z.strictObject({ by }) } } },
  );

/** The database of a root with deliveries, creations, keys, identities, results and an open effect; nothing is wrong with it. */
let made: Promise<Buffer> | undefined;

async function makeRoot(): Promise<Buffer> {
  const file = join(temporary(), "root.db");
  const store = openSqliteStore({ file, synchronous: "normal" });
  const effects = { ...handlers, once: () => new Promise(() => {}) };
  const engine = await openEngine(store, { machines: [counter], effects });
  const a = await engine.create(counter, "a", { input: { start: 1 }, keys: ["order/1"] });
  await engine.create(counter, "b", { input: { start: 2 } });
  await a.send({ type: "count.tell", to: "counter/b", by: 3 }, { key: "k" });
  await a.send({ type: "count.create", id: "c", start: 5, keys: [] });
  await a.send({ type: "work.start", by: 4 });
  await a.waitFor((snapshot) => snapshot.matches("idle"));
  await a.send({ type: "once.start", by: 6 });
  await engine.close();
  store.close();
  return readFileSync(file);
}

/** What verify says of the root after SQL that no store would run. */
async function tampered(...statements: string[]): Promise<Verified> {
  made ??= makeRoot();
  const file = join(temporary(), "root.db");
  writeFileSync(file, await made);
  const db = new Database(file);
  for (const sql of statements) expect(db.prepare(sql).run().changes).toBeGreaterThan(0);
  db.close();
  const store = openSqliteStore({ file });
  try {
    return verify(store, registerAll([counter]), (transition) => transition());
  } finally {
    store.close();
  }
}

const faulty = ({ faults }: Verified) => [...new Set(faults.map(({ actor }) => actor))];

describe("verify", () => {
  it("finds nothing in a sound root", async () => {
    expect(await tampered()).toEqual({ ok: true, actors: 3, entries: 9, unfolded: {}, faults: [] });
  });

  it.each([
    ["at_ms", "at_ms + 1"],
    ["cause", "replace(cause, 'outside', 'outsidf')"],
    ["event", "replace(event, '3', '4')"],
    ["facts", "'[{}]'"],
    ["actions", "replace(actions, '\"by\":3', '\"by\":4')"],
    ["version", "'2'"],
    ["hash", "iif(hash LIKE '0%', '1', '0') || substr(hash, 2)"],
    ["seq", "100"],
    ["actor", "'counter/x'"],
    ["position", "1000"],
  ])("finds a change in the column %s of a journal row, and names its actor", async (column, value) => {
    const found = await tampered(`UPDATE journal SET ${column} = ${value} WHERE actor = 'counter/a' AND seq = 2`);
    expect(found.ok).toBe(false);
    expect(faulty(found)).toContain("counter/a");
    expect(faulty(found)).not.toContain("counter/b");
  });

  it.each([
    ["in its own place", 4, null],
    ["behind the last entry", 18, "counter/a"],
  ])("finds a copy of an entry %s, and names whose it is where that can be told", async (_, seq, actor) => {
    const columns = "at_ms, cause, event, facts, actions, version, hash, before";
    const found = await tampered(
      `INSERT INTO journal SELECT (SELECT max(position) + 1 FROM journal), actor, ${seq}, ${columns} FROM journal WHERE actor = 'counter/a' AND seq = 4`,
    );
    expect(found.faults.map(({ code }) => code)).toContain("row_unexpected");
    expect(faulty(found)).toEqual([actor]);
  });

  it("finds a change of any single character of a row's text", async () => {
    made ??= makeRoot();
    for (const column of ["cause", "event", "facts", "actions", "hash"])
      for (const at of [1, 5, 9]) {
        const found = await tampered(
          `UPDATE journal SET ${column} = substr(${column}, 1, ${at}) || CASE substr(${column}, ${at + 1}, 1) WHEN 'z' THEN 'y' ELSE 'z' END || substr(${column}, ${at + 2}) WHERE actor = 'counter/b' AND seq = 2`,
        );
        expect([column, at, faulty(found).includes("counter/b")]).toEqual([column, at, true]);
      }
  });

  it("finds a row that was forged with its own digests, by the hash of the next", async () => {
    const { bodyOf, hashOf } = await import("../../src/actor/journal.ts");
    const event = JSON.stringify({ type: "count.tell", to: "counter/b", by: 30 });
    made ??= makeRoot();
    const file = join(temporary(), "root.db");
    writeFileSync(file, await made);
    const store = openSqliteStore({ file });
    const [first, row] = store.journal("counter/a", { limit: 2 });
    store.close();
    if (!first || !row) throw new Error("the root has entries");
    const body = bodyOf({ ...row, event });
    const found = await tampered(
      `UPDATE journal SET event = '${event}', hash = '${hashOf(first.hash, row.actor, row.seq, body)}' WHERE actor = 'counter/a' AND seq = 2`,
    );
    expect(found.faults).toContainEqual(expect.objectContaining({ code: "fold_mismatch", actor: "counter/a", seq: 2 }));
  });

  it.each([
    ["the first", 1],
    ["a middle", 3],
    ["the last", 6],
  ])("finds that %s entry is missing, and names its actor", async (_, seq) => {
    const found = await tampered(`DELETE FROM journal WHERE actor = 'counter/a' AND seq = ${seq}`);
    expect(found.faults).toContainEqual(expect.objectContaining({ actor: "counter/a" }));
    expect(found.faults).toContainEqual(
      expect.objectContaining({ code: "row_missing", actor: null, message: expect.stringContaining("positions") }),
    );
    expect(faulty(found).sort()).toEqual(["counter/a", null]);
  });

  /** The numbers in what is said of the root as a whole. */
  const numbers = ({ faults }: Verified) =>
    faults.filter(({ actor }) => actor === null).map(({ message }) => message.match(/\d+/g)?.map(Number));

  it.each([
    { positions: [1], gaps: [[1, 1]] },
    { positions: [2, 5, 6], gaps: [[2, 2], [5, 6]] }, // biome-ignore format: pairs
    { positions: [4, 8, 9], gaps: [[4, 4], [8, 9]] }, // biome-ignore format: pairs
  ])("says from where to where entries are missing: $gaps", async ({ positions, gaps }) => {
    expect(numbers(await tampered(`DELETE FROM journal WHERE position IN (${positions})`))).toEqual(gaps);
  });

  it("accounts for the entries of deleted actors, and says how many are missing besides", async () => {
    const file = join(temporary(), "root.db");
    const store = openSqliteStore({ file });
    const engine = await openEngine(store, { machines: [counter], effects: handlers });
    const [a, b] = [await engine.create(counter, "a", { input: { start: 0 } }), await engine.create(counter, "b", { input: { start: 0 } })];
    await a.send({ type: "count.add", by: 1 });
    for (const by of [1, 2]) await b.send({ type: "count.add", by });
    await b.send({ type: "count.create", id: "c", start: 0, keys: [] });
    for (const by of [1, 2]) await engine.get(counter, "c")?.send({ type: "count.add", by });
    for (const id of ["a", "c"]) {
      await engine.get(counter, id)?.send({ type: "count.end" });
      await engine.get(counter, id)?.delete();
    }
    // Three entries and four went; what created one of the two is left.
    expect(engine.verify()).toEqual({ ok: true, actors: 1, entries: 4, unfolded: {}, faults: [] });
    const db = new Database(file);
    db.exec("DELETE FROM journal WHERE actor = 'counter/b' AND seq = 4");
    expect(numbers(engine.verify())).toEqual([[8, 7]]);
    db.exec("UPDATE tombstones SET machine = 'stranger' WHERE address = 'counter/c'");
    expect(engine.verify().faults).toContainEqual(expect.objectContaining({ code: "row_unexpected", actor: "counter/c" }));
    db.close();
    await engine.close();
    store.close();
  });

  it("says once that an actor with many entries has no row", async () => {
    const { faults } = await tampered("DELETE FROM actors WHERE address = 'counter/a'");
    expect(faults.filter(({ code, actor }) => code === "row_missing" && actor === "counter/a")).toHaveLength(1);
  });

  it("finds a dead letter that cannot be read, and goes on", async () => {
    const store = memoryStore();
    const engine = await openEngine(store, { machines: [counter], effects: handlers });
    const a = await engine.create(counter, "a", { input: { start: 0 } });
    for (const to of ["counter/x", "counter/y"]) await a.send({ type: "count.tell", to, by: 1 });
    store.write(store.epoch(), (writer) => {
      for (const { position, ...letter } of writer.deadLetters({}, { limit: 9 })) {
        writer.deleteDeadLetter(position);
        writer.putDeadLetter({ ...letter, event: "{" });
      }
    });
    expect(engine.verify().faults.map(({ code, actor, seq }) => [code, actor, seq])).toEqual([
      ["journal_damaged", "counter/x", null],
      ["journal_damaged", "counter/y", null],
      ["row_missing", "counter/x", null],
      ["row_missing", "counter/y", null],
    ]);
    await engine.close();
  });

  it("goes over all pages of actors, entries, effects, dead letters and tombstones", async () => {
    const store = memoryStore();
    const engine = await openEngine(store, { machines: [counter], effects: handlers, start: false });
    const many = Array.from({ length: PAGE + 1 }, (_, index) => index);
    const working = await Promise.all(many.map((id) => engine.create(counter, `w${id}`, { input: { start: 0 } })));
    await Promise.all(working.map((ref) => ref.send({ type: "work.start", by: 1 })));
    await Promise.all(working.map((ref) => ref.send({ type: "count.tell", to: "counter/none", by: 0 })));
    const ended = await Promise.all(many.map((id) => engine.create(counter, `e${id}`, { input: { start: 0 } })));
    await Promise.all(ended.map((ref) => ref.send({ type: "count.end" })));
    await Promise.all(ended.map((ref) => ref.delete()));
    expect(engine.verify()).toEqual({ ok: true, actors: PAGE + 1, entries: 3 * (PAGE + 1), unfolded: {}, faults: [] });
    store.write(store.epoch(), (writer) => {
      const letter = writer.deadLetters({}, { limit: 1 })[0] as PlacedDeadLetterRow;
      writer.putDeadLetter({ ...letter, receiver: "counter/last" });
      writer.putEffect({ ...(writer.effect("counter/w0:2:0") as EffectRow), key: "counter/last:2:0", actor: "counter/last" });
    });
    expect(engine.verify().faults.map(({ code, actor }) => [code, actor])).toEqual(Array(2).fill(["row_unexpected", "counter/last"]));
    await engine.close();
  });

  it("finds that the last entry of the whole root is missing, together with what its actor's row says", async () => {
    const found = await tampered(
      "DELETE FROM journal WHERE position = (SELECT max(position) FROM journal)",
      "DELETE FROM effects",
      "UPDATE actors SET seq = 5, hash = (SELECT hash FROM journal WHERE actor = 'counter/a' AND seq = 5) WHERE address = 'counter/a'",
    );
    expect(found.faults).toContainEqual(expect.objectContaining({ code: "row_missing", actor: null }));
    expect(found.faults).toContainEqual(expect.objectContaining({ code: "snapshot_damaged", actor: "counter/a" }));
  });

  it.each<[string, string, string, string]>([
    [
      "a changed snapshot",
      "UPDATE actors SET snapshot = replace(snapshot, '\"count\":8', '\"count\":9') WHERE address = 'counter/a'",
      "snapshot_damaged",
      "counter/a",
    ],
    ["a snapshot that is no JSON", "UPDATE actors SET snapshot = '{' WHERE address = 'counter/a'", "snapshot_damaged", "counter/a"],
    [
      "a changed hash of an actor",
      "UPDATE actors SET hash = iif(hash LIKE '0%', '1', '0') || substr(hash, 2) WHERE address = 'counter/a'",
      "snapshot_damaged",
      "counter/a",
    ],
    ["a changed status", "UPDATE actors SET status = 'final' WHERE address = 'counter/a'", "snapshot_damaged", "counter/a"],
    ["a changed state", "UPDATE actors SET state = 'working' WHERE address = 'counter/a'", "snapshot_damaged", "counter/a"],
    ["a changed version of an actor", "UPDATE actors SET version = '2' WHERE address = 'counter/a'", "snapshot_damaged", "counter/a"],
    ["a lower revision of an actor", "UPDATE actors SET seq = 5 WHERE address = 'counter/a'", "row_missing", "counter/a"],
    ["a missing actor", "DELETE FROM actors WHERE address = 'counter/b'", "row_missing", "counter/b"],
    ["a missing actor that another created", "DELETE FROM actors WHERE address = 'counter/c'", "row_missing", "counter/a"],
    ["a missing effect", "DELETE FROM effects", "row_missing", "counter/a"],
    ["changed params of an effect", "UPDATE effects SET params = '{\"by\":7}'", "journal_damaged", "counter/a"],
    ["a changed name of an effect", "UPDATE effects SET name = 'work'", "journal_damaged", "counter/a"],
    ["a changed scope of an effect", "UPDATE effects SET scope = ''", "journal_damaged", "counter/a"],
    [
      "an effect that nobody requested",
      "INSERT INTO effects (key, actor, name, params, scope, state, epoch, opened_ms) VALUES ('counter/b:1:0', 'counter/b', 'work', '{}', '', 'open', 1, 1)",
      "row_unexpected",
      "counter/b",
    ],
    ["a missing identity", "DELETE FROM identities", "row_missing", "counter/a"],
    ["an identity of another", "UPDATE identities SET actor = 'counter/b'", "row_missing", "counter/a"],
    ["a missing answer", "DELETE FROM answers", "row_missing", "counter/a"],
    ["a changed answer", 'UPDATE answers SET answer = \'{"kind":"ignored"}\'', "journal_damaged", "counter/a"],
    ["a changed id of an actor", "UPDATE actors SET id = 'z' WHERE address = 'counter/a'", "snapshot_damaged", "counter/a"],
    [
      "a changed time of an actor",
      "UPDATE actors SET created_ms = created_ms + 1 WHERE address = 'counter/a'",
      "snapshot_damaged",
      "counter/a",
    ],
    ["an epoch that has not come", "UPDATE actors SET epoch = 99 WHERE address = 'counter/a'", "snapshot_damaged", "counter/a"],
    ["an identity too many", "INSERT INTO identities (name, actor) VALUES ('stolen', 'counter/b')", "row_unexpected", "counter/b"],
    [
      "an effect of an actor that is not there",
      "INSERT INTO effects (key, actor, name, params, scope, state, epoch, opened_ms) VALUES ('counter/z:1:0', 'counter/z', 'work', '{}', '', 'open', 1, 1)",
      "row_unexpected",
      "counter/z",
    ],
    [
      "a dead letter that nobody sent",
      "INSERT INTO dead_letters (receiver, sender, seq, event, reason, at_ms) VALUES ('counter/b', 'counter/a', 1, '{\"type\":\"count.add\"}', 'actor_final', 1)",
      "row_unexpected",
      "counter/b",
    ],
    ["a machine that nobody knows", "UPDATE actors SET machine = 'stranger' WHERE address = 'counter/b'", "machine_unknown", "counter/b"],
  ])("finds %s, and names the actor", async (_, sql, code, actor) => {
    expect((await tampered(sql)).faults).toContainEqual(expect.objectContaining({ code, actor }));
  });

  it.each([
    ["missing", "DELETE FROM dead_letters", ["row_missing"]],
    ["changed", "UPDATE dead_letters SET event = replace(event, '7', '8')", ["row_unexpected", "row_missing"]],
  ])("finds that a dead letter is %s, and names its receiver", async (_, sql, codes) => {
    const file = join(temporary(), "root.db");
    const store = openSqliteStore({ file });
    const engine = await openEngine(store, { machines: [counter], effects: handlers, release: () => store.close() });
    const a = await engine.create(counter, "a", { input: { start: 0 } });
    await a.send({ type: "count.say", to: "counter/none", event: { type: "count.add", by: 7 } });
    expect(engine.verify()).toMatchObject({ ok: true });
    await engine.close();
    const db = new Database(file);
    db.exec(sql);
    db.close();
    const reader = openSqliteStore({ file });
    const found = verify(reader, registerAll([counter]), (transition) => transition());
    reader.close();
    expect(found.faults.map(({ code, actor }) => [code, actor])).toEqual(codes.map((code) => [code, "counter/none"]));
  });

  it("finds nothing in deliveries whose receiver has another schema of them since, also beside a dead letter", async () => {
    const at = async (from: z.ZodType, to: z.ZodType) => {
      const store = memoryStore();
      const machines = [toldBy(from), teller];
      const engine = await openEngine(store, { machines });
      await engine.create(machines[0] as typeof teller, "a", { input: {} });
      const { address } = await engine.create(teller, "b", { input: {} });
      // One that is ignored, between two that are taken.
      const events = ["1", "5", "2"].map((by) => ({ type: by === "5" ? "no" : "go", by }));
      await engine.get(teller, "b")?.send({ type: "tell", to: "told/a", events } as never);
      expect(engine.verify()).toMatchObject({ ok: true, entries: 5, faults: [] });
      expect(engine.deadLetters().map(({ sender, reason }) => [sender, reason])).toEqual([[address, "delivery_ignored"]]);
      await engine.close();
      return verify(store, registerAll([toldBy(to), teller]), (transition) => transition()).faults;
    };
    const [digits, other] = [z.string().transform(Number), z.union([z.number(), z.string().transform((text) => `${text}!`)])];
    expect(await at(digits, other)).toEqual([]);
    expect(await at(digits, digits)).toEqual([]);
  });

  it("takes an entry for the engine's own by its cause too, and not by its type alone", () => {
    const registration = registerAll([thing({})]).get("thing") as Registration;
    const content = { atMs: 1, version: "1", facts: "[]", actions: "[]" };
    const first = makeEntry("", "thing/a", 1, {
      ...content,
      cause: '{"kind":"creation"}',
      event: '{"type":"xstate.init","input":{},"keys":[]}',
    });
    const of = (kind: string) =>
      makeEntry(first.hash, "thing/a", 2, { ...content, cause: JSON.stringify({ kind }), event: '{"type":"engine.migrated","from":"0"}' });
    const ground = { registration, actor: "thing/a", reader: memoryStore(), enclose: <T>(body: () => T) => body() };
    expect(fold(ground, [first, of("outside")]).faults).toEqual([]);
    expect(fold(ground, [first, of("engine")]).faults).toMatchObject([{ code: "fold_mismatch", seq: 2 }]);
  });

  it("looks at a few events for each of a great many deliveries of one entry, however many there are", () => {
    /** Events that are read and compared in a check of so many, each of which its receiver's schema made another. */
    const lookedAt = (count: number): number => {
      const check = new DeliveryCheck(
        { tombstone: () => undefined, watermarks: () => ({ answersMs: 0, deadLettersMs: 0 }) },
        new Map(),
        () => false,
      );
      const row = { actor: "m/a", seq: 1, atMs: 1 } as JournalRow;
      const events = Array.from({ length: count }, (_, by) => ({ type: "go", by: String(by) }));
      const cause = { kind: "delivery", from: "m/a", seq: 1 } as const;
      const { parse } = JSON;
      const { keys } = Map.prototype;
      let looks = 0;
      const spies = [
        vi.spyOn(JSON, "parse").mockImplementation((...given) => {
          looks++;
          return parse(...given);
        }),
        vi.spyOn(Map.prototype, "keys").mockImplementation(function* (this: Map<unknown, unknown>) {
          for (const key of keys.call(this)) {
            looks++;
            yield key;
          }
        } as never),
      ];
      try {
        check.entry(row, { cause: { kind: "engine" }, actions: events.map((event) => ({ type: "deliver", to: "m/b", event })) });
        for (const { type, by } of events)
          check.entry({ actor: "m/b", event: JSON.stringify({ type, by: Number(by) }) } as JournalRow, { cause, actions: [] });
      } finally {
        for (const spy of spies) spy.mockRestore();
      }
      expect(check.rest()).toEqual([]);
      return looks;
    };
    const few = lookedAt(1000);
    expect(few).toBeGreaterThanOrEqual(1000);
    expect(lookedAt(2000)).toBe(2 * few);
  });

  it("checks an actor whose machine is not given by its chain, its row and its blobs, where that is no fault", async () => {
    made ??= makeRoot();
    const bytes = await made;
    const check = (sql?: string) => {
      const file = join(temporary(), "root.db");
      writeFileSync(file, bytes);
      if (sql !== undefined) {
        const db = new Database(file);
        expect(db.prepare(sql).run().changes).toBeGreaterThan(0);
        db.close();
      }
      const store = openSqliteStore({ file });
      try {
        return [undefined, "skip" as const].map((unknown) => verify(store, registerAll([]), (transition) => transition(), unknown));
      } finally {
        store.close();
      }
    };
    const [strict, lenient] = check();
    expect(strict?.faults.map(({ code }) => code)).toEqual(Array(3).fill("machine_unknown"));
    expect(strict?.unfolded).toEqual({});
    expect(lenient).toEqual({ ok: true, actors: 3, entries: 9, unfolded: { counter: 3 }, faults: [] });
    for (const [sql, code] of [
      ["UPDATE journal SET facts = '[1]' WHERE actor = 'counter/a' AND seq = 2", "journal_damaged"],
      ["DELETE FROM journal WHERE actor = 'counter/a' AND seq = (SELECT max(seq) FROM journal WHERE actor = 'counter/a')", "row_missing"],
      ["UPDATE actors SET updated_ms = updated_ms + 1 WHERE address = 'counter/a'", "snapshot_damaged"],
    ] as const)
      expect(check(sql)[1]?.faults).toContainEqual(expect.objectContaining({ code, actor: "counter/a" }));
  });

  it("folds an actor whose machine is given also where those of others are not", async () => {
    const store = memoryStore();
    const other = counterOf("1", "other");
    const engine = await openEngine(store, { machines: [counter, other], effects: handlers });
    for (const machine of [counter, other]) await engine.create(machine, "a", { input: { start: 0 } });
    await engine.close();
    const found = verify(store, registerAll([counter]), (transition) => transition(), "skip");
    expect(found).toEqual({ ok: true, actors: 2, entries: 2, unfolded: { other: 1 }, faults: [] });
  });

  const accepted = JSON.stringify({ kind: "accepted", seq: 2 });
  it.each([
    { says: "is missing", answer: undefined, code: "row_missing" },
    { says: "is missing, from before what retention removed", atMs: 4, answer: undefined, code: undefined },
    { says: "is that of the entry", answer: { answer: accepted, atMs: 5 }, code: undefined },
    { says: "is another", answer: { answer: "{}", atMs: 5 }, code: "journal_damaged" },
    { says: "is another, of another time", answer: { answer: "{}", atMs: 6 }, code: "journal_damaged" },
    { says: "is another, from before what retention removed", atMs: 4, answer: { answer: "{}", atMs: 4 }, code: "journal_damaged" },
    { says: "is that of a later event, as retention removed its own", atMs: 4, answer: { answer: "{}", atMs: 6 }, code: undefined },
  ])("finds as $code that the answer under an entry's key $says", ({ atMs = 5, answer, code }) => {
    const reader = {
      actor: () => ({ seq: 2 }),
      answer: () => answer,
      watermarks: () => ({ answersMs: 5, deadLettersMs: 0 }),
    } as unknown as StoreReader;
    const row = { actor: "counter/a", seq: 2, atMs } as PlacedJournalRow;
    const faults = [...checkEntry(reader, row, { cause: { kind: "outside", key: "k" }, actions: [] })];
    expect(faults.map((fault) => fault.code)).toEqual(code === undefined ? [] : [code]);
  });

  it("finds a machine that was changed without a new version (ACT-4)", async () => {
    const changed = counterOf("1");
    (changed.implementations.actions as Record<string, unknown>).changed = (
      counter.implementations.actions as Record<string, unknown>
    ).note;
    made ??= makeRoot();
    const file = join(temporary(), "root.db");
    writeFileSync(file, await made);
    const store = openSqliteStore({ file });
    const found = verify(store, registerAll([changed]), (transition) => transition());
    store.close();
    expect(found.faults).toMatchObject([
      { code: "fold_mismatch", actor: "counter/a" },
      { code: "fold_mismatch", actor: "counter/b" },
    ]);
  });
});
