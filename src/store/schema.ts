/**
 * The SQL schema of a state root's database, and the one place where it changes.
 *
 * Guarantees: every table is STRICT, so a column holds its declared type or the write fails; text is stored as it was given.
 * Each list that the contract offers has an index that walks it in the order of its cursor.
 *
 * Next: `database.ts`, which opens a file and brings it to this schema.
 */

/** "HOLD": tells our databases from any other SQLite file. */
export const APPLICATION_ID = 0x484f4c44;

/**
 * The statements that lead from one schema version to the next; entry 0 leads from an empty file to version 1.
 * A released entry is never edited: a change is a new entry at the end.
 */
export const MIGRATIONS: readonly string[] = [
  `
-- One row: which root this is, and who may write (ACT-2).
CREATE TABLE root (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  root_id TEXT NOT NULL,
  epoch INTEGER NOT NULL
) STRICT;

-- The cache of each actor's journal. Rows are never deleted, so the rowid alone is a stable ordinal.
CREATE TABLE actors (
  ordinal INTEGER PRIMARY KEY,
  address TEXT NOT NULL UNIQUE,
  machine TEXT NOT NULL,
  id TEXT NOT NULL,
  version TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('active', 'final')),
  state TEXT NOT NULL,
  seq INTEGER NOT NULL,
  hash TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  quarantine TEXT,
  -- Last, because it is large: the columns before it are read without following its overflow pages.
  snapshot TEXT NOT NULL
) STRICT;
-- Recovery asks for unfinished actors of older epochs: its cost is bounded by what is unfinished, not by what was ever stored.
CREATE INDEX actors_unfinished ON actors (ordinal, epoch) WHERE status = 'active';
CREATE INDEX actors_unfinished_of_machine ON actors (machine, ordinal, epoch) WHERE status = 'active';
CREATE INDEX actors_of_machine ON actors (machine, ordinal);
CREATE INDEX actors_quarantined ON actors (ordinal) WHERE quarantine IS NOT NULL;

-- AUTOINCREMENT keeps the highest position in sqlite_sequence: rows cut off the end by force are noticed.
CREATE TABLE journal (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  actor TEXT NOT NULL,
  seq INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  cause TEXT NOT NULL,
  event TEXT NOT NULL,
  facts TEXT NOT NULL,
  actions TEXT NOT NULL,
  version TEXT NOT NULL,
  body TEXT NOT NULL,
  hash TEXT NOT NULL,
  UNIQUE (actor, seq)
) STRICT;

CREATE TABLE answers (
  actor TEXT NOT NULL,
  key TEXT NOT NULL,
  event TEXT NOT NULL,
  answer TEXT NOT NULL,
  PRIMARY KEY (actor, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE identities (
  name TEXT PRIMARY KEY,
  actor TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_of_actor ON identities (actor, name);

-- The outbox. AUTOINCREMENT, because rows are deleted: a used ordinal must not come back behind a reader's cursor.
CREATE TABLE effects (
  ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE,
  actor TEXT NOT NULL,
  name TEXT NOT NULL,
  params TEXT NOT NULL,
  scope TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'started', 'exhausted', 'unknown')),
  epoch INTEGER NOT NULL,
  opened_ms INTEGER NOT NULL,
  error TEXT
) STRICT;
CREATE INDEX effects_of_actor ON effects (actor, ordinal);
CREATE INDEX effects_in_state ON effects (state, ordinal);

CREATE TABLE dead_letters (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  receiver TEXT NOT NULL,
  sender TEXT NOT NULL,
  seq INTEGER NOT NULL,
  event TEXT NOT NULL,
  reason TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX dead_letters_of_receiver ON dead_letters (receiver, position);

CREATE TABLE blobs (
  digest TEXT PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT;
`,
];

/** The schema that this program writes; kept in `PRAGMA user_version`. */
export const SCHEMA_VERSION = MIGRATIONS.length;
