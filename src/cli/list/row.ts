/** Row: what one line of a list is made of, and how lists are laid out. */

import { wrap } from "../format.ts";
import { shortName } from "../id.ts";
import type { Screen } from "../screen.ts";
import { table } from "../table.ts";

/** One row: its document, its cells, and what is said below it. */
export interface Listed {
  readonly item: Readonly<Record<string, unknown>>;
  readonly cells: readonly string[];
  readonly notes: readonly string[];
}

/** How addresses, keys and ids are printed. */
export type Naming = (name: string) => string;

/** Terminals of fewer columns get short names: they can be typed as they are printed. */
const WIDE_COLUMNS = 110;
/** Longer names would be cut, and could not be copied. */
const NAME_COLUMNS = 60;

/** Whole names where there is room, and always where stdout is no terminal. */
export function naming(screen: Screen): Naming {
  return (name) => (screen.columns < WIDE_COLUMNS || name.length > NAME_COLUMNS ? shortName(name) : name);
}

/** Lines of a table, each row followed by what is said of it. */
export function listLines(titles: readonly string[], rows: readonly Listed[], screen: Screen, margin = ""): string[] {
  const [title = "", ...lines] = table(
    titles,
    rows.map(({ cells }) => cells),
    screen.columns - margin.length,
  );
  const notes = (row: Listed | undefined) =>
    (row?.notes ?? []).flatMap((note) => wrap(note, screen.proseColumns - margin.length - 4)).map((line) => `${margin}    ${line}`);
  return [`${margin}${screen.style("dim", title)}`, ...lines.flatMap((line, index) => [`${margin}${line}`, ...notes(rows[index])])];
}
