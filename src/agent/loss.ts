/**
 * Losses: an outcome of a run's handler that could not be committed. The run stays as it is until `recover()` or the next start, so
 * whoever waits for it is told instead of waiting for ever.
 */

import type { run as runMachine } from "../../machines/index.ts";
import type { ActorRef } from "../actor/actor-ref.ts";
import { HoldfastError } from "../actor/error.ts";
import { agentError } from "./error.ts";

/** What a lost outcome of this effect is called: a seal has its own code, since its decision stands. */
export function lossOf(effect: string, cause: unknown): HoldfastError {
  const message = cause instanceof Error ? cause.message : String(cause);
  if (effect === "flush") return agentError("seal_not_durable", `the seal could not be written: ${message}`, { cause });
  if (cause instanceof HoldfastError) return cause;
  return agentError("storage_failed", `what the run came to could not be written: ${message}`, { cause });
}

/** What `wait` gives, or the loss that comes first. `wait` ends with its signal. */
export async function unlessLost<T>(run: ActorRef<typeof runMachine>, wait: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const lost = (async () => {
    for await (const watched of run.watchAll({ after: Number.MAX_SAFE_INTEGER, signal: stop.signal }))
      if (watched.kind === "lost") throw lossOf(watched.effect, watched.error);
    // The run has ended, so nothing more can be lost of it.
    return new Promise<never>(() => {});
  })();
  try {
    return await Promise.race([wait(stop.signal), lost]);
  } finally {
    stop.abort();
    lost.catch(() => {});
  }
}
