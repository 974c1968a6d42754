/**
 * Journal entries and their hash chain.
 *
 * An entry's body digest is the SHA-256 of its own content, byte for byte as stored; its `hash` is the SHA-256 of the previous
 * entry's hash, the actor, the seq and the body digest. So a chain can be proved with these digests alone, without the content.
 */

import { engineError } from "./error.ts";
import { sha256 } from "./json.ts";
import type { JournalRow, StoreReader } from "./store.ts";

/** Why an event was taken: from outside, from an effect at work, an effect's outcome, a timer, another actor, or the engine itself. */
export type Cause =
  | { readonly kind: "outside"; readonly key?: string }
  | { readonly kind: "handler"; readonly effect: string }
  | { readonly kind: "result"; readonly effect: string }
  | { readonly kind: "timer"; readonly timer: string }
  | { readonly kind: "delivery"; readonly from: string; readonly seq: number }
  | { readonly kind: "creation"; readonly from?: string; readonly seq?: number }
  | { readonly kind: "engine" };

/** The hash before an actor's first entry. */
export const NO_HASH = "";

type Content = Pick<JournalRow, "atMs" | "version" | "cause" | "event" | "facts" | "actions">;

/** The digest of an entry's own content. */
export function bodyOf(content: Content): string {
  return sha256(JSON.stringify([content.atMs, content.version, content.cause, content.event, content.facts, content.actions]));
}

export function hashOf(previous: string, actor: string, seq: number, body: string): string {
  return sha256(JSON.stringify([previous, actor, seq, body]));
}

/** A new entry behind `previous`. */
export function makeEntry(previous: string, actor: string, seq: number, content: Content): JournalRow {
  return { actor, seq, ...content, hash: hashOf(previous, actor, seq, bodyOf(content)) };
}

/** What is wrong with an entry that should follow `previous` as number `seq`, or undefined. */
export function chainFault(previous: string, seq: number, row: JournalRow): string | undefined {
  if (row.seq !== seq) return `entry ${seq} is missing; the next one found is ${row.seq}`;
  if (hashOf(previous, row.actor, seq, bodyOf(row)) !== row.hash)
    return `entry ${seq} is not what was written, or does not follow from the entry before it`;
  return undefined;
}

/** Characters of a column beyond which its text is a blob, and the column holds the blob's digest. */
const INLINE_LIMIT = 65_536;

/** Characters of JSON that one event, and the facts or the requests of one entry, may have. */
export const PAYLOAD_LIMIT = 16_777_216;

/** What stands in a column for a text that is a blob. No event, list of facts or list of requests has this form. */
const REFERENCE = /^\{"\$blob":"([0-9a-f]{64})"\}$/;

/** The text that is to stand in a journal column; what is too large for it is added to `blobs`. */
export function inlined(text: string, blobs: Map<string, Uint8Array>): string {
  if (text.length <= INLINE_LIMIT) return text;
  if (text.length > PAYLOAD_LIMIT) throw engineError("payload_too_large", `an entry would hold a text of ${text.length} characters`);
  const bytes = Buffer.from(text, "utf8");
  const digest = sha256(bytes);
  blobs.set(digest, bytes);
  return `{"$blob":"${digest}"}`;
}

/** An entry with its large columns read from their blobs. Throws `journal_damaged` where a blob is missing or changed. */
export function inflated<Row extends JournalRow>(reader: Pick<StoreReader, "blob">, row: Row): Row {
  const column = (text: string): string => {
    const digest = REFERENCE.exec(text)?.[1];
    if (digest === undefined) return text;
    const bytes = reader.blob(digest);
    if (!bytes || sha256(bytes) !== digest)
      throw engineError("journal_damaged", `the blob ${digest} of entry ${row.seq} of ${row.actor} is ${bytes ? "changed" : "missing"}`, {
        details: { actor: row.actor },
      });
    return Buffer.from(bytes).toString("utf8");
  };
  return { ...row, event: column(row.event), facts: column(row.facts), actions: column(row.actions) };
}
