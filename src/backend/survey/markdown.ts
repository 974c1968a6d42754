/**
 * Pieces of Markdown for text that nobody can trust: names, lines of files, targets of links.
 *
 * Guarantees: what goes through `code` or `cell` cannot end its span, its cell or its line.
 */

import { escapeText } from "./path.ts";

/** Entries of a list before "and N more". */
export const MAX_ENTRIES = 1_000;

/** A code span of text that is escaped already (`showPath`, `escapeText`). */
export function code(escaped: string): string {
  const runs = escaped.match(/`+/g) ?? [];
  const fence = "`".repeat(runs.reduce((longest, run) => Math.max(longest, run.length), 0) + 1);
  const padding = /^[` ]|[` ]$/.test(escaped) ? " " : "";
  return fence + padding + escaped + padding + fence;
}

/** A code span of any text. */
export function quote(text: string): string {
  return code(escapeText(text));
}

/** A code span in a cell of a table, where a pipe would end the cell. */
export function cell(escaped: string): string {
  return code(escaped).replaceAll("|", "\\|");
}

/** A table; every column but the first holds numbers. */
export function table(heads: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |`;
  return [line(heads), line(heads.map((_, column) => (column === 0 ? "---" : "---:"))), ...rows.map(line)];
}

/** The line that says how much a bounded list left out; nothing where it is complete. */
export function andMore(total: number, shown: number): string[] {
  return total > shown ? ["", `and ${total - shown} more`] : [];
}
