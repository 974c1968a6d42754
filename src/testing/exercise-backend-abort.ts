/** Promises about steps that are to end. For `exerciseBackend`. */

import assert from "node:assert/strict";
import type { StepReport } from "../agent/backend.ts";
import type { ExerciseBackendOptions } from "./exercise-backend-option.ts";
import type { Place, Promised } from "./exercise-backend-place.ts";
import type { Played, Trial } from "./exercise-backend-trial.ts";
import { quiet, within } from "./exercise-backend-wait.ts";

/** ms in which an aborted step ends, where the options do not say. */
const SOON_MS = 4000;

export function aborts(promised: Promised, { openStuck, without = [] }: ExerciseBackendOptions): void {
  promised("ends soon where it is aborted before it begins", "a step with a `signal` that is aborted already", async (place) => {
    const patience = new Patience(place);
    const ended = Promise.withResolvers<void>();
    const trial = await place.trial(() => ({
      signal: () => AbortSignal.abort(),
      around: async (working, { signal }) => {
        try {
          return await patience.with(working, signal);
        } finally {
          ended.resolve();
        }
      },
    }));
    const run = await trial.begin();
    await Promise.race([ended.promise, run.end()]);
    patience.assertEnough();
  });
  promised(
    "ends soon where its turn is stopped, and the run ends cancelled",
    "its first step, which is stopped under way",
    async (place) => {
      await stopped(place, "open");
    },
  );
  if (!without.includes("tools"))
    promised(
      "ends soon where its turn is stopped while a tool is at work, and the run ends cancelled",
      "a step whose turn is stopped while its tool runs",
      async (place) => {
        const patience = new Patience(place);
        const trial = await place.trial((self) => ({
          at: async (moment, { runId, signal }) => {
            if (moment !== "called") return;
            await stop(self, runId);
            // As a tool ends that heeds its signal.
            signal.throwIfAborted();
          },
          around: (working, { signal }) => patience.with(working, signal),
        }));
        const { end } = await trial.play();
        patience.assertEnough();
        assertCancelled(end);
      },
    );
  if (openStuck)
    promised(
      "ends soon where its turn is stopped while its model does not answer, and the run ends cancelled",
      "the first step of what `openStuck` gives, which is stopped",
      async (place) => {
        await stopped(place, "openStuck");
      },
    );
}

/** The turn is stopped as soon as its first step is under way. */
async function stopped(place: Place, how: "open" | "openStuck"): Promise<void> {
  const patience = new Patience(place);
  let isSettled = false;
  const trial = await place.trial((self) => ({
    around: async (working, { runId, signal }) => {
      const settle = () => {
        isSettled = true;
      };
      working.then(settle, settle);
      if (how === "openStuck") await quiet();
      const endsByItself = isSettled;
      const ended = patience.with(working, signal);
      ended.catch(() => {});
      await stop(self, runId);
      if (how === "openStuck") assert(!endsByItself, "`openStuck` gives a backend whose first step ends by itself");
      return ended;
    },
  }));
  await trial.open(how);
  const { end } = await trial.play();
  patience.assertEnough();
  assertCancelled(end);
}

function assertCancelled({ kind }: Played["end"]): void {
  assert.equal(kind, "cancelled", `the run that was stopped is ${kind}`);
}

/** Stops the run's turn; resolves when its signal is aborted. */
function stop(trial: Trial, runId: string): Promise<void> {
  return trial.holdfast
    .run(runId)
    .stop()
    .catch((error) => {
      // Another call of the same step was first.
      if (error.code !== "stop_in_progress") throw error;
    });
}

/** How long an aborted step is waited for. */
class Patience {
  readonly #place: Place;
  #spentMs: number | undefined;

  constructor(place: Place) {
    this.#place = place;
  }

  /** As the step, or rejects where it has not ended when the time is up, counted from the abort. */
  async with(working: Promise<StepReport>, signal: AbortSignal): Promise<StepReport> {
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    const late = aborted.then(() => {
      const { soonMs = SOON_MS } = this.#place.options;
      return within(soonMs, working, "the step did not end").catch((error) => {
        if (error instanceof assert.AssertionError) this.#spentMs = soonMs;
        throw error;
      });
    });
    return Promise.race([working, late]);
  }

  assertEnough(): void {
    assert(this.#spentMs === undefined, `a step whose signal was aborted has not ended within ${this.#spentMs} ms`);
  }
}
