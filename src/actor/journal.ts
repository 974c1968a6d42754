/**
 * Journal entries and their hash chain.
 *
 * An entry's `body` is the SHA-256 of its own content, byte for byte as stored; its `hash` is the SHA-256 of the previous entry's
 * hash, the actor, the seq and `body`. So a chain can be proved with bodies alone, without the content of every entry.
 */

import { sha256 } from "./json.ts";
import type { JournalRow } from "./store.ts";

/** Why an event was taken: from outside, from an effect at work, an effect's outcome, another actor, or the engine itself. */
export type Cause =
  | { readonly kind: "outside"; readonly key?: string }
  | { readonly kind: "handler"; readonly effect: string }
  | { readonly kind: "result"; readonly effect: string }
  | { readonly kind: "delivery"; readonly from: string; readonly seq: number }
  | { readonly kind: "creation"; readonly from?: string; readonly seq?: number }
  | { readonly kind: "engine" };

/** The hash before an actor's first entry. */
export const NO_HASH = "";

type Content = Pick<JournalRow, "atMs" | "version" | "cause" | "event" | "facts" | "actions">;

export function bodyOf(content: Content): string {
  return sha256(JSON.stringify([content.atMs, content.version, content.cause, content.event, content.facts, content.actions]));
}

export function hashOf(previous: string, actor: string, seq: number, body: string): string {
  return sha256(JSON.stringify([previous, actor, seq, body]));
}

/** A new entry behind `previous`. */
export function makeEntry(previous: string, actor: string, seq: number, content: Content): JournalRow {
  const body = bodyOf(content);
  return { actor, seq, ...content, body, hash: hashOf(previous, actor, seq, body) };
}

/** What is wrong with an entry that should follow `previous` as number `seq`, or undefined. */
export function chainFault(previous: string, seq: number, row: JournalRow): string | undefined {
  if (row.seq !== seq) return `entry ${seq} is missing; the next one found is ${row.seq}`;
  if (bodyOf(row) !== row.body) return `the content of entry ${seq} does not match its digest`;
  if (hashOf(previous, row.actor, seq, row.body) !== row.hash) return `entry ${seq} does not follow from the entry before it`;
  return undefined;
}
