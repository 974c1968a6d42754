/**
 * Verify: every row of a root held against the journal.
 *
 * Owns the checks that need no knowledge of what machines mean. Guarantees: reads only; a damaged row becomes a fault and never an
 * exception; each fault names its actor.
 */

import { DeliveryCheck, type Told } from "./delivery-check.ts";
import { messageOf } from "./error.ts";
import { type Fault, fold } from "./fold.ts";
import { canonical } from "./json.ts";
import { entriesOf, PAGE, pages } from "./page.ts";
import type { Registration } from "./registration.ts";
import { EFFECTS_LIMIT } from "./request.ts";
import type { ActorRow, PlacedJournalRow, StoreReader } from "./store.ts";
import { dehydrate, type Enclosure, isFinal, stateName } from "./transition.ts";

/** What a check of a whole root found; `ok` where there is no fault. */
export interface Verified {
  readonly ok: boolean;
  /** Actors checked. */
  readonly actors: number;
  /** Journal entries checked. */
  readonly entries: number;
  readonly faults: readonly Fault[];
}

/**
 * Checks every actor, journal entry, effect and dead letter. Time grows with the whole root; memory with its dead letters. What no
 * entry accounts for cannot be checked: whether an actor is set aside, and the answers to keyed events that were ignored.
 */
export function verify(reader: StoreReader, registrations: ReadonlyMap<string, Registration>, enclose: Enclosure): Verified {
  const faults: Fault[] = [];
  const guard = (actor: string | null, check: () => Iterable<Fault>) => {
    try {
      faults.push(...check());
    } catch (error) {
      faults.push({
        code: "journal_damaged",
        actor,
        seq: null,
        message: `a row cannot be read: ${messageOf(error)}`,
      });
    }
  };
  let actors = 0;
  for (const row of pages(
    (after) => reader.actors({}, { after, limit: PAGE }),
    (row) => row.ordinal,
  )) {
    actors++;
    guard(row.address, () => checkActor(reader, registrations, row, enclose));
  }
  /** Actors that have faults before deliveries are looked at. */
  const own = new Set<string | null>();
  const deliveries = new DeliveryCheck(registrations, (actor) => own.has(actor));
  let entries = 0;
  let last = 0;
  for (const row of pages(
    (after) => reader.entries({ after, limit: PAGE }),
    (row) => row.position,
  )) {
    entries++;
    if (row.position !== last + 1) faults.push(missing(last + 1, row.position - 1));
    last = row.position;
    guard(row.actor, () => {
      const told: Told = { cause: JSON.parse(row.cause), actions: JSON.parse(row.actions) };
      deliveries.entry(row, told);
      return checkEntry(reader, row, told);
    });
  }
  for (const { actor } of faults) own.add(actor);
  for (const row of pages(
    (after) => reader.deadLetters({}, { after, limit: PAGE }),
    (row) => row.position,
  ))
    guard(row.receiver, () => deliveries.letter(row));
  faults.push(...deliveries.rest());
  for (const row of pages(
    (after) => reader.effects({}, { after, limit: PAGE }),
    (row) => row.ordinal,
  ))
    if (!reader.actor(row.actor))
      faults.push({
        code: "row_unexpected",
        actor: row.actor,
        seq: null,
        message: `the effect ${row.key} belongs to an actor that is not there`,
      });
  const given = reader.lastPosition();
  if (given > last) faults.push(missing(last + 1, given));
  return { ok: faults.length === 0, actors, entries, faults };
}

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

function* checkActor(
  reader: StoreReader,
  registrations: ReadonlyMap<string, Registration>,
  row: ActorRow,
  enclose: Enclosure,
): Generator<Fault> {
  const fault = (code: string, message: string, seq: number | null = null): Fault => ({ code, actor: row.address, seq, message });
  if (row.address !== `${row.machine}/${row.id}`) yield fault("snapshot_damaged", `the row says that it is ${row.machine}/${row.id}`);
  if (row.epoch > reader.epoch()) yield fault("snapshot_damaged", `the row is of epoch ${row.epoch}; the root is at ${reader.epoch()}`);
  const registration = registrations.get(row.machine);
  if (!registration) return yield fault("machine_unknown", `no machine ${row.machine} is registered`);
  const moved: Fault[] = [];
  const folded = fold(registration, row.address, inOrder(entriesOf(reader, row.address), moved), enclose);
  yield* moved;
  if (folded.faults.length > 0) return yield* folded.faults;
  if (folded.seq !== row.seq)
    return yield fault("row_missing", `the snapshot is at ${row.seq}, the journal ends at ${folded.seq}`, Math.max(folded.seq, row.seq));
  if (folded.hash !== row.hash) yield fault("snapshot_damaged", "the actor's hash is not its last entry's", row.seq);
  if (!folded.snapshot) return;
  yield* checkSnapshot(
    row,
    registration,
    dehydrate(registration, folded.snapshot),
    isFinal(folded.snapshot),
    stateName(folded.snapshot.value),
  );
  yield* checkEffects(reader, row, folded.effects);
  yield* checkBirth(reader, row);
}

/** What the first entry, and the last one's time, say of the actor's row and of its identities. */
function* checkBirth(reader: StoreReader, row: ActorRow): Generator<Fault> {
  const fault = (code: string, message: string): Fault => ({ code, actor: row.address, seq: 1, message });
  const creation = reader.journal(row.address, { limit: 1 })[0];
  const latest = reader.journal(row.address, { after: row.seq - 1, limit: 1 })[0];
  if (creation?.atMs !== row.createdMs || latest?.atMs !== row.updatedMs)
    yield fault("snapshot_damaged", "the row's times are not its entries'");
  const own = new Set(creation ? (JSON.parse(creation.event).keys as string[]) : []);
  for (const key of own)
    if (reader.identity(key) !== row.address) yield fault("row_missing", `the identity ${key} is not recorded as its own`);
  for (const key of reader.identities(row.address))
    if (!own.has(key)) yield fault("row_unexpected", `the identity ${key} is not one that it was created with`);
}

function* checkSnapshot(row: ActorRow, registration: Registration, expected: string, final: boolean, state: string): Generator<Fault> {
  const fault = (message: string): Fault => ({ code: "snapshot_damaged", actor: row.address, seq: row.seq, message });
  let stored: unknown;
  try {
    stored = JSON.parse(row.snapshot);
  } catch {
    return yield fault("the stored snapshot is not JSON");
  }
  if (canonical(stored) !== canonical(JSON.parse(expected))) yield fault("the stored snapshot is not what the journal gives");
  if ((row.status === "final") !== final || row.state !== state || row.version !== registration.version)
    yield fault(`the row says ${row.status} in ${row.state}, the journal gives ${state}`);
}

function* checkEffects(
  reader: StoreReader,
  row: ActorRow,
  expected: readonly { key: string; name: string; params: string; scope: string }[],
): Generator<Fault> {
  const stored = new Map(reader.effects({ actor: row.address }, { limit: EFFECTS_LIMIT }).map((effect) => [effect.key, effect]));
  for (const effect of expected) {
    const found = stored.get(effect.key);
    stored.delete(effect.key);
    if (!found)
      yield { code: "row_missing", actor: row.address, seq: row.seq, message: `the effect ${effect.key} is requested and has no row` };
    else if (found.name !== effect.name || found.params !== effect.params || found.scope !== effect.scope)
      yield { code: "journal_damaged", actor: row.address, seq: row.seq, message: `the effect ${effect.key} is not as it was requested` };
  }
  for (const key of stored.keys())
    yield { code: "row_unexpected", actor: row.address, seq: row.seq, message: `the effect ${key} is not requested` };
}

/** A gap in the order of the root. Whose rows they were, the actors' own journals say. */
function missing(from: number, to: number): Fault {
  return { code: "row_missing", actor: null, seq: null, message: `the journal positions ${from} to ${to} are missing` };
}

/** What an entry says of other rows. */
function* checkEntry(reader: StoreReader, row: PlacedJournalRow, { cause, actions }: Told): Generator<Fault> {
  const fault = (code: string, message: string): Fault => ({ code, actor: row.actor, seq: row.seq, message });
  if (!reader.actor(row.actor)) {
    const isFirst = reader.journal(row.actor, { limit: 1 })[0]?.seq === row.seq;
    if (isFirst) yield fault("row_missing", `the actor ${row.actor} has a journal and no row`);
    return;
  }
  if (cause.kind === "outside" && cause.key !== undefined) {
    const answer = reader.answer(row.actor, cause.key);
    if (!answer) yield fault("row_missing", `the answer under the key ${cause.key} is missing`);
    else if (canonical(JSON.parse(answer.answer)) !== canonical({ kind: "accepted", seq: row.seq }))
      yield fault("journal_damaged", `the answer under the key ${cause.key} is not the one that its entry gives`);
  }
  for (const action of actions)
    if (action.type === "create" && !reader.actor(`${action.machine}/${action.id}`))
      yield fault("row_missing", `the actor ${action.machine}/${action.id} that it created is missing`);
}
