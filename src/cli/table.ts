/** Table: aligned columns of foreign text, each of bounded width. */

import { cut, oneLine, widthOf } from "./format.ts";

/** Columns that one cell may take. */
const CELL_COLUMNS = 60;
const GAP = "  ";

/**
 * Lines of a table: the titles, then the rows. Cells are made safe to print. Where the table is wider than `columns`, its last
 * column is cut: ids come first and must stay whole, for they are copied.
 */
export function table(titles: readonly string[], rows: readonly (readonly string[])[], columns = Number.POSITIVE_INFINITY): string[] {
  const cells = [titles, ...rows].map((row) => row.map((cell) => cut(oneLine(cell), CELL_COLUMNS)));
  const widths = titles.map((_, index) => Math.max(...cells.map((row) => widthOf(row[index] ?? ""))));
  const last = titles.length - 1;
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + GAP.length, 0);
  const room = Math.max(8, columns - before);
  return cells.map((row) =>
    row
      .map((cell, index) => (index === last ? cut(cell, room) : cell + " ".repeat((widths[index] ?? 0) - widthOf(cell))))
      .join(GAP)
      .trimEnd(),
  );
}

/** Lines of names and values, the values in one column; an entry without a value is left out. Values may be styled: foreign text in them is the caller's to make safe. */
export function fields(entries: readonly (readonly [string, string | null | undefined])[], margin = ""): string[] {
  const present = entries.filter((entry): entry is readonly [string, string] => typeof entry[1] === "string");
  const width = Math.max(0, ...present.map(([name]) => name.length));
  return present.map(([name, value]) => `${margin}${name.padEnd(width)}${GAP}${value}`);
}
