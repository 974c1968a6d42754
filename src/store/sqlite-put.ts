/**
 * Statements that write rows, with the columns of their parameters in their order. Knows nothing of what the columns mean.
 *
 * Next: `sqlite-writer.ts`.
 */

export interface Put {
  readonly sql: string;
  readonly columns: readonly string[];
}

/** Columns are named with a blank between. `conflict` says what happens to a row that is there already. */
export function insert(table: string, columns: string, { rows = 1, conflict = "" } = {}): Put {
  const names = columns.split(" ");
  const values = Array.from({ length: rows }, () => `(${names.map(() => "?")})`);
  return { sql: `INSERT INTO ${table} (${names}) VALUES ${values} ${conflict}`, columns: repeated(columns, rows) };
}

export function update(table: string, columns: string, key: string): Put {
  return { sql: `UPDATE ${table} SET ${settings(columns)} WHERE ${key} = ?`, columns: [...columns.split(" "), key] };
}

/** What an UPDATE sets. */
export function settings(columns: string): string {
  return columns
    .split(" ")
    .map((name) => `${name} = ?`)
    .join(", ");
}

/** The columns of as many rows. */
export function repeated(columns: string, rows: number): string[] {
  return Array.from({ length: rows }, () => columns.split(" ")).flat();
}
