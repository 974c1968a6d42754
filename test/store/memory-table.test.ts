import { expect, it } from "vitest";
import { KeyedTable, UndoLog } from "../../src/store/memory-table.ts";

const table = () => {
  const log = new UndoLog();
  const rows = new KeyedTable<{ key: string; group: string }>(log, ({ group }) => [group]);
  const put = (key: string, group: string) => rows.put(key, { key, group });
  const of = (group: string) => rows.of(group).map(({ key }) => key);
  for (const key of ["a", "b", "c"]) put(key, "even");
  log.keep();
  return { log, rows, put, of };
};

it("a group lists its rows in the order of their ordinals, also after a deletion was taken back", () => {
  const { log, rows, put, of } = table();
  rows.delete("a");
  put("d", "even");
  expect(of("even")).toEqual(["b", "c", "d"]);
  log.undo();
  expect(of("even")).toEqual(["a", "b", "c"]);
});

it("a row that changes its group is listed in the new one alone, at its old place", () => {
  const { log, put, of } = table();
  put("d", "odd");
  put("b", "odd");
  expect([of("even"), of("odd")]).toEqual([
    ["a", "c"],
    ["b", "d"],
  ]);
  log.undo();
  expect([of("even"), of("odd")]).toEqual([["a", "b", "c"], []]);
});
