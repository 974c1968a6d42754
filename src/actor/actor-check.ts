/**
 * Actor check: one actor's rows held against its journal.
 *
 * Guarantees: reads only; each fault names what is not as the journal gives it.
 */

import type { AnyMachineSnapshot } from "xstate";
import { pending } from "./admission.ts";
import { type Fault, type Folded, fold, isFoldedTo } from "./fold.ts";
import { chainFault, inflated, NO_HASH } from "./journal.ts";
import { entriesOf } from "./page.ts";
import type { Registration } from "./registration.ts";
import type { ActorRow, EffectRow, PlacedJournalRow, StoreReader, TimerRow } from "./store.ts";
import { type Enclosure, isFinal, stateName } from "./transition.ts";

/** The same rows; an entry that the root did not commit after the one before it becomes a fault. */
function* inOrder(rows: Iterable<PlacedJournalRow>, faults: Fault[]): Generator<PlacedJournalRow> {
  let position = 0;
  for (const row of rows) {
    if (row.position <= position)
      faults.push({
        code: "journal_damaged",
        actor: row.actor,
        seq: row.seq,
        message: `entry ${row.seq} stands before the entry that it follows`,
      });
    position = row.position;
    yield row;
  }
}

/** What a check stands on. */
export interface CheckGround {
  readonly reader: StoreReader;
  readonly registrations: ReadonlyMap<string, Registration>;
  readonly enclose: Enclosure;
  /** What an actor is whose machine is not registered: a fault, or one whose chain and rows are checked and no more. */
  readonly unknown: "fault" | "skip";
}

/**
 * Everything in an actor's rows that is not as its journal gives it. `known` is what the journal comes to, where it has been folded: its
 * entries are not read again then, and nothing is said of their order.
 */
export function* checkActor(row: ActorRow, { reader, registrations, enclose, unknown }: CheckGround, known?: Folded): Generator<Fault> {
  const fault = (code: string, message: string, seq: number | null = null): Fault => ({ code, actor: row.address, seq, message });
  if (row.address !== `${row.machine}/${row.id}`) yield fault("snapshot_damaged", `the row says that it is ${row.machine}/${row.id}`);
  if (row.epoch > reader.epoch()) yield fault("snapshot_damaged", `the row is of epoch ${row.epoch}; the root is at ${reader.epoch()}`);
  if (reader.tombstone(row.address)) yield fault("row_unexpected", "the actor was deleted, and is there");
  const registration = registrations.get(row.machine);
  if (!registration && unknown === "fault") return yield fault("machine_unknown", `no machine ${row.machine} is registered`);
  const moved: Fault[] = [];
  const entries = inOrder(entriesOf(reader, row.address), moved);
  const ground = { actor: row.address, reader, enclose };
  const folded: Chained = known ?? (registration ? fold({ ...ground, registration }, entries) : chained(row.address, entries));
  yield* moved;
  if (folded.faults.length > 0) return yield* folded.faults;
  if (folded.seq !== row.seq)
    return yield fault("row_missing", `the snapshot is at ${row.seq}, the journal ends at ${folded.seq}`, Math.max(folded.seq, row.seq));
  if (folded.seq === 0) return yield fault("row_missing", "there is an actor, and no entry that created it", 1);
  if (folded.hash !== row.hash) yield fault("snapshot_damaged", "the actor's hash is not its last entry's", row.seq);
  if (folded.version !== row.version)
    yield fault("snapshot_damaged", `the row says version ${row.version}, its last entry ${folded.version}`, row.seq);
  yield* checkBirth(reader, row);
  // An older version's transitions cannot be repeated: its rows are held by the chain alone.
  if (!registration || row.version !== registration.version || !isFolded(folded)) return;
  yield* checkSnapshot(row, registration, folded);
  const wrong = (code: string, message: string) => fault(code, message, row.seq);
  const { effects, timers } = pending(row.address, reader);
  yield* checkRows("effect", folded.effects, effects, isSameEffect, wrong);
  yield* checkRows("timer", folded.timers, timers, isSameTimer, wrong);
}

/** What a journal comes to by its chain alone. */
type Chained = Pick<Folded, "seq" | "hash" | "version" | "faults">;

/** The journal of an actor whose machine is not known. Its large columns are read where all entries are. */
function chained(actor: string, rows: Iterable<PlacedJournalRow>): Chained {
  let end = { seq: 0, hash: NO_HASH, version: "" };
  for (const row of rows) {
    const seq = end.seq + 1;
    const broken = chainFault(end.hash, seq, row);
    if (broken) return { ...end, seq, faults: [{ code: "journal_damaged", actor, seq, message: broken }] };
    end = row;
  }
  return { ...end, faults: [] };
}

/** What a journal comes to by its machine too. */
type Whole = Folded & { readonly snapshot: AnyMachineSnapshot };

function isFolded(found: Chained): found is Whole {
  return (found as Folded).snapshot !== undefined;
}

/** What the first entry, and the last one's time, say of the actor's row and of its identities. */
function* checkBirth(reader: StoreReader, row: ActorRow): Generator<Fault> {
  const fault = (code: string, message: string): Fault => ({ code, actor: row.address, seq: 1, message });
  const creation = reader.journal(row.address, { limit: 1 })[0] as PlacedJournalRow;
  const latest = reader.journal(row.address, { after: row.seq - 1, limit: 1 })[0];
  if (creation.atMs !== row.createdMs || latest?.atMs !== row.updatedMs)
    yield fault("snapshot_damaged", "the row's times are not its entries'");
  const own = new Set(JSON.parse(inflated(reader, creation).event).keys as string[]);
  for (const key of own)
    if (reader.identity(key) !== row.address) yield fault("row_missing", `the identity ${key} is not recorded as its own`);
  for (const key of reader.identities(row.address))
    if (!own.has(key)) yield fault("row_unexpected", `the identity ${key} is not one that it was created with`);
}

function* checkSnapshot(row: ActorRow, registration: Registration, folded: Whole): Generator<Fault> {
  const { snapshot } = folded;
  const fault = (message: string): Fault => ({ code: "snapshot_damaged", actor: row.address, seq: row.seq, message });
  const state = stateName(snapshot.value);
  try {
    JSON.parse(row.snapshot);
  } catch {
    return yield fault("the stored snapshot is not JSON");
  }
  if (!isFoldedTo(registration, folded, row.snapshot)) yield fault("the stored snapshot is not what the journal gives");
  if ((row.status === "final") !== isFinal(snapshot) || row.state !== state)
    yield fault(`the row says ${row.status} in ${row.state}, the journal gives ${state}`);
}

/** Rows of one kind that the journal requests, against those that are stored. */
function* checkRows<Row extends { readonly key: string }>(
  kind: string,
  expected: readonly Row[],
  rows: readonly Row[],
  isSame: (one: Row, other: Row) => boolean,
  fault: (code: string, message: string) => Fault,
): Generator<Fault> {
  const stored = new Map(rows.map((row) => [row.key, row]));
  for (const row of expected) {
    const found = stored.get(row.key);
    stored.delete(row.key);
    if (!found) yield fault("row_missing", `the ${kind} ${row.key} is requested and has no row`);
    else if (!isSame(row, found)) yield fault("journal_damaged", `the ${kind} ${row.key} is not as it was requested`);
  }
  for (const key of stored.keys()) yield fault("row_unexpected", `the ${kind} ${key} is not requested`);
}

function isSameEffect(one: EffectRow, other: EffectRow): boolean {
  return one.name === other.name && one.params === other.params && one.scope === other.scope && one.child === other.child;
}

/** Time without an owner puts off a timer that does not count it. */
function isSameTimer(one: TimerRow, other: TimerRow): boolean {
  const isDueAsSet = one.dueMs === other.dueMs || one.policy !== "absolute";
  const isSame = one.id === other.id && one.event === other.event && one.delay === other.delay && one.delayMs === other.delayMs;
  return isSame && isDueAsSet && one.policy === other.policy;
}
