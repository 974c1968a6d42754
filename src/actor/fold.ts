/**
 * Fold: a journal taken through its machine again (ACT-4).
 *
 * Guarantees: nothing is written; what the stored rows say is compared, entry by entry, with what the machine says now. Entries that
 * the engine wrote by itself (a migration, a discarded timer or notice) are taken as they stand: no machine was asked about them.
 */

import type { AnyMachineSnapshot } from "xstate";
import { DISCARDED, MIGRATED } from "./declaration.ts";
import { HoldfastError, messageOf } from "./error.ts";
import { stampOf } from "./event.ts";
import { type Cause, chainFault, inflated, NO_HASH } from "./journal.ts";
import { canonical, differenceAt } from "./json.ts";
import { migratedBy } from "./migration.ts";
import type { Registration } from "./registration.ts";
import { settleEffects, settleTimers } from "./request.ts";
import type { EffectRow, JournalRow, StoreReader, TimerRow } from "./store.ts";
import { dehydrate, type Enclosure, type EngineEvent, hydrate, start, take } from "./transition.ts";

/** Something in a root that is not as it must be. */
export interface Fault {
  /** A code of the registry. */
  readonly code: string;
  /** Address of the actor, or null where it concerns the root. */
  readonly actor: string | null;
  readonly seq: number | null;
  readonly message: string;
}

export interface Folded {
  readonly snapshot: AnyMachineSnapshot | undefined;
  readonly seq: number;
  readonly hash: string;
  /** Version of the last entry; empty where there is none. */
  readonly version: string;
  /** Effects that must be open. */
  readonly effects: readonly EffectRow[];
  /** Timers that must be set; a `remaining` or `restart` one may have been put off since. */
  readonly timers: readonly TimerRow[];
  readonly faults: readonly Fault[];
}

/** What a fold stands on. */
export interface FoldGround {
  readonly registration: Registration;
  readonly actor: string;
  /** Where large columns are read from. */
  readonly reader: Pick<StoreReader, "blob">;
  readonly enclose: Enclosure;
}

/** Where every fold begins. */
const UNFOLDED: Folded = { snapshot: undefined, seq: 0, hash: NO_HASH, version: "", effects: [], timers: [], faults: [] };

/**
 * Folds one actor's entries, ascending, behind those that came to `from`; without it, from seq 1. Stops at the first entry that does not
 * hold, also where `from` stopped; the rest would only repeat it.
 */
export function fold(ground: FoldGround, rows: Iterable<JournalRow>, from = UNFOLDED): Folded {
  const { registration, actor, reader, enclose } = ground;
  if (from.faults.length > 0) return from;
  let { snapshot, effects, timers, seq, hash, version } = from;
  const stop = (code: string, at: number, message: string): Folded => ({
    snapshot,
    seq,
    hash,
    version,
    effects,
    timers,
    faults: [{ code, actor, seq: at, message }],
  });
  for (const stored of rows) {
    const broken = chainFault(hash, seq + 1, stored);
    if (broken) return stop("journal_damaged", seq + 1, broken);
    const before = version;
    seq = stored.seq;
    hash = stored.hash;
    version = stored.version;
    // Another version's transitions cannot be repeated here: such entries are held by the chain alone.
    if (stored.version !== registration.version) continue;
    try {
      const row = inflated(reader, stored);
      const event = JSON.parse(row.event) as EngineEvent;
      const cause = JSON.parse(row.cause) as Cause;
      if (event.type === MIGRATED && cause.kind === "engine") {
        if (event.from !== before || before === version) return stop("fold_mismatch", row.seq, `entry ${row.seq} migrates from no version`);
        ({ snapshot, effects, timers } = migratedBy(registration, actor, event, row.atMs));
        continue;
      }
      const settled = cause.kind === "result" ? cause.effect : undefined;
      const fired = cause.kind === "timer" ? cause.timer : undefined;
      if (settled !== undefined && !effects.some(({ key }) => key === settled))
        return stop("fold_mismatch", row.seq, `entry ${row.seq} is the outcome of ${settled}, which was not requested then`);
      if (fired !== undefined && !timers.some(({ key }) => key === fired))
        return stop("fold_mismatch", row.seq, `entry ${row.seq} is of the timer ${fired}, which was not set then`);
      if (event.type === DISCARDED && (cause.kind === "engine" || cause.kind === "timer")) {
        timers = timers.filter((timer) => timer.key !== fired);
        continue;
      }
      const stamp = stampOf(actor, row.seq, row.atMs);
      const outcome = snapshot
        ? take(registration, snapshot, event, stamp, enclose)
        : start(registration, event.input ?? null, stamp, enclose);
      const other = (what: string, text: string, made: unknown) =>
        stop(
          "fold_mismatch",
          row.seq,
          `entry ${row.seq} has other ${what} (they differ at ${differenceAt(JSON.parse(text), made) ?? "$"})`,
        );
      if (!isTextOf(row.facts, outcome.facts)) return other("facts than its machine states", row.facts, outcome.facts);
      if (!isTextOf(row.actions, outcome.requests)) return other("requests than its machine makes", row.actions, outcome.requests);
      const done = { registration, actor, seq: row.seq, atMs: row.atMs, outcome };
      effects = settleEffects({ ...done, epoch: 0, settled, before: effects }).effects;
      timers = settleTimers({ ...done, settled: fired, before: timers }).timers;
      // A step of the engine stores and restores: fold through the same round trip, so that both see the same snapshot.
      snapshot = hydrate(registration, dehydrate(registration, outcome.snapshot));
    } catch (error) {
      const code = error instanceof HoldfastError && error.code === "journal_damaged" ? error.code : "fold_mismatch";
      return stop(code, stored.seq, `entry ${stored.seq} cannot be folded: ${messageOf(error)}`);
    }
  }
  return { snapshot, seq, hash, version, effects, timers, faults: [] };
}

/** True where a stored text is that of a plain JSON value; most are the same to the letter. Throws where it is no JSON. */
function isTextOf(text: string, value: unknown): boolean {
  return JSON.stringify(value) === text || canonical(value) === canonical(JSON.parse(text));
}

/** True where a fold came to the snapshot of this text. Throws where it is no JSON. */
export function isFoldedTo(registration: Registration, { snapshot }: Folded, text: string): boolean {
  if (snapshot === undefined) return false;
  const made = dehydrate(registration, snapshot);
  return made === text || canonical(JSON.parse(made)) === canonical(JSON.parse(text));
}
