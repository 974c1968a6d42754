/**
 * What every store refuses alike, before its own technology gets to see it.
 *
 * These are invariant breaches (bugs of the caller), so they are plain errors without a code; nothing here is an expected outcome.
 */

import { sha256 } from "../actor/json.ts";
import { PAGE_LIMIT } from "../actor/page.ts";
import type { Page } from "../actor/store.ts";

/** The cursor and the limit of a page. Throws a RangeError where they are out of bounds. */
export function pageBounds(page: Page): { readonly after: number; readonly limit: number } {
  const { after = 0, limit } = page;
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > PAGE_LIMIT)
    throw new RangeError(`page.limit is ${limit}; expected 1..${PAGE_LIMIT}`);
  if (!Number.isSafeInteger(after) || after < 0) throw new RangeError(`page.after is ${after}; expected a whole number from 0`);
  return { after, limit };
}

/** Throws where a row holds what would not come back as it was written: a lone surrogate in text, or a number that is no safe integer. */
export function checkRow(row: object): void {
  for (const [column, value] of Object.entries(row)) {
    checkValue(column, value);
    if (typeof value === "object" && value !== null) checkRow(value);
  }
}

/** As `checkRow`, for values in the order of their columns: no list of keys is made on the way to a commit. */
export function checkValues(columns: readonly string[], values: readonly unknown[]): void {
  for (let index = 0; index < values.length; index++) checkValue(columns[index] ?? "?", values[index]);
}

function checkValue(column: string, value: unknown): void {
  if (typeof value === "string" && !value.isWellFormed()) throw breach(`column ${column} holds text that is not well-formed Unicode`);
  if (typeof value === "number" && !Number.isSafeInteger(value)) throw breach(`column ${column} holds ${value}; expected a whole number`);
}

/** Throws where the digest is not the SHA-256 of the bytes: a blob is found by its content or not at all. */
export function checkBlob(digest: string, bytes: Uint8Array): void {
  if (sha256(bytes) !== digest) throw breach(`blob digest ${digest} is not the SHA-256 of its bytes`);
}

/** Throws where the body of a write returned a promise: what it does after its first await would be outside the transaction. */
export function refusePromise(result: unknown): void {
  if (typeof (result as { then?: unknown } | null | undefined)?.then !== "function") return;
  // The body goes on by itself and fails at its next put; that second failure must not end the process as an unhandled rejection.
  Promise.resolve(result).catch(() => undefined);
  throw breach("the body of a write returned a promise; it must be synchronous");
}

/** An invariant breach: a bug of the caller, not a state of the world. */
export function breach(what: string, cause?: unknown): Error {
  return new Error(`store invariant: ${what}`, cause === undefined ? undefined : { cause });
}
