/**
 * The puts and removals of the store contract over the rows of a memory store, alive for the length of one write.
 *
 * Guarantees: as `sqlite-writer.ts`. Rows are copied on the way in, column by column, so that nothing else is kept of what was given.
 */

import type {
  ActorRow,
  Advance,
  AnswerRow,
  DeadLetterRow,
  EffectRow,
  JournalRow,
  Quarantine,
  StoreWriter,
  TimerRow,
} from "../actor/store.ts";
import { breach, checkBlob, checkRow, pageBounds } from "./check.ts";
import { MemoryReader, pair, type Tables } from "./memory-reader.ts";
import { hourOf, watermark } from "./retention.ts";

export class MemoryWriter extends MemoryReader implements StoreWriter {
  #ended = false;

  /** Called when the write ends: from here on every put throws. */
  end(): void {
    this.#ended = true;
  }

  isChangedElsewhere(): boolean {
    return false;
  }

  putActor(row: ActorRow): void {
    const { address, machine, id, version, definition, status, state, seq, hash, snapshot, epoch, createdMs, updatedMs } = row;
    const quarantine = row.quarantine && copyQuarantine(row.quarantine);
    const known = { address, machine, id, version, definition, status, state, seq, hash, snapshot, epoch, createdMs, updatedMs };
    this.#accept(row).actors.put(address, { ...known, quarantine });
  }

  advanceActors(steps: readonly Advance[]): void {
    const { actors } = this.#accept(steps);
    for (const { from, address, state, seq, hash, snapshot, updatedMs } of steps) {
      const known = actors.get(address);
      if (known?.seq !== from) throw breach(`${address} is not at revision ${from}`);
      actors.put(address, { ...known, state, seq, hash, snapshot, updatedMs });
    }
  }

  appendEntries(rows: readonly JournalRow[], before: readonly number[]): void {
    const tables = this.#accept([rows, before]);
    for (const { actor, seq, atMs, cause, event, facts, actions, version, hash } of rows) {
      if (tables.journalOf.has(actor, seq)) throw breach(`journal entry ${seq} of ${actor} exists already`);
      tables.journalOf.add(tables.journal.append({ actor, seq, atMs, cause, event, facts, actions, version, hash }));
    }
  }

  putAnswer({ actor, key, event, answer, atMs }: AnswerRow): void {
    const row = { actor, key, event, answer, atMs };
    const known = this.#accept(row).answers.get(pair(actor, key));
    if (known && (known.event !== event || known.answer !== answer)) throw breach(`${actor} has given another answer under key ${key}`);
    if (!known) this.tables.answers.put(pair(actor, key), row);
  }

  putIdentity(name: string, actor: string): void {
    const known = this.#accept({ name, actor }).identities.get(name);
    if (known && known.actor !== actor) throw breach(`identity ${name} belongs to ${known.actor}`);
    this.tables.identities.put(name, { name, actor });
  }

  putEffect(row: EffectRow): void {
    const { key, actor, name, params, scope, state, child, epoch, openedMs, error } = row;
    this.#accept(row).effects.put(key, { key, actor, name, params, scope, state, child, epoch, openedMs, error });
  }

  deleteEffect(key: string): void {
    this.#accept({ key }).effects.delete(key);
  }

  putTimer(row: TimerRow): void {
    const { key, actor, id, event, delay, policy, delayMs, dueMs, state } = row;
    this.#accept(row).timers.put(key, { key, actor, id, event, delay, policy, delayMs, dueMs, state });
  }

  deleteTimer(key: string): void {
    this.#accept({ key }).timers.delete(key);
  }

  putDeadLetter(row: DeadLetterRow): void {
    const { receiver, sender, seq, event, reason, atMs } = row;
    this.#accept(row).deadLetters.append({ receiver, sender, seq, event, reason, atMs });
  }

  deleteDeadLetter(position: number): void {
    this.#accept({ position }).deadLetters.remove((row) => row.position === position);
  }

  putBlob(digest: string, bytes: Uint8Array, atMs: number): void {
    checkBlob(digest, bytes);
    const { blobs } = this.#accept({ digest, atMs });
    const known = blobs.get(digest);
    const storedMs = Math.max(hourOf(atMs), known?.storedMs ?? 0);
    blobs.put(digest, { digest, storedMs, bytes: known?.bytes ?? new Uint8Array(bytes) });
  }

  deleteBlob(digest: string): void {
    this.#accept({ digest }).blobs.delete(digest);
  }

  deleteActor(address: string, atMs: number): void {
    const tables = this.#accept({ address, atMs });
    const row = tables.actors.get(address);
    if (row?.status !== "final") throw breach(`${address} cannot be deleted: it is ${row ? "not final" : "not there"}`);
    const { machine, version, state, seq, hash } = row;
    tables.tombstones.put(address, { address, machine, version, state, seq, hash, deletedMs: atMs });
    const { last, lastPosition } = tables.journal;
    if (last?.actor === address && last.position === lastPosition && last.position > tables.root.openedPosition)
      tables.changeRoot({ deletedMs: last.atMs, deletedPosition: last.position });
    tables.journal.remove((entry) => entry.actor === address);
    tables.journalOf.remove(address);
    tables.deadLetters.remove((letter) => letter.receiver === address);
    for (const { key } of tables.answers.of(address)) tables.answers.delete(pair(address, key));
    for (const { name } of tables.identities.of(address)) tables.identities.delete(name);
    for (const { key } of tables.effects.of(address)) tables.effects.delete(key);
    for (const { key } of tables.timers.of(address)) tables.timers.delete(key);
    tables.actors.delete(address);
  }

  /** Positions are counted apart from the rows. */
  rest(atMs: number): void {
    const tables = this.#accept({ atMs });
    tables.changeRoot({ restedMs: atMs });
  }

  deleteAnswers(beforeMs: number, limit: number): number {
    const { answers, root } = this.#accept({ beforeMs, limit });
    const found = oldest(answers.all(), beforeMs);
    const removed = found.slice(0, pageBounds({ limit }).limit);
    for (const { actor, key } of removed) answers.delete(pair(actor, key));
    if (removed.length > 0) this.tables.changeRoot({ answersMs: Math.max(root.answersMs, watermark(found, limit, beforeMs)) });
    return removed.length;
  }

  deleteDeadLetters(beforeMs: number, limit: number, waiting: readonly string[]): number {
    const { deadLetters, actors, root } = this.#accept({ beforeMs, limit });
    const isAwaited = (receiver: ActorRow | undefined) => receiver !== undefined && (receiver.status === "active" || receiver.quarantine);
    const letters = deadLetters.page(
      { after: 0, limit: Infinity },
      ({ reason, receiver }) => !(waiting.includes(reason) && isAwaited(actors.get(receiver))),
    );
    const found = oldest(letters, beforeMs);
    const removed = new Set(found.slice(0, pageBounds({ limit }).limit).map((row) => row.position));
    deadLetters.remove((row) => removed.has(row.position));
    if (removed.size > 0) this.tables.changeRoot({ deadLettersMs: Math.max(root.deadLettersMs, watermark(found, limit, beforeMs)) });
    return removed.size;
  }

  #accept(row: object): Tables {
    if (this.#ended) throw breach("a writer was used after its write had ended");
    checkRow(row);
    return this.tables;
  }
}

function oldest<Row extends { readonly atMs: number }>(rows: readonly Row[], beforeMs: number): Row[] {
  return rows.filter((row) => row.atMs < beforeMs).sort((a, b) => a.atMs - b.atMs);
}

function copyQuarantine({ code, message, atMs, event, source }: Quarantine): Quarantine {
  return Object.freeze({ code, message, atMs, ...(event === undefined ? {} : { event }), ...(source === undefined ? {} : { source }) });
}
