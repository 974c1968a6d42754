/**
 * Release: an actor comes back from quarantine, after a check.
 *
 * Guarantees: its journal is the truth: chain and fold must hold, and its snapshot, effects and timers are made from them anew; the
 * dead letters that waited for it are delivered in their order before anything else; all of it in one commit, or none.
 * Next: letter.ts
 */

import { pending, replaceRows } from "./admission.ts";
import { type Answer, type Refusal, refused } from "./answer.ts";
import { DISCARDED } from "./declaration.ts";
import type { Draft, Live } from "./draft.ts";
import { type Folded, fold } from "./fold.ts";
import { idOf, machineOf } from "./input.ts";
import type { Cause } from "./journal.ts";
import { deliverWaiting } from "./letter.ts";
import { entriesOf } from "./page.ts";
import type { Registration } from "./registration.ts";
import type { Rules } from "./rules.ts";
import type { ActorRow, JournalRow } from "./store.ts";
import { tellSupervisor } from "./supervisor.ts";
import type { EngineEvent } from "./transition.ts";
import type { Work } from "./work.ts";

/** Takes an actor out of quarantine. With `discard`, what it cannot take is left out: listed as a dead letter, effect or entry. */
export function release(work: Extract<Work, { kind: "release" }>, draft: Draft, rules: Rules): Answer {
  const attempt = draft.fork();
  const answer = released(work, attempt, rules);
  // What is refused leaves no trace, also not of what was tried.
  if (answer.kind !== "refused") draft.merge(attempt);
  return answer;
}

function released(work: Extract<Work, { kind: "release" }>, draft: Draft, rules: Rules): Answer {
  const { actor: address, discard } = work;
  const row = draft.ground.reader.actor(address);
  if (!row) return refused("actor_not_found", `there is no actor ${address}`);
  const quarantine = draft.quarantineOf(address);
  // Not read where nobody set it aside: to read an actor of an older version is to migrate it, and what is refused must change nothing.
  const known = quarantine ? draft.actor(address) : undefined;
  if (!quarantine || known?.kind !== "unavailable") return refused("actor_not_quarantined", `${address} is not in quarantine`);
  const back = rebuilt(draft, rules, row, known.last);
  if (back.kind === "refused") return back;
  draft.released.add(address);
  if (discard && quarantine.source !== undefined) leaveOut(draft, back, quarantine.source, rules.now());
  // Before the letters: what they make this actor say must find a supervisor that knows it is back.
  tellSupervisor("engine.released", address, draft, rules);
  deliverWaiting(address, draft, rules, discard);
  // Live still: what would set it aside again is what this release fails with.
  const { seq, snapshot } = draft.actor(address) as Live;
  return { kind: "accepted", seq, snapshot };
}

/** The actor as its journal gives it. What is known of its requests besides (tries, due times) is kept. */
function rebuilt(draft: Draft, { registrations, enclose }: Rules, row: ActorRow, last: Live | undefined): Live | Refusal {
  const { address } = row;
  const { reader } = draft.ground;
  const [machine, id] = [machineOf(address), idOf(address)];
  if (machine !== row.machine || id !== row.id)
    return refused("snapshot_damaged", `the row of ${address} says that it is ${row.machine}/${row.id}`);
  const registration = registrations.get(machine);
  if (!registration) return refused("machine_unknown", `no machine ${machine} is registered`);
  // What this group wrote before it set the actor aside is not in the store yet.
  const entries = function* (): Generator<JournalRow> {
    yield* entriesOf(reader, address);
    yield* draft.entriesFor(address);
  };
  const ground = { registration, actor: address, reader: { blob: (digest: string) => draft.blob(digest) }, enclose };
  const folded = fold(ground, entries());
  const [fault] = folded.faults;
  if (fault) return refused(fault.code, fault.message);
  const { seq, hash } = last ?? row;
  if (folded.seq !== seq) return refused("row_missing", `the journal of ${address} ends at ${folded.seq}, its row says ${seq}`);
  if (folded.hash !== hash) return refused("snapshot_damaged", `the hash in the row of ${address} is not that of its last entry`);
  if (folded.version !== registration.version || !folded.snapshot) {
    const back = draft.readmit(registration, { ...row, version: folded.version, quarantine: null });
    if (back.kind === "live") return back;
    return refused(back.code === "actor_quarantined" ? "snapshot_damaged" : back.code, back.message);
  }
  const [first, end] = [draft.entryOf(address, 1), draft.entryOf(address, seq)];
  const { createdMs, updatedMs } = { createdMs: first?.atMs ?? row.createdMs, updatedMs: end?.atMs ?? row.updatedMs };
  return renewed(
    draft,
    registration,
    { ...row, seq, hash, createdMs, updatedMs, epoch: Math.min(row.epoch, draft.ground.epoch) },
    folded,
    last,
  );
}

function renewed(draft: Draft, registration: Registration, row: ActorRow, folded: Folded, last: Live | undefined): Live {
  const { reader, epoch: now } = draft.ground;
  const { address, id, seq, hash, epoch, createdMs, updatedMs } = row;
  const stored = last ?? pending(address, reader);
  const effects = folded.effects.map((effect) => {
    // From the rows as they stand now: what says that a handler was admitted must never be forgotten, or it would run twice.
    const { state, epoch: from, openedMs, error } = draft.effect(effect.key) ?? { ...effect, epoch: now };
    return { ...effect, state, epoch: from, openedMs, error };
  });
  const timers = folded.timers.map((timer) => {
    const found = timer.policy === "absolute" ? undefined : stored.timers.find(({ key }) => key === timer.key);
    return { ...timer, dueMs: found?.dueMs ?? timer.dueMs };
  });
  replaceRows(draft.effects, stored.effects, effects);
  replaceRows(draft.timers, stored.timers, timers);
  const { definition } = registration;
  const live: Live = {
    ...{ kind: "live", address, id, registration, definition, snapshot: folded.snapshot as Live["snapshot"], text: undefined, seq, hash },
    ...{ position: undefined, epoch, createdMs, updatedMs, effects, timers },
  };
  draft.actors.set(address, live);
  return live;
}

/** The effect or timer whose event it could not take. The effect stays, to be settled by hand; the timer's end is an entry. */
function leaveOut(draft: Draft, live: Live, source: string, atMs: number): void {
  const effect = live.effects.find(({ key }) => key === source);
  if (effect) draft.replaceEffect(live, { ...effect, state: effect.state === "started" ? "unknown" : "exhausted" });
  if (!live.timers.some(({ key }) => key === source)) return;
  const end = discarded(draft, live, { kind: "timer", timer: source }, { type: DISCARDED }, atMs);
  draft.timers.set(source, null);
  const timers = live.timers.filter(({ key }) => key !== source);
  draft.actors.set(live.address, { ...live, ...end, timers });
}

/** A notice of this epoch that it could not take: an entry says so, and the notice counts as told. */
export function leaveOutNotice(draft: Draft, live: Live, notice: EngineEvent, atMs: number): void {
  const end = discarded(draft, live, { kind: "engine" }, { type: DISCARDED, event: notice }, atMs);
  draft.actors.set(live.address, { ...live, ...end, epoch: draft.ground.epoch });
}

/** An entry that no machine was asked about, and what it makes of its actor's end. */
function discarded(draft: Draft, live: Live, cause: Cause, event: EngineEvent, atMs: number): Pick<Live, "seq" | "hash" | "updatedMs"> {
  const { version } = live.registration;
  const { seq, hash } = draft.append(live.address, live, { atMs, version, cause, event, facts: [], actions: [] });
  return { seq, hash, updatedMs: atMs };
}
