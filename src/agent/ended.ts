/**
 * Ended: tells a backend that a run of it is over, so that it need keep nothing in memory for it.
 *
 * Guarantees: one watch for each run that this process works on, gone with the run's end; what the backend does of it harms nobody.
 */

import type { Engine } from "../actor/engine.ts";
import { messageOf } from "../actor/error.ts";
import type { Backend, EndedInput } from "./backend.ts";

/** The ends of all runs of one runtime whose backends want to know. */
export class Endings {
  readonly #watched = new Set<string>();

  /** Tells the backend once: when the run has ended, was sealed or set aside, or when the runtime is closed. */
  watch(engine: Engine, { sessionId, turnId, runId }: EndedInput, backend: Backend): void {
    if (!backend.ended || this.#watched.has(runId)) return;
    this.#watched.add(runId);
    const address = `run/${runId}`;
    let unsubscribe = () => {};
    const end = () => {
      if (!this.#watched.delete(runId)) return;
      unsubscribe();
      void tell(backend, { sessionId, turnId, runId });
    };
    const isOver = () => {
      const row = engine.reader.actor(address);
      return !row || row.status === "final" || row.quarantine !== null;
    };
    unsubscribe = engine.feed.subscribe(address, (signal) => {
      if (signal.kind === "closed" || (signal.kind === "committed" && isOver())) end();
    });
    // It may have ended between the commit that started its handler and this watch, of which nobody would tell.
    if (isOver()) end();
  }
}

async function tell(backend: Backend, run: EndedInput): Promise<void> {
  try {
    await backend.ended?.(run);
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : messageOf(error));
  }
}
