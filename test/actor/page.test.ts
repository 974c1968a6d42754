import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { entriesOf, entryAt, PAGE, pages, wholeEntriesOf } from "../../src/actor/page.ts";
import { make, open, place, STORES } from "./counter.ts";

/** A list of numbers as a store gives it, and how often it was asked, from where. */
function list(length: number) {
  const asked: number[] = [];
  const read = (after: number) => {
    asked.push(after);
    return Array.from({ length: Math.min(PAGE, Math.max(0, length - after)) }, (_, index) => after + index + 1);
  };
  return { asked, read };
}

describe("pages", () => {
  it.each<[number, number[]]>([
    [0, [0]],
    [1, [0]],
    [PAGE - 1, [0]],
    [PAGE, [0, PAGE]],
    [2 * PAGE + 1, [0, PAGE, 2 * PAGE]],
  ])("give each of %i rows once, in order, and ask no more than is needed", (length, places) => {
    const { asked, read } = list(length);
    expect([...pages(read, (row) => row)]).toEqual(Array.from({ length }, (_, index) => index + 1));
    expect(asked).toEqual(places);
  });

  it("begin behind a place that is given", () => {
    const { asked, read } = list(5);
    expect([...pages(read, (row) => row, 3)]).toEqual([4, 5]);
    expect(asked).toEqual([3]);
  });
});

describe.each(STORES)("entries of an actor (%s)", (kind) => {
  async function counted() {
    const { store } = place(kind);
    const engine = await open(store);
    const [a, other] = [await make(engine, "a"), await make(engine, "b")];
    for (let by = 1; by <= 3; by++) for (const actor of [a, other]) await actor.send({ type: "count.add", by });
    return store;
  }

  it("are its own, in order, from the first or from behind a place", async () => {
    const store = await counted();
    for (const read of [entriesOf, wholeEntriesOf]) {
      expect([...read(store, "counter/a")].map(({ actor, seq }) => [actor, seq])).toEqual([1, 2, 3, 4].map((seq) => ["counter/a", seq]));
      expect([...read(store, "counter/a", 2)].map(({ seq }) => seq)).toEqual([3, 4]);
    }
  });

  it("are found by their numbers, and nothing by a number that none has", async () => {
    const store = await counted();
    expect([1, 4].map((seq) => entryAt(store, "counter/a", seq)?.seq)).toEqual([1, 4]);
    for (const seq of [5, 0, -1, 1.5, Number.NaN, Number.MAX_SAFE_INTEGER + 1]) expect(entryAt(store, "counter/a", seq)).toBeUndefined();
  });
});

it("an entry that is missing is not the one behind it", async () => {
  const { store, file } = place("sqlite");
  const actor = await make(await open(store));
  for (const by of [1, 2]) await actor.send({ type: "count.add", by });
  const db = new Database(file as string);
  db.exec("DELETE FROM journal WHERE seq = 2");
  db.close();
  expect([1, 2, 3].map((seq) => entryAt(store, actor.address, seq)?.seq)).toEqual([1, undefined, 3]);
});
