/** What retention counts by, alike in every store: how exactly a time is kept, and how far a watermark rises. */

const HOUR_MS = 3_600_000;

/** The beginning of the hour of a time: a blob that is stored again within it costs no write. */
export function hourOf(atMs: number): number {
  return atMs - (atMs % HOUR_MS);
}

/**
 * The time before which everything was removed, given what was found to be older than `beforeMs`, oldest first, of which `limit` went.
 * Where the limit cut it short that is the time of the oldest one left; where that one is as old as the last that went, just after it,
 * so that nothing that went is above the mark.
 */
export function watermark(found: readonly { readonly atMs: number }[], limit: number, beforeMs: number): number {
  const gone = found[limit - 1];
  const left = found[limit];
  return gone && left ? Math.max(left.atMs, gone.atMs + 1) : beforeMs;
}
