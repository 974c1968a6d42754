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
  `
-- The root remembers where it stood when it was last opened (ACT-8), and up to which time retention has removed what.
ALTER TABLE root ADD COLUMN opened_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE root ADD COLUMN opened_position INTEGER NOT NULL DEFAULT 0;
ALTER TABLE root ADD COLUMN kept_position INTEGER NOT NULL DEFAULT 0;
ALTER TABLE root ADD COLUMN rested_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE root ADD COLUMN answers_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE root ADD COLUMN dead_letters_ms INTEGER NOT NULL DEFAULT 0;
-- Read before its table goes: it may be above the last row that is left.
UPDATE root SET opened_position = coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'journal'), 0);

ALTER TABLE actors RENAME TO actors_1;
ALTER TABLE journal RENAME TO journal_1;
ALTER TABLE blobs RENAME TO blobs_1;

-- AUTOINCREMENT, because final actors can be deleted: a used ordinal must not come back behind a reader's cursor.
CREATE TABLE actors (
  ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
  address TEXT NOT NULL UNIQUE,
  machine TEXT NOT NULL,
  id TEXT NOT NULL,
  version TEXT NOT NULL,
  definition TEXT NOT NULL,
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

-- Without AUTOINCREMENT, whose counter is one more page in every commit: root.opened_position and root.kept_position stand in for it.
CREATE TABLE journal (
  position INTEGER PRIMARY KEY,
  actor TEXT NOT NULL,
  seq INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  cause TEXT NOT NULL,
  event TEXT NOT NULL,
  facts TEXT NOT NULL,
  actions TEXT NOT NULL,
  version TEXT NOT NULL,
  hash TEXT NOT NULL,
  UNIQUE (actor, seq)
) STRICT;

CREATE TABLE blobs (
  ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
  digest TEXT NOT NULL UNIQUE,
  stored_ms INTEGER NOT NULL,
  bytes BLOB NOT NULL
) STRICT;

INSERT INTO actors (ordinal, address, machine, id, version, definition, status, state, seq, hash, epoch, created_ms, updated_ms, quarantine, snapshot)
  SELECT ordinal, address, machine, id, version, '', status, state, seq, hash, epoch, created_ms, updated_ms, quarantine, snapshot
  FROM actors_1 ORDER BY ordinal;
INSERT INTO journal (position, actor, seq, at_ms, cause, event, facts, actions, version, hash)
  SELECT position, actor, seq, at_ms, cause, event, facts, actions, version, hash FROM journal_1 ORDER BY position;
-- When it was stored is not known. The last moment that it can have been, to the hour: retention may err by keeping, not by removing.
INSERT INTO blobs (digest, stored_ms, bytes)
  SELECT digest, coalesce((SELECT at_ms - at_ms % 3600000 FROM journal ORDER BY position DESC LIMIT 1), 0), bytes FROM blobs_1 ORDER BY rowid;
DROP TABLE actors_1;
DROP TABLE journal_1;
DROP TABLE blobs_1;

-- No index on actors holds what an ordinary step changes (state, seq, hash, snapshot, updated_ms), except for final actors, which
-- take no step: so a step writes one page of this table and none of an index.
CREATE INDEX actors_unfinished ON actors (ordinal, epoch) WHERE status = 'active';
CREATE INDEX actors_unfinished_of_machine ON actors (machine, ordinal, epoch) WHERE status = 'active';
CREATE INDEX actors_unfinished_machine ON actors (machine, version, definition) WHERE status = 'active';
CREATE INDEX actors_of_machine ON actors (machine, ordinal);
CREATE INDEX actors_quarantined ON actors (ordinal) WHERE quarantine IS NOT NULL;
-- Retention asks which final actors are old: what it reads is bounded by those, not by the final actors that are kept.
CREATE INDEX actors_final ON actors (updated_ms, machine) WHERE status = 'final';

-- The time of an older answer is taken to be that of its actor's last entry: it may be kept too long, and not too short.
ALTER TABLE answers ADD COLUMN at_ms INTEGER NOT NULL DEFAULT 0;
UPDATE answers SET at_ms = coalesce((SELECT updated_ms FROM actors WHERE address = answers.actor), 0);
CREATE INDEX answers_by_time ON answers (at_ms);

ALTER TABLE effects ADD COLUMN child TEXT;

CREATE TABLE timers (
  ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE,
  actor TEXT NOT NULL,
  id TEXT NOT NULL,
  event TEXT NOT NULL,
  delay TEXT NOT NULL,
  policy TEXT NOT NULL CHECK (policy IN ('absolute', 'remaining', 'restart')),
  delay_ms INTEGER NOT NULL,
  due_ms INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('armed', 'parked'))
) STRICT;
CREATE INDEX timers_due ON timers (due_ms) WHERE state = 'armed';
CREATE INDEX timers_parked ON timers (ordinal) WHERE state = 'parked';
CREATE INDEX timers_of_actor ON timers (actor, ordinal);
CREATE INDEX timers_rebased ON timers (policy) WHERE policy <> 'absolute';

CREATE INDEX dead_letters_by_time ON dead_letters (at_ms);
-- An opening asks for the letters that wait for a program of another version.
CREATE INDEX dead_letters_for_reason ON dead_letters (reason);

-- What is left of deleted actors.
CREATE TABLE tombstones (
  ordinal INTEGER PRIMARY KEY,
  address TEXT NOT NULL UNIQUE,
  machine TEXT NOT NULL,
  version TEXT NOT NULL,
  state TEXT NOT NULL,
  seq INTEGER NOT NULL,
  hash TEXT NOT NULL,
  deleted_ms INTEGER NOT NULL
) STRICT;
`,
  `
ALTER TABLE journal RENAME TO journal_2;

-- \`before\` is the position of the actor's entry before this one, 0 where there is none.
CREATE TABLE journal (
  position INTEGER PRIMARY KEY,
  actor TEXT NOT NULL,
  seq INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  cause TEXT NOT NULL,
  event TEXT NOT NULL,
  facts TEXT NOT NULL,
  actions TEXT NOT NULL,
  version TEXT NOT NULL,
  hash TEXT NOT NULL,
  before INTEGER NOT NULL
) STRICT;
INSERT INTO journal (position, actor, seq, at_ms, cause, event, facts, actions, version, hash, before)
  SELECT position, actor, seq, at_ms, cause, event, facts, actions, version, hash,
    coalesce(lag(position) OVER (PARTITION BY actor ORDER BY seq), 0)
  FROM journal_2 ORDER BY position;
DROP TABLE journal_2;
-- Not of all entries: with many actors each step would write a page of this index. See sqlite-journal.ts.
CREATE UNIQUE INDEX journal_marks ON journal (actor, seq) WHERE seq % 16 = 1;

-- The last entry of each actor. Small rows, so that those of many actors share a page.
CREATE TABLE heads (
  actor TEXT PRIMARY KEY,
  seq INTEGER NOT NULL,
  position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO heads (actor, seq, position) SELECT actor, max(seq), position FROM journal GROUP BY actor;
`,
  `
-- An actor's row says where its chain ends: a table of its own for that was one more page in each commit.
ALTER TABLE actors RENAME TO actors_3;

CREATE TABLE actors (
  ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
  address TEXT NOT NULL UNIQUE,
  machine TEXT NOT NULL,
  id TEXT NOT NULL,
  version TEXT NOT NULL,
  definition TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('active', 'final')),
  state TEXT NOT NULL,
  seq INTEGER NOT NULL,
  hash TEXT NOT NULL,
  -- Where in the journal its last entry is, and with it the end of its chain; 0 where that is to be searched for.
  position INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  quarantine TEXT,
  -- Last, because it is large: the columns before it are read without following its overflow pages.
  snapshot TEXT NOT NULL
) STRICT;
-- No ordinal is given out again, also where the last actors were deleted.
INSERT INTO sqlite_sequence (name, seq) SELECT 'actors', seq FROM sqlite_sequence WHERE name = 'actors_3';
INSERT INTO actors (ordinal, address, machine, id, version, definition, status, state, seq, hash, position, epoch, created_ms, updated_ms,
    quarantine, snapshot)
  SELECT ordinal, address, machine, id, version, definition, status, state, seq, hash,
    coalesce((SELECT position FROM heads WHERE actor = address), 0), epoch, created_ms, updated_ms, quarantine, snapshot
  FROM actors_3 ORDER BY ordinal;
DROP TABLE actors_3;
DROP TABLE heads;

-- As they were.
CREATE INDEX actors_unfinished ON actors (ordinal, epoch) WHERE status = 'active';
CREATE INDEX actors_unfinished_of_machine ON actors (machine, ordinal, epoch) WHERE status = 'active';
CREATE INDEX actors_unfinished_machine ON actors (machine, version, definition) WHERE status = 'active';
CREATE INDEX actors_of_machine ON actors (machine, ordinal);
CREATE INDEX actors_quarantined ON actors (ordinal) WHERE quarantine IS NOT NULL;
CREATE INDEX actors_final ON actors (updated_ms, machine) WHERE status = 'final';
`,
];

/** The schema that this program writes; kept in `PRAGMA user_version`. */
export const SCHEMA_VERSION = MIGRATIONS.length;
