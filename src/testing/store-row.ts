/** What the files of the stores' conformance suite share: the form of a promise, the rows that it writes, and what it compares. */

import { createHash } from "node:crypto";
import type { ActorRow, DeadLetterRow, EffectRow, JournalRow, Page, Store, StoreWriter } from "../actor/store.ts";

/** Declares one promise: a test with a store of its own, under its first epoch. */
export type Promised = (name: string, body: (store: Store, epoch: number) => void | Promise<void>) => void;

/** Text that a careless store changes on its way: white space, line ends, forms of one letter, astral and right-to-left characters. */
export const AWKWARD = ' \t{"a" :\r\n  1.0,"é":"e\u0301","":"😀\u{10ffff}\ufeff\u2028‮אב"}\n ';

/** An actor's row; its address says its machine and id. */
export const actorRow = (address: string, more: Partial<ActorRow> = {}): ActorRow => ({
  address,
  machine: address.split("/")[0] ?? "",
  id: address.split("/").slice(1).join("/"),
  version: "1",
  status: "active",
  state: "open",
  seq: 1,
  hash: "h1",
  snapshot: "{}",
  epoch: 1,
  createdMs: 1_700_000_000_000,
  updatedMs: 1_700_000_000_001,
  quarantine: null,
  ...more,
});
/** A journal entry of an actor. */
export const entryRow = (actor: string, seq: number, more: Partial<JournalRow> = {}): JournalRow => ({
  actor,
  seq,
  atMs: 1_700_000_000_000 + seq,
  cause: "{}",
  event: "{}",
  facts: "[]",
  actions: "[]",
  version: "1",
  body: `b${seq}`,
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
  epoch: 1,
  openedMs: 1_700_000_000_000,
  error: null,
  ...more,
});
/** A dead letter for a receiver. */
export const letterRow = (receiver: string, more: Partial<DeadLetterRow> = {}): DeadLetterRow => ({
  receiver,
  sender: "m/s",
  seq: 1,
  event: "{}",
  reason: "actor_not_found",
  atMs: 1_700_000_000_000,
  ...more,
});
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
  writer.appendEntry(entryRow(`m/${suffix}`, 1));
  writer.putAnswer({ actor: `m/${suffix}`, key: "k", event: "e", answer: "{}" });
  writer.putIdentity(`id-${suffix}`, `m/${suffix}`);
  writer.putEffect(effectRow(`effect-${suffix}`));
  writer.putDeadLetter(letterRow(`m/${suffix}`));
  writer.putBlob(digestOf(bytes), bytes);
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
    letters: reader.deadLetters({}, ALL),
    owned: listed.map(({ address }) => [reader.journal(address, ALL), reader.answer(address, "k"), reader.identities(address)]),
    missing: [reader.identity("id-b"), reader.answer("m/b", "k"), reader.blob(digestOf(Buffer.from("b")))],
  };
}
