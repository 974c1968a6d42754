/**
 * Verify: every row of a root held against the journal.
 *
 * Owns the checks that need no knowledge of what machines mean. Guarantees: reads only; a damaged row becomes a fault and never an
 * exception; each fault names its actor.
 */

import { checkActor } from "./actor-check.ts";
import { DeliveryCheck, type Told } from "./delivery-check.ts";
import { messageOf } from "./error.ts";
import type { Fault } from "./fold.ts";
import { inflated } from "./journal.ts";
import { canonical } from "./json.ts";
import { PAGE, pages } from "./page.ts";
import type { Registration } from "./registration.ts";
import type { PlacedJournalRow, StoreReader, TombstoneRow } from "./store.ts";
import type { Enclosure } from "./transition.ts";

/** What a check of a whole root found; `ok` where there is no fault. */
export interface Verified {
  readonly ok: boolean;
  /** Actors checked. */
  readonly actors: number;
  /** Journal entries checked. */
  readonly entries: number;
  /** Actors by machine that were not folded, for no such machine was given; empty where that is a fault. */
  readonly unfolded: Readonly<Record<string, number>>;
  readonly faults: readonly Fault[];
}

/**
 * Checks every actor, journal entry, effect and dead letter. Time grows with the whole root; memory with its dead letters. What no
 * entry accounts for cannot be checked: whether an actor is set aside, and the answers to keyed events that were ignored.
 * `unknown` says what an actor is whose machine is not registered: a fault, or one whose chain, rows and blobs are checked and no more.
 */
export function verify(
  reader: StoreReader,
  registrations: ReadonlyMap<string, Registration>,
  enclose: Enclosure,
  unknown: "fault" | "skip" = "fault",
): Verified {
  const faults: Fault[] = [];
  const unfolded: Record<string, number> = {};
  const guard = (actor: string | null, check: () => Iterable<Fault>) => {
    try {
      for (const fault of check()) faults.push(fault);
    } catch (error) {
      faults.push({
        code: "journal_damaged",
        actor,
        seq: null,
        message: `a row cannot be read: ${messageOf(error)}`,
      });
    }
  };
  const ground = { reader, registrations, enclose, unknown };
  const seen = nothingSeen();
  let actors = 0;
  for (const row of pages(
    (after) => reader.actors({}, { after, limit: PAGE }),
    (row) => row.ordinal,
  )) {
    actors++;
    seen.taken += row.seq;
    if (unknown === "skip" && !registrations.has(row.machine)) unfolded[row.machine] = (unfolded[row.machine] ?? 0) + 1;
    guard(row.address, () => checkActor(row, ground));
  }
  /** Actors that have faults before deliveries are looked at. */
  const own = new Set<string | null>();
  const deliveries = new DeliveryCheck(reader, registrations, (actor) => own.has(actor));
  let entries = 0;
  let last = 0;
  const gaps: [number, number][] = [];
  for (const row of pages(
    (after) => reader.entries({ after, limit: PAGE }),
    (row) => row.position,
  )) {
    entries++;
    if (row.position !== last + 1) gaps.push([last + 1, row.position - 1]);
    last = row.position;
    guard(row.actor, () => {
      const whole = inflated(reader, row);
      const told: Told = { cause: JSON.parse(row.cause), actions: JSON.parse(whole.actions) };
      deliveries.entry(whole, told);
      return checkEntry(reader, row, told, seen);
    });
  }
  for (const { actor } of faults) own.add(actor);
  for (const row of pages(
    (after) => reader.deadLetters({}, { after, limit: PAGE }),
    (row) => row.position,
  ))
    guard(row.receiver, () => deliveries.letter(row));
  for (const fault of deliveries.rest()) faults.push(fault);
  for (const kind of ["effect", "timer"] as const) for (const fault of orphans(kind, reader)) faults.push(fault);
  guard(null, () => {
    const given = reader.lastPosition();
    if (given > last) gaps.push([last + 1, given]);
    return unaccounted(gaps, [...tombstones(reader)]);
  });
  // Only where nothing else is wrong: every actor's own entries were found then.
  if (faults.length === 0) guard(null, () => repeated(seen));
  return { ok: faults.length === 0, actors, entries, unfolded, faults };
}

/** Effects or timers whose actor is not there. */
function* orphans(kind: "effect" | "timer", reader: StoreReader): Generator<Fault> {
  for (const { key, actor } of pages(
    (after) => reader[`${kind}s`]({}, { after, limit: PAGE }),
    (row: { readonly key: string; readonly actor: string; readonly ordinal: number }) => row.ordinal,
  ))
    if (!reader.actor(actor))
      yield { code: "row_unexpected", actor, seq: null, message: `the ${kind} ${key} belongs to an actor that is not there` };
}

function tombstones(reader: StoreReader): Generator<TombstoneRow> {
  return pages(
    (after) => reader.tombstones({ after, limit: PAGE }),
    (row) => row.ordinal,
  );
}

/** Gaps that deleted actors do not account for. Whose rows they were, the actors' own journals say. */
function unaccounted(gaps: readonly (readonly [number, number])[], deletedActors: readonly TombstoneRow[]): Fault[] {
  const strange = deletedActors.find(({ address, machine }) => !address.startsWith(`${machine}/`));
  if (strange)
    return [
      { code: "row_unexpected", actor: strange.address, seq: null, message: `it was deleted as one of the machine ${strange.machine}` },
    ];
  const deleted = deletedActors.reduce((sum, { seq }) => sum + seq, 0);
  const missing = gaps.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  const fault = (message: string): Fault => ({ code: "row_missing", actor: null, seq: null, message });
  if (missing === deleted) return [];
  if (deleted === 0) return gaps.map(([from, to]) => fault(`the journal positions ${from} to ${to} are missing`));
  return [fault(`${missing} journal positions are missing; deleted actors account for ${deleted}`)];
}

/** What was met in a root. */
interface Seen {
  /** Actors without a row that a fault names already. */
  readonly rowless: Set<string>;
  /** Entries of actors that have a row. */
  owned: number;
  /** Entries that the rows of actors speak of. */
  taken: number;
}

function nothingSeen(): Seen {
  return { rowless: new Set(), owned: 0, taken: 0 };
}

/** Entries that are there twice. No actor's own journal shows them. */
function* repeated({ owned, taken }: Seen): Generator<Fault> {
  const message = `the journal has ${owned} entries of actors that have taken ${taken}`;
  if (owned > taken) yield { code: "row_unexpected", actor: null, seq: null, message };
}

/** What an entry says of other rows. */
export function* checkEntry(reader: StoreReader, row: PlacedJournalRow, { cause, actions }: Told, seen = nothingSeen()): Generator<Fault> {
  const fault = (code: string, message: string): Fault => ({ code, actor: row.actor, seq: row.seq, message });
  const actor = reader.actor(row.actor);
  if (!actor) {
    if (!seen.rowless.has(row.actor)) yield fault("row_missing", `the actor ${row.actor} has a journal and no row`);
    seen.rowless.add(row.actor);
    return;
  }
  seen.owned++;
  if (row.seq > actor.seq) yield fault("row_unexpected", `entry ${row.seq} is behind the last one of its actor, which is at ${actor.seq}`);
  if (cause.kind === "outside" && cause.key !== undefined) {
    const answer = reader.answer(row.actor, cause.key);
    // Retention may have removed it, and the key may have been taken anew since.
    const mayBeGone = row.atMs < reader.watermarks().answersMs;
    if (!answer && !mayBeGone) yield fault("row_missing", `the answer under the key ${cause.key} is missing`);
    else if (
      answer &&
      !(mayBeGone && answer.atMs !== row.atMs) &&
      canonical(JSON.parse(answer.answer)) !== canonical({ kind: "accepted", seq: row.seq })
    )
      yield fault("journal_damaged", `the answer under the key ${cause.key} is not the one that its entry gives`);
  }
  for (const action of actions)
    if (action.type === "create" && !isThere(reader, `${action.machine}/${action.id}`))
      yield fault("row_missing", `the actor ${action.machine}/${action.id} that it created is missing`);
}

function isThere(reader: StoreReader, address: string): boolean {
  return reader.actor(address) !== undefined || reader.tombstone(address) !== undefined;
}
