/** Waiting, for `exerciseBackend`: for what is on its way, and no longer than a promise may take. */

import assert from "node:assert/strict";
import { setTimeout as pause, setImmediate } from "node:timers/promises";

/** As the promise, or rejects where that takes longer. */
export async function within<T>(ms: number, promise: Promise<T>, otherwise: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new assert.AssertionError({ message: `${otherwise} within ${ms} ms` })), ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whatever was on its way in this process has come, but for what waits for longer than a millisecond. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  // For whoever waits for a timer of no length.
  await pause(1);
  await setImmediate();
}
