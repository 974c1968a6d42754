import { join } from "node:path";
import type Database from "better-sqlite3";
import { describe, expect, it, test } from "vitest";
import type { StoreWriter } from "../../src/actor/store.ts";
import { Connection } from "../../src/store/connection.ts";
import { openWritable } from "../../src/store/database.ts";
import { openSqliteStore, type SqliteStore } from "../../src/store/sqlite.ts";
import { SqliteReader } from "../../src/store/sqlite-reader.ts";
import { SqliteWriter } from "../../src/store/sqlite-writer.ts";
import { ALL, actorRow, appendRow, entryRow, NOW_MS } from "../../src/testing/store-row.ts";
import { tamper } from "./sample.ts";
import { temporary } from "./worker.ts";

const ACTORS = ["m/a", "m/b", "m/c"] as const;
/** More than two marks lie in it. */
const LENGTH = 53;

/** A closed store in which the entries of three actors lie one beside the other. */
function interleaved(length = LENGTH): string {
  const file = join(temporary(), "chains.db");
  const store = openSqliteStore({ file, synchronous: "normal" });
  store.write(store.beginEpoch(NOW_MS), (writer) => {
    for (let seq = 1; seq <= length; seq++) for (const actor of ACTORS) appendRow(writer, entryRow(actor, seq));
    for (const address of ACTORS) writer.putActor(actorRow(address, { seq: length, status: address === "m/c" ? "final" : "active" }));
  });
  store.close();
  return file;
}

function within<T>(file: string, body: (store: SqliteStore) => T): T {
  const store = openSqliteStore({ file, synchronous: "normal" });
  try {
    return body(store);
  } finally {
    store.close();
  }
}

/** A connection that counts the statements that go over all of the journal. */
class Watched extends Connection {
  searches = 0;

  override get<Row>(sql: string, ...values: unknown[]): Row | undefined {
    this.#note(sql, values);
    return super.get(sql, ...values);
  }

  override all<Row>(sql: string, ...values: unknown[]): Row[] {
    this.#note(sql, values);
    return super.all(sql, ...values);
  }

  override run(sql: string, ...values: unknown[]): Database.RunResult {
    this.#note(sql, values);
    return super.run(sql, ...values);
  }

  #note(sql: string, values: unknown[]): void {
    const steps = super.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
    if (steps.some(({ detail }) => /^SCAN (journal|entry)/.test(detail))) this.searches++;
  }
}

/** How often all of the journal is gone over by what is done with a writer, in a transaction. */
function searches(file: string, act: (writer: SqliteWriter) => unknown): number {
  const connection = new Watched(openWritable({ file, synchronous: "normal" }));
  try {
    const { rootId, lastPosition } = { rootId: "", lastPosition: new SqliteReader(connection).lastPosition() };
    connection.transaction(() => void act(new SqliteWriter(connection, { rootId, lastPosition, changedElsewhere: false })));
    return connection.searches;
  } finally {
    connection.close();
  }
}

/** A step of `m/a` to this entry. */
function step(writer: StoreWriter, seq: number): void {
  appendRow(writer, entryRow("m/a", seq));
  writer.advanceActors([{ ...actorRow("m/a", { seq }), from: seq - 1 }]);
}

const at = (seq: number, actor = "m/a") => `(SELECT position FROM journal WHERE actor = '${actor}' AND seq = ${seq})`;
const seqs = (
  reader: { journal(actor: string, page: { after?: number; limit: number }): { seq: number }[] },
  after: number,
  limit: number,
) => reader.journal("m/a", { after, limit }).map(({ seq }) => seq);
const from = (first: number, last: number) => Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);

test("a page of an actor's journal has the entries that were asked for, from whatever place", () => {
  within(interleaved(), (store) => {
    for (const limit of [1, 2, 15, 16, 17, 40, 1000])
      for (let after = 0; after <= LENGTH + 1; after++)
        expect(seqs(store, after, limit), `${limit} after ${after}`).toEqual(from(after + 1, Math.min(LENGTH, after + limit)));
  });
});

test("no page is searched for where nothing is damaged, nor the journal of an actor that is not there", () => {
  const file = interleaved();
  const reads = (reader: SqliteWriter) => {
    for (const after of [0, 14, 15, 16, LENGTH - 1, LENGTH]) seqs(reader, after, 20);
    expect(reader.journal("m/none", ALL)).toEqual([]);
  };
  expect(searches(file, reads)).toBe(0);
  // The watch sees a search.
  tamper(file, "UPDATE actors SET position = 0");
  expect(searches(file, reads)).toBeGreaterThan(0);
});

test("a mark ends the walk: what lies behind it is not looked at", () => {
  const file = interleaved();
  tamper(file, `UPDATE journal SET before = 0 WHERE position = ${at(40)}`);
  expect(searches(file, (reader) => expect(seqs(reader, 0, 30)).toEqual(from(1, 30)))).toBe(0);
  expect(searches(file, (reader) => expect(seqs(reader, 20, 30)).toEqual(from(21, 50)))).toBe(1);
});

test("entries are added and removed without a search", () => {
  const add = (writer: SqliteWriter) => {
    for (let seq = LENGTH + 1; seq <= LENGTH + 20; seq++) appendRow(writer, entryRow("m/a", seq));
    for (let seq = 1; seq <= 20; seq++) appendRow(writer, entryRow("m/new", seq));
  };
  expect(searches(interleaved(), add)).toBe(0);
  expect(searches(interleaved(), (writer) => writer.deleteActor("m/c", NOW_MS))).toBe(0);
});

test("entries of an address that has lost its row are found by its marks", () => {
  const file = interleaved();
  tamper(file, "DELETE FROM actors WHERE address = 'm/a'");
  expect(within(file, (store) => seqs(store, 0, 1000))).toEqual(from(1, LENGTH));
});

describe.each([
  ["no end", "UPDATE actors SET position = 0 WHERE address = 'm/a'"],
  ["an end that is behind", `UPDATE actors SET position = ${at(50)} WHERE address = 'm/a'`],
  ["an end at another actor's entry", `UPDATE actors SET position = ${at(LENGTH, "m/b")} WHERE address = 'm/a'`],
  ["an end at no entry", "UPDATE actors SET position = -1 WHERE address = 'm/a'"],
  ["a link to nothing", `UPDATE journal SET before = 0 WHERE position = ${at(40)}`],
  ["a link to itself", `UPDATE journal SET before = position WHERE position = ${at(40)}`],
  ["a link to a later entry", `UPDATE journal SET before = ${at(45)} WHERE position = ${at(40)}`],
  ["a link past an entry", `UPDATE journal SET before = ${at(38)} WHERE position = ${at(40)}`],
  ["a link to another actor's entry", `UPDATE journal SET before = ${at(39, "m/b")} WHERE position = ${at(40)}`],
])("where the chain has %s", (_, sql) => {
  it("every page has the entries that were asked for", () => {
    const file = interleaved();
    tamper(file, sql);
    within(file, (store) => {
      for (const limit of [1, 16, 1000])
        for (let after = 0; after <= LENGTH; after++)
          expect(seqs(store, after, limit), `${limit} after ${after}`).toEqual(from(after + 1, Math.min(LENGTH, after + limit)));
      expect(store.journal("m/b", ALL)).toHaveLength(LENGTH);
    });
  });

  it("the next entry goes behind the last one", () => {
    const file = interleaved();
    tamper(file, sql);
    within(file, (store) => {
      store.write(store.beginEpoch(NOW_MS), (writer) => step(writer, LENGTH + 1));
      expect(seqs(store, 0, 1000)).toEqual(from(1, LENGTH + 1));
    });
  });

  it.each([3, 51, LENGTH])("a step to entry %i, which exists, is refused", (seq) => {
    const file = interleaved();
    tamper(file, sql);
    within(file, (store) => {
      expect(() => store.write(store.beginEpoch(NOW_MS), (writer) => step(writer, seq))).toThrow(/exists already|is not at revision/);
      expect(seqs(store, 0, 1000)).toEqual(from(1, LENGTH));
    });
  });

  it("all entries of the actor are removed with it, and no others", () => {
    const file = interleaved();
    tamper(file, `${sql}; UPDATE actors SET status = 'final' WHERE address = 'm/a'`);
    within(file, (store) => {
      store.write(store.beginEpoch(NOW_MS), (writer) => writer.deleteActor("m/a", NOW_MS));
      expect(store.entries(ALL).map(({ actor }) => actor)).not.toContain("m/a");
      expect(store.entries(ALL)).toHaveLength(2 * LENGTH);
    });
  });
});

test("a damaged end is made anew with the next step, and nothing is searched for after that", () => {
  const file = interleaved();
  tamper(file, "UPDATE actors SET position = 1 WHERE address = 'm/a'");
  within(file, (store) => store.write(store.beginEpoch(NOW_MS), (writer) => step(writer, LENGTH + 1)));
  expect(searches(file, (reader) => expect(seqs(reader, 0, 1000)).toEqual(from(1, LENGTH + 1)))).toBe(0);
});

test("entries that were cut out are missed where they were, and those behind them are listed", () => {
  const file = interleaved();
  tamper(file, "DELETE FROM journal WHERE actor = 'm/a' AND seq IN (20, 21)");
  within(file, (store) => {
    expect(seqs(store, 18, 3)).toEqual([19, 22, 23]);
    expect(seqs(store, 0, 1000)).toEqual([...from(1, 19), ...from(22, LENGTH)]);
  });
});

test("a final actor's entries are removed by their chain, and no others", () => {
  const file = interleaved();
  within(file, (store) => {
    store.write(store.beginEpoch(NOW_MS), (writer) => writer.deleteActor("m/c", NOW_MS));
    expect(ACTORS.map((actor) => store.journal(actor, ALL).length)).toEqual([LENGTH, LENGTH, 0]);
    expect(store.entries(ALL)).toHaveLength(2 * LENGTH);
  });
});

test("a step that was refused is not committed, whatever goes on after the refusal", () => {
  within(interleaved(), (store) => {
    const going = (act: (writer: StoreWriter) => void) => (writer: StoreWriter) => {
      writer.putIdentity("name", "m/b");
      expect(() => act(writer)).toThrow(/exists already|is not at revision/);
    };
    const put = (writer: StoreWriter) => {
      appendRow(writer, entryRow("m/a", LENGTH));
      writer.putActor(actorRow("m/a", { seq: LENGTH }));
    };
    const epoch = store.beginEpoch(NOW_MS);
    for (const act of [put, (writer: StoreWriter) => step(writer, LENGTH)]) {
      expect(() => store.write(epoch, going(act))).toThrow(/exists already|is not at revision/);
      expect([store.lastPosition(), store.identity("name")]).toEqual([3 * LENGTH, undefined]);
    }
  });
});

test("a row that is written without an entry keeps the end of its chain", () => {
  const file = interleaved();
  within(file, (store) => store.write(store.beginEpoch(NOW_MS), (writer) => writer.putActor(actorRow("m/a", { seq: LENGTH, epoch: 2 }))));
  expect(searches(file, (reader) => expect(seqs(reader, 0, 1000)).toEqual(from(1, LENGTH)))).toBe(0);
});
