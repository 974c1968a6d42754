/** What the files of the stores' conformance suite share: the form of a promise, the rows that it writes, and what it compares. */

import { createHash } from "node:crypto";
import type { ActorRow, AnswerRow, DeadLetterRow, EffectRow, JournalRow, Page, Store, StoreWriter, TimerRow } from "../actor/store.ts";

/** Declares one promise: a test with a store of its own, under its first epoch. */
export type Promised = (name: string, body: (store: Store, epoch: number) => void | Promise<void>) => void;

/** Text that a careless store changes on its way: white space, line ends, forms of one letter, astral and right-to-left characters. */
export const AWKWARD = ' \t{"a" :\r\n  1.0,"é":"e\u0301","":"😀\u{10ffff}\ufeff\u2028‮אב"}\n ';

/** A time on the full hour, at which the rows were written. */
export const NOW_MS = 1_699_999_200_000;

/** An actor's row; its address says its machine and id. */
export const actorRow = (address: string, more: Partial<ActorRow> = {}): ActorRow => ({
  address,
  machine: address.split("/")[0] ?? "",
  id: address.split("/").slice(1).join("/"),
  version: "1",
  definition: "d1",
  status: "active",
  state: "open",
  seq: 1,
  hash: "h1",
  snapshot: "{}",
  epoch: 1,
  createdMs: NOW_MS,
  updatedMs: NOW_MS + 1,
  quarantine: null,
  ...more,
});
/** A journal entry of an actor. */
export const entryRow = (actor: string, seq: number, more: Partial<JournalRow> = {}): JournalRow => ({
  actor,
  seq,
  atMs: NOW_MS + seq,
  cause: "{}",
  event: "{}",
  facts: "[]",
  actions: "[]",
  version: "1",
  hash: `h${seq}`,
  ...more,
});
/** An open effect of `m/a`. */
export const effectRow = (key: string, more: Partial<EffectRow> = {}): EffectRow => ({
  key,
  actor: "m/a",
  name: "call",
  params: "{}",
  scope: "",
  state: "open",
  child: null,
  epoch: 1,
  openedMs: NOW_MS,
  error: null,
  ...more,
});
/** An armed timer of `m/a`. */
export const timerRow = (key: string, more: Partial<TimerRow> = {}): TimerRow => ({
  key,
  actor: "m/a",
  id: "",
  event: "{}",
  delay: "patience",
  policy: "absolute",
  delayMs: 1000,
  dueMs: NOW_MS + 1000,
  state: "armed",
  ...more,
});
/** An answer of an actor. */
export const answerRow = (actor: string, key: string, more: Partial<AnswerRow> = {}): AnswerRow => ({
  actor,
  key,
  event: "e",
  answer: "{}",
  atMs: NOW_MS,
  ...more,
});
/** A dead letter for a receiver. */
export const letterRow = (receiver: string, more: Partial<DeadLetterRow> = {}): DeadLetterRow => ({
  receiver,
  sender: "m/s",
  seq: 1,
  event: "{}",
  reason: "actor_not_found",
  atMs: NOW_MS,
  ...more,
});
/** Appends an entry behind the one before it, and returns its position. */
export function appendRow(writer: StoreWriter, row: JournalRow): number {
  const before = row.seq > 1 ? writer.journal(row.actor, { after: row.seq - 2, limit: 1 })[0] : undefined;
  writer.appendEntries([row], [before?.position ?? 0]);
  return writer.lastPosition();
}
/** The digest under which a blob is stored. */
export const digestOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
/** Whether an error has this code, for `assert.throws`. */
export const hasCode = (code: string) => (error: unknown) => (error as { code?: unknown }).code === code;
/** The largest page. */
export const ALL: Page = { limit: 1000 };

/** One row of every kind. */
export function putOneOfEach(writer: StoreWriter, suffix: string): void {
  const bytes = Buffer.from(suffix);
  writer.putActor(actorRow(`m/${suffix}`));
  appendRow(writer, entryRow(`m/${suffix}`, 1));
  writer.putAnswer(answerRow(`m/${suffix}`, "k"));
  writer.putIdentity(`id-${suffix}`, `m/${suffix}`);
  writer.putEffect(effectRow(`effect-${suffix}`));
  writer.putTimer(timerRow(`timer-${suffix}`));
  writer.putDeadLetter(letterRow(`m/${suffix}`));
  writer.putBlob(digestOf(bytes), bytes, NOW_MS);
}

/** Everything that can be read, to compare two moments. */
export function everything(reader: Store | StoreWriter): unknown {
  const listed = reader.actors({}, ALL);
  return {
    epoch: reader.epoch(),
    last: reader.lastPosition(),
    actors: listed,
    entries: reader.entries(ALL),
    effects: reader.effects({}, ALL),
    timers: reader.timers({}, ALL),
    blobs: reader.blobs(ALL),
    tombstones: reader.tombstones(ALL),
    watermarks: reader.watermarks(),
    letters: reader.deadLetters({}, ALL),
    owned: listed.map(({ address }) => [reader.journal(address, ALL), reader.answer(address, "k"), reader.identities(address)]),
    missing: [reader.identity("id-b"), reader.answer("m/b", "k"), reader.blob(digestOf(Buffer.from("b")))],
  };
}
