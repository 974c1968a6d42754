/**
 * Admission: what a stored actor is to this program when it is read in a commit: one that can take events, or one that cannot, and why.
 *
 * Guarantees: an actor of an older version is migrated where there is a way, in an entry of its own; what cannot be proved safe is
 * parked and its rows stay as they are; a row that cannot be read, or that its own journal contradicts, sets its actor aside, so that
 * nothing is ever written behind a damaged revision (ACT-10).
 */

import { type EngineCode, HoldfastError, messageOf } from "./error.ts";
import { type Folded, fold, isFoldedTo } from "./fold.ts";
import type { EntryContent, Ground, Known, Live, Unavailable } from "./known.ts";
import { hasMigration, migrate } from "./migration.ts";
import { entriesOf, entryAt } from "./page.ts";
import type { Registration } from "./registration.ts";
import { EFFECTS_LIMIT, TIMERS_LIMIT } from "./request.ts";
import type { ActorRow, EffectRow, JournalRow, PlacedJournalRow, Quarantine, StoreReader, TimerRow } from "./store.ts";
import { hydrate, isFinal } from "./transition.ts";

/** The draft in which an actor is read, as far as reading changes it. */
export interface Reading {
  readonly ground: Ground;
  readonly effects: Map<string, EffectRow | null>;
  readonly timers: Map<string, TimerRow | null>;
  readonly quarantines: Map<string, Quarantine>;
  readonly untold: Set<string>;
  readonly rewritten: Set<string>;
  readonly stored: Map<string, Live>;
  append(address: string, before: { readonly seq: number; readonly hash: string }, content: EntryContent): JournalRow;
}

/** The actor of a row, in the root of a draft. */
export function admitted(draft: Reading, row: ActorRow): Known {
  const { reader, registrations, changed } = draft.ground;
  if (row.quarantine) return unavailable(row, "actor_quarantined", `${row.quarantine.code}: ${row.quarantine.message}`);
  if (row.address !== `${row.machine}/${row.id}`) return damaged(draft, row, `its row says that it is ${row.machine}/${row.id}`);
  const registration = registrations.get(row.machine);
  if (!registration)
    return row.status === "final" ? final(row) : unavailable(row, "machine_unknown", `no machine ${row.machine} is registered`);
  const last = lastEntry(row, reader);
  if (typeof last === "string") return damaged(draft, row, last);
  if (row.version !== registration.version) return older(draft, registration, row, last.position);
  let live: Live;
  try {
    live = read(registration, row, last.position, reader);
  } catch (cause) {
    return damaged(draft, row, unreadable(cause));
  }
  // Lists and retention go by the row, everything else by the snapshot.
  if (row.status !== (isFinal(live.snapshot) ? "final" : "active"))
    return damaged(draft, row, `its row says ${row.status}, its snapshot ${live.snapshot.status}`);
  if (!parkedAs(registration, row) || row.status === "final") {
    draft.stored.set(row.address, live);
    return live;
  }
  const folded = changed === "refold" ? foldedTo(registration, row, draft.ground) : undefined;
  if (!folded) return unavailable(row, "machine_changed", `${row.machine} was changed and still says that it is version ${row.version}`);
  draft.rewritten.add(row.address);
  const timers = live.timers.map((timer) => repoliced(timer, folded));
  for (const timer of timers) if (!live.timers.includes(timer)) draft.timers.set(timer.key, timer);
  return { ...live, timers, definition: registration.definition };
}

/**
 * Why an unfinished actor that nobody set aside cannot take events as it is stored; undefined where it can. `migration_failed` is also
 * one whose migration has not been tried, and `machine_changed` one that a refold has not been asked of.
 */
export function parkedAs(registration: Registration | undefined, row: Pick<ActorRow, "version" | "definition">): EngineCode | undefined {
  if (!registration) return "machine_unknown";
  if (row.version !== registration.version) return hasMigration(registration, row.version) ? "migration_failed" : "machine_version_unknown";
  return row.definition === "" || row.definition === registration.definition ? undefined : "machine_changed";
}

/** An actor of another version: migrated where there is a way. */
export function older(draft: Reading, registration: Registration, row: ActorRow, position?: number): Known {
  const { address, id, createdMs } = row;
  if (row.status === "final") return final(row);
  if (!hasMigration(registration, row.version))
    return unavailable(
      row,
      "machine_version_unknown",
      `written by version ${row.version} of ${row.machine}; this program has ${registration.version}`,
    );
  const { reader, now, epoch, enclose, sizeLimit } = draft.ground;
  const atMs = now();
  try {
    const { effects, timers } = pending(address, reader);
    const { snapshot, event, ...rows } = migrate(registration, { row, effects, timers }, { atMs, epoch, enclose, sizeLimit });
    const { version, definition } = registration;
    const entry = draft.append(address, row, { atMs, version, cause: { kind: "engine" }, event, facts: [], actions: [] });
    replaceRows(draft.effects, effects, rows.effects);
    replaceRows(draft.timers, timers, rows.timers);
    return {
      ...{ kind: "live", address, id, registration, definition, snapshot, text: undefined, seq: entry.seq, hash: entry.hash },
      ...{ position, epoch: row.epoch, createdMs, updatedMs: atMs, ...rows },
    };
  } catch (error) {
    if (!(error instanceof HoldfastError)) return damaged(draft, row, unreadable(error));
    if (error.code !== "migration_failed") throw error;
    return unavailable(row, error.code, error.message);
  }
}

/** An actor's last entry, or what its row says against the end of its own journal. */
export function lastEntry(row: ActorRow, reader: StoreReader): PlacedJournalRow | string {
  const { address, seq, hash, version } = row;
  const wrong = (["seq", "epoch", "createdMs", "updatedMs"] as const).find((column) => !Number.isSafeInteger(row[column]));
  if (wrong) return `its ${wrong} is ${row[wrong]}`;
  const last = entryAt(reader, address, seq);
  if (!last) return `its row is at ${seq}, where its journal has no entry`;
  if (last.hash !== hash) return `the hash of its row is not that of its entry ${seq}`;
  if (last.version !== version) return `its row says version ${version}, its entry ${seq} says ${last.version}`;
  if (reader.journal(address, { after: seq, limit: 1 }).length > 0) return `its row is at ${seq}, and its journal goes on`;
  return last;
}

function unavailable({ address, seq }: ActorRow, code: Unavailable["code"], message: string): Unavailable {
  return { kind: "unavailable", address, code, message, seq };
}

function final(row: ActorRow): Unavailable {
  return unavailable(row, "actor_final", `${row.address} is final`);
}

function unreadable(cause: unknown): string {
  return `its stored snapshot cannot be read: ${messageOf(cause)}`;
}

function damaged(draft: Reading, row: ActorRow, message: string): Unavailable {
  draft.quarantines.set(row.address, { code: "snapshot_damaged", message, atMs: draft.ground.now() });
  draft.untold.add(row.address);
  return unavailable(row, "actor_quarantined", message);
}

/** Requested and not settled. */
export function pending(address: string, reader: StoreReader): { effects: EffectRow[]; timers: TimerRow[] } {
  return {
    effects: reader.effects({ actor: address }, { limit: EFFECTS_LIMIT }),
    timers: reader.timers({ actor: address }, { limit: TIMERS_LIMIT }),
  };
}

/** A stored actor. Throws where its snapshot cannot be read. */
function read(registration: Registration, row: ActorRow, position: number, reader: StoreReader): Live {
  const snapshot = hydrate(registration, row.snapshot);
  const { address, id, definition, seq, hash, epoch, createdMs, updatedMs } = row;
  const { effects, timers } = isFinal(snapshot) ? { effects: [], timers: [] } : pending(address, reader);
  const known = { address, id, registration, definition, snapshot, text: undefined, seq, hash, position };
  return { kind: "live", ...known, epoch, createdMs, updatedMs, effects, timers };
}

/** What the changed machine makes of the journal, where that is what is stored (design: the refold option). */
function foldedTo(registration: Registration, row: ActorRow, { reader, enclose }: Ground): Folded | undefined {
  const folded = fold({ registration, actor: row.address, reader, enclose }, entriesOf(reader, row.address));
  return folded.faults.length === 0 && isFoldedTo(registration, folded, row.snapshot) ? folded : undefined;
}

/** A timer by the policy that its delay has now. An absolute one is due as it was set, however long nobody owned the root. */
function repoliced(timer: TimerRow, { timers }: Folded): TimerRow {
  const made = timers.find(({ key }) => key === timer.key);
  if (!made || made.policy === timer.policy) return timer;
  return { ...timer, policy: made.policy, ...(made.policy === "absolute" ? { dueMs: made.dueMs } : {}) };
}

/** Notes what is to be written so that `after` takes the place of `before`. */
export function replaceRows<Row extends { readonly key: string }>(
  draft: Map<string, Row | null>,
  before: readonly Row[],
  after: readonly Row[],
): void {
  for (const { key } of before) draft.set(key, null);
  for (const row of after) draft.set(row.key, row);
}
