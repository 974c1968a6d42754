/**
 * Losses: an outcome of a run's handler that could not be committed. It is submitted again, but how long the store stays out of
 * order nobody knows, so whoever waits for it is told instead of waiting for ever.
 */

import type { run as runMachine } from "../../machines/index.ts";
import type { ActorRef } from "../actor/actor-ref.ts";
import { HoldfastError, messageOf } from "../actor/error.ts";
import { agentError } from "./error.ts";

/** What a lost outcome of this effect is called: a seal has its own code, since its decision stands. */
export function lossOf(effect: string, cause: unknown): HoldfastError {
  const message = messageOf(cause);
  if (effect === "flush") return agentError("seal_not_durable", `the seal could not be written: ${message}`, { cause });
  if (cause instanceof HoldfastError) return cause;
  return agentError("storage_failed", `what the run came to could not be written: ${message}`, { cause });
}

/** What `wait` gives, or the loss that comes first. `wait` ends with its signal. */
export async function unlessLost<T>(run: ActorRef<typeof runMachine>, wait: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  let unsubscribe = () => {};
  const lost = new Promise<never>((_, reject) => {
    unsubscribe = run.onLost((effect, error) => reject(lossOf(effect, error)));
  });
  try {
    return await Promise.race([wait(stop.signal), lost]);
  } finally {
    unsubscribe();
    stop.abort();
  }
}
