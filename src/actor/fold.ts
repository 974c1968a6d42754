/**
 * Fold: a journal taken through its machine again (ACT-4).
 *
 * Guarantees: nothing is written; what the stored rows say is compared, entry by entry, with what the machine says now.
 */

import type { AnyMachineSnapshot } from "xstate";
import { messageOf } from "./error.ts";
import { chainFault, NO_HASH } from "./journal.ts";
import { canonical } from "./json.ts";
import type { Registration } from "./registration.ts";
import { settleEffects } from "./request.ts";
import type { EffectRow, JournalRow } from "./store.ts";
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
  /** Effects that must be open. */
  readonly effects: readonly EffectRow[];
  readonly faults: readonly Fault[];
}

/** Folds one actor's entries, ascending from seq 1. Stops at the first entry that does not hold; the rest would only repeat it. */
export function fold(registration: Registration, actor: string, rows: Iterable<JournalRow>, enclose: Enclosure): Folded {
  let snapshot: AnyMachineSnapshot | undefined;
  let effects: readonly EffectRow[] = [];
  let seq = 0;
  let hash = NO_HASH;
  const stop = (code: string, at: number, message: string): Folded => ({
    snapshot,
    seq,
    hash,
    effects,
    faults: [{ code, actor, seq: at, message }],
  });
  for (const row of rows) {
    const broken = chainFault(hash, seq + 1, row);
    if (broken) return stop("journal_damaged", seq + 1, broken);
    if (row.version !== registration.version) {
      // Another version's transitions cannot be repeated here: such entries are held by the chain alone.
      seq = row.seq;
      hash = row.hash;
      continue;
    }
    try {
      const event = JSON.parse(row.event) as EngineEvent;
      const cause = JSON.parse(row.cause) as { kind: string; effect?: string };
      const stamp = { at: row.atMs, seq: row.seq, id: `${actor}:${row.seq}` };
      const outcome = snapshot
        ? take(registration, snapshot, event, stamp, enclose)
        : start(registration, event.input ?? null, stamp, enclose);
      if (canonical(outcome.facts) !== canonical(JSON.parse(row.facts)))
        return stop("fold_mismatch", row.seq, `entry ${row.seq} has other facts than its machine states`);
      if (canonical(outcome.requests) !== canonical(JSON.parse(row.actions)))
        return stop("fold_mismatch", row.seq, `entry ${row.seq} has other requests than its machine makes`);
      const settled = cause.kind === "result" ? cause.effect : undefined;
      effects = settleEffects({ registration, actor, seq: row.seq, atMs: row.atMs, epoch: 0, settled, outcome, before: effects }).effects;
      // A step of the engine stores and restores: fold through the same round trip, so that both see the same snapshot.
      snapshot = hydrate(registration, dehydrate(registration, outcome.snapshot));
    } catch (error) {
      return stop("fold_mismatch", row.seq, `entry ${row.seq} cannot be folded: ${messageOf(error)}`);
    }
    seq = row.seq;
    hash = row.hash;
  }
  return { snapshot, seq, hash, effects, faults: [] };
}
