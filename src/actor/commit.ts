/**
 * Commit: a group of macrosteps written in one transaction.
 *
 * Owns the only writes of the engine. Guarantees: the epoch is checked in the transaction (ACT-2); all rows are read inside it, so a
 * stale cache cannot decide anything; every macrostep of the group runs in memory before the first row is written, and one that
 * fails is not written (ACT-7); a storage error leaves nothing of the whole group.
 * Refuses to start effects: they start from what this returns (ACT-1).
 * Next: outbox.ts
 */

import { isStoreFailure, type Rules } from "./cascade.ts";
import { type Cache, Draft, type Live, rowOf } from "./draft.ts";
import { type Answer, macrostep, type Work } from "./macrostep.ts";
import type { EffectRow, JournalRow, Store, StoreWriter } from "./store.ts";
import { isFinal } from "./transition.ts";

/** Named moments at which the testing kit can make a process die or a call fail. */
export type FaultPoint = "commit.before" | "commit.inside" | "commit.after" | "effect.before" | "effect.after";

/** Called at each fault point, with what is at hand there: the entries of a commit or the key of an effect. */
export type Probe = (point: FaultPoint, subject: { readonly entries?: readonly JournalRow[]; readonly effect?: EffectRow }) => void;

export interface Journaled {
  readonly store: Store;
  readonly epoch: number;
  readonly cache: Cache;
  /** Actors whose snapshots stay in memory between commits, at most. */
  readonly cacheLimit: number;
  readonly rules: Rules;
  readonly probe: Probe;
}

export type Settled = { readonly ok: true; readonly answer: Answer } | { readonly ok: false; readonly error: unknown };

/** What a commit changed, for those who act on it. */
export interface Committed {
  /** One for each piece of work, in order. */
  readonly settled: readonly Settled[];
  readonly entries: readonly JournalRow[];
  /** Effects that are open now and were not before. */
  readonly opened: readonly EffectRow[];
  /** Keys of effects that ended. */
  readonly closed: readonly string[];
  /** Keys of effects whose handlers shall stop and report. */
  readonly aborted: readonly string[];
  /** Actors set aside. */
  readonly quarantined: readonly string[];
}

/** Runs and writes one group. Throws where the store failed: then nothing of the group happened. */
export function commitGroup(journaled: Journaled, group: readonly Work[]): Committed {
  const { store, epoch, cache, rules, probe } = journaled;
  let done: { draft: Draft; settled: readonly Settled[] };
  try {
    probe("commit.before", {});
    done = store.write(epoch, (writer) => {
      const draft = new Draft({ reader: writer, cache, registrations: rules.registrations, epoch });
      const settled = group.map((work) => attempt(draft, work, rules));
      // Who was found damaged by work that then failed is set aside all the same, and its supervisor told.
      if (draft.untold.size > 0) attempt(draft, { kind: "row", apply: () => ({ kind: "ignored" }) }, rules);
      write(writer, draft);
      probe("commit.inside", { entries: draft.entries });
      return { draft, settled };
    });
  } catch (error) {
    cache.clear();
    throw error;
  }
  remember(journaled, done.draft);
  probe("commit.after", { entries: done.draft.entries });
  return summary(done.draft, done.settled);
}

function attempt(draft: Draft, work: Work, rules: Rules): Settled {
  try {
    return { ok: true, answer: macrostep(draft, work, rules) };
  } catch (error) {
    // A failing read is a failure of the store: it ends the group, not this macrostep alone.
    if (isStoreFailure(error)) throw error;
    return { ok: false, error };
  }
}

function write(writer: StoreWriter, draft: Draft): void {
  for (const [digest, bytes] of draft.blobs) writer.putBlob(digest, bytes);
  for (const entry of draft.entries) writer.appendEntry(entry);
  for (const live of changed(draft)) writer.putActor(rowOf(live));
  for (const [address, quarantine] of draft.quarantines) {
    const row = writer.actor(address);
    if (row) writer.putActor({ ...row, quarantine });
  }
  for (const [name, actor] of draft.identities) writer.putIdentity(name, actor);
  for (const [key, row] of draft.effects) row ? writer.putEffect(row) : writer.deleteEffect(key);
  for (const answer of draft.answers.values()) writer.putAnswer(answer);
  for (const letter of draft.deadLetters) writer.putDeadLetter(letter);
}

/** Actors with new entries, also those set aside after them, and those that were told of a new epoch without an entry. */
function changed(draft: Draft): Live[] {
  const addresses = new Set([...draft.entries.map((entry) => entry.actor), ...draft.reopened]);
  return [...addresses].flatMap((address) => {
    const known = draft.actor(address);
    return (known?.kind === "live" ? known : known?.last) ?? [];
  });
}

function remember({ cache, cacheLimit }: Journaled, draft: Draft): void {
  for (const [address, known] of draft.actors) {
    cache.delete(address);
    if (known.kind === "live" && !isFinal(known.snapshot)) cache.set(address, known);
  }
  for (const address of cache.keys()) {
    if (cache.size <= cacheLimit) break;
    cache.delete(address);
  }
}

function summary(draft: Draft, settled: readonly Settled[]): Committed {
  const rows = [...draft.effects];
  return {
    settled,
    entries: draft.entries,
    opened: rows.flatMap(([, row]) => (row?.state === "open" && !draft.quarantines.has(row.actor) ? [row] : [])),
    closed: rows.flatMap(([key, row]) => (row ? [] : [key])),
    aborted: draft.aborts,
    quarantined: [...draft.quarantines.keys()],
  };
}
