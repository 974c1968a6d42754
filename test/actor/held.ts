/** Handlers that wait for their test, and the end of what is under way. */

import type { EffectCall } from "../../src/actor/handler.ts";
import type { FaultPoints } from "../../src/testing/index.ts";

/** A handler whose calls wait until the test settles them. */
export function held() {
  const calls: { call: EffectCall; resolve: (output: unknown) => void; reject: (error: unknown) => void }[] = [];
  const waiting: (() => void)[] = [];
  return {
    calls,
    handler: (call: EffectCall) =>
      new Promise<unknown>((resolve, reject) => {
        calls.push({ call, resolve, reject });
        for (const wake of waiting.splice(0)) wake();
      }),
    /** The nth call, from 1, when it has come. */
    async called(nth: number) {
      for (;;) {
        const found = calls[nth - 1];
        if (found) return found;
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
        });
      }
    },
  };
}

/** Resolves when something holds: it is asked now and after each commit. */
export async function committed(points: FaultPoints, holds: () => boolean): Promise<void> {
  while (!holds()) await points.reached("commit.after");
}

/** Lets everything that was asked for be committed: some turns of the event loop, no time. */
export async function flushed(): Promise<void> {
  for (let turn = 0; turn < 20; turn++)
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
}
