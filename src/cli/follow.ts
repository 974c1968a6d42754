/** Follow: one run watched to its end, with its progress on stderr and Ctrl-C as a clean stop. */

import { HoldfastError } from "../actor/error.ts";
import type { Run, RunEnd, RunEvent } from "../agent/run.ts";
import type { Interruption } from "./interruption.ts";
import type { Screen } from "./screen.ts";
import { progressOf } from "./survey.ts";

/**
 * Watches until the run ends. `run` is asked once its first event was seen; the first Ctrl-C then stops the turn, and the end that
 * this leads to is waited for.
 */
export async function follow(events: AsyncIterable<RunEvent>, run: () => Run, interruption: Interruption, screen: Screen): Promise<RunEnd> {
  let stopping = false;
  const stop = async () => {
    stopping = true;
    screen.note("Stopping the turn. Ctrl-C again leaves at once.");
    try {
      await run().stop();
    } catch (error) {
      // It ended, or is being stopped, by itself: its end says so.
      if (!(error instanceof HoldfastError)) throw error;
    }
  };
  let stopped: Promise<void> | undefined;
  try {
    for await (const event of events) {
      if (stopped === undefined && interruption.happened) stopped = stop();
      else if (event.type === "run.opened")
        interruption.onFirst(() => {
          stopped ??= stop();
        });
      const progress = event.type === "partial" && !stopping ? progressOf(event.output) : undefined;
      if (progress) screen.bar.update(progress.label, progress.done, progress.total);
    }
    await stopped;
    return await run().end();
  } finally {
    // Where the events failed, nobody waits for the stop any more.
    stopped?.catch(() => {});
    screen.bar.clear();
  }
}
