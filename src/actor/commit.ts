/**
 * Commit: a group of macrosteps written in one transaction.
 *
 * Owns the only writes of the engine. Guarantees: the epoch is checked in the transaction (ACT-2); what was remembered counts only
 * where the transaction sees that nobody else has committed, so a stale cache cannot decide anything; every macrostep of the group
 * runs in memory before the first row is written, and one that fails is not written (ACT-7); a storage error leaves nothing of the
 * whole group.
 * Refuses to start effects: they start from what this returns (ACT-1).
 * Next: outbox.ts
 */

import type { Answer } from "./answer.ts";
import { isStoreFailure } from "./cascade.ts";
import { type Cache, Draft, type Live } from "./draft.ts";
import { macrostep } from "./macrostep.ts";
import { entryAt } from "./page.ts";
import type { Rules } from "./rules.ts";
import type { ActorRow, Advance, EffectRow, JournalRow, Store, StoreWriter, TimerRow } from "./store.ts";
import { dehydrate, isFinal, stateName } from "./transition.ts";
import type { Work } from "./work.ts";

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
  /** What to do with an actor whose machine was changed under the same version. */
  readonly changed: "refuse" | "refold";
  readonly probe: Probe;
  /** The last group's draft, to be used again. */
  draft?: Draft;
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
  /** Timers that are set now and were not before. */
  readonly timers: readonly TimerRow[];
  /** True where a timer ended. */
  readonly timersEnded: boolean;
  /** Actors set aside. */
  readonly quarantined: readonly string[];
  /** Actors taken out of quarantine. */
  readonly released: readonly string[];
  /** Actors deleted. */
  readonly deleted: readonly string[];
}

/** Runs and writes one group. Throws where the store failed: then nothing of the group happened. */
export function commitGroup(journaled: Journaled, group: readonly Work[]): Committed {
  const { store, epoch, cache, rules, changed, probe } = journaled;
  let done: { draft: Draft; settled: readonly Settled[] };
  try {
    probe("commit.before", {});
    done = store.write(epoch, (writer) => {
      if (writer.isChangedElsewhere()) cache.clear();
      const { registrations, enclose, now, size } = rules;
      const ground = { reader: writer, cache, registrations, epoch, enclose, now, sizeLimit: size.limit, changed };
      const draft = journaled.draft?.renew(ground) ?? new Draft(ground);
      const settled = group.map((work) => attempt(draft, work, rules));
      // Who was found damaged by work that then failed is set aside all the same, and its supervisor told.
      if (draft.untold.size > 0) attempt(draft, { kind: "row", apply: () => ({ kind: "ignored" }) }, rules);
      write(writer, draft, rules.now());
      probe("commit.inside", { entries: draft.entries });
      return { draft, settled };
    });
  } catch (error) {
    cache.clear();
    delete journaled.draft;
    throw error;
  }
  journaled.draft = done.draft;
  remember(journaled, done.draft);
  const committed = summary(done.draft, done.settled);
  probe("commit.after", { entries: committed.entries });
  return committed;
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

function write(writer: StoreWriter, draft: Draft, atMs: number): void {
  for (const [digest, bytes] of draft.blobs) writer.putBlob(digest, bytes, atMs);
  writeActors(writer, draft, append(writer, draft));
  if (draft.isPlain()) return;
  for (const [address, quarantine] of draft.quarantines) {
    const row = writer.actor(address);
    if (row) writer.putActor(writable({ ...row, quarantine }));
  }
  for (const [name, actor] of draft.identities) writer.putIdentity(name, actor);
  for (const [key, row] of draft.effects) row ? writer.putEffect(writable(row)) : writer.deleteEffect(key);
  for (const [key, row] of draft.timers) row ? writer.putTimer(writable(row)) : writer.deleteTimer(key);
  for (const answer of draft.answers.values()) writer.putAnswer(answer);
  for (const letter of draft.taken) if (typeof letter === "number") writer.deleteDeadLetter(letter);
  for (const letter of draft.deadLetters) if (!draft.taken.has(letter)) writer.putDeadLetter(letter);
  for (const address of draft.deleted) writer.deleteActor(address, atMs);
  for (const act of draft.writes) act(writer, draft);
}

/** What the group made of an actor, also of one that it set aside after that. */
function lastOf(draft: Draft, address: string): Live | undefined {
  // Not through `draft.actor`: one that ended and was deleted in one group is written before it is removed.
  const known = draft.actors.get(address);
  return known?.kind === "live" ? known : known?.last;
}

/** A row with a number that no store takes was damaged in place; that must not stop the commit that sets its actor aside (ACT-10). */
function writable<Row extends object>(row: Row): Row {
  let mended = row as Record<string, unknown>;
  for (const column in mended) {
    const value = mended[column];
    if (typeof value !== "number" || Number.isSafeInteger(value)) continue;
    mended = { ...mended, [column]: value > 0 ? Number.MAX_SAFE_INTEGER : Number.MIN_SAFE_INTEGER };
  }
  return mended as Row;
}

/** Writes the entries, each behind its actor's last one. Returns the actors that have new ones. */
function append(writer: StoreWriter, draft: Draft): Set<Live> {
  const changed = new Set<Live>();
  const positions: number[] = [];
  let position = writer.lastPosition();
  for (const { actor, seq } of draft.entries) {
    const live = lastOf(draft, actor);
    positions.push(live?.position ?? entryAt(writer, actor, seq - 1)?.position ?? 0);
    position++;
    if (!live) continue;
    live.position = position;
    changed.add(live);
  }
  if (positions.length > 0) writer.appendEntries(draft.entries, positions);
  return changed;
}

/** Writes their rows, and those of actors that were told of a new epoch without an entry, and of those that came back. */
function writeActors(writer: StoreWriter, draft: Draft, changed: Set<Live>): void {
  for (const address of [...draft.rewritten, ...draft.released]) {
    const live = lastOf(draft, address);
    if (live) changed.add(live);
  }
  const steps: Advance[] = [];
  for (const live of changed) {
    const stored = draft.stored.get(live.address);
    // An ordinary step changes a few columns; all else is written whole.
    const isStep = stored?.definition === live.definition && stored.epoch === live.epoch && !isFinal(live.snapshot);
    if (isStep) steps.push(stepOf(live, stored.seq));
    else writer.putActor(rowOf(live));
  }
  if (steps.length > 0) writer.advanceActors(steps);
}

function remember({ cache, cacheLimit }: Journaled, draft: Draft): void {
  for (const [address, known] of draft.actors) {
    // The order of a Map is that of the first setting: only a full one need forget the longest unused.
    const isKept = known.kind === "live" && !isFinal(known.snapshot) && !draft.deleted.has(address);
    if (cache.size >= cacheLimit || !isKept) cache.delete(address);
    if (isKept) cache.set(address, known);
  }
  if (cache.size <= cacheLimit) return;
  for (const address of cache.keys()) {
    cache.delete(address);
    if (cache.size <= cacheLimit) break;
  }
}

const NOTHING = { opened: [], closed: [], aborted: [], timers: [], timersEnded: false, released: [], deleted: [], quarantined: [] };

/** What is given out is copied: the draft is used again. */
function summary(draft: Draft, settled: readonly Settled[]): Committed {
  const entries = [...draft.entries];
  if (draft.isPlain()) return { settled, entries, ...NOTHING };
  const rows = [...draft.effects];
  return {
    settled,
    entries,
    opened: rows.flatMap(([, row]) => (row?.state === "open" && !draft.quarantines.has(row.actor) ? [row] : [])),
    closed: rows.flatMap(([key, row]) => (row ? [] : [key])),
    aborted: [...draft.aborts],
    timers: [...draft.timers.values()].filter((row) => row?.state === "armed" && !draft.quarantines.has(row.actor)) as TimerRow[],
    timersEnded: [...draft.timers.values()].includes(null),
    released: [...draft.released],
    deleted: [...draft.deleted],
    quarantined: [...draft.quarantines.keys()],
  };
}

function stepOf(live: Live, from: number): Advance {
  const { address, seq, hash, snapshot, updatedMs } = live;
  return { from, address, state: stateName(snapshot.value), seq, hash, snapshot: textOf(live), updatedMs };
}

/** The row of a live actor, as it is to be written. */
function rowOf(live: Live): ActorRow {
  const { snapshot, registration } = live;
  return {
    address: live.address,
    machine: registration.id,
    id: live.id,
    version: registration.version,
    definition: live.definition,
    status: isFinal(snapshot) ? "final" : "active",
    state: stateName(snapshot.value),
    seq: live.seq,
    hash: live.hash,
    snapshot: textOf(live),
    epoch: live.epoch,
    createdMs: live.createdMs,
    updatedMs: live.updatedMs,
    quarantine: null,
  };
}

function textOf({ text, registration, snapshot }: Live): string {
  return text ?? dehydrate(registration, snapshot);
}
