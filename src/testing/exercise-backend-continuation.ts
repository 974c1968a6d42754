/** Promises to whoever goes on with a turn in another process. For `exerciseBackend`. */

import assert from "node:assert/strict";
import type { Backend } from "../agent/backend.ts";
import { recordOf } from "../agent/composition.ts";
import type { ExerciseBackendOptions } from "./exercise-backend-option.ts";
import type { Place, Promised } from "./exercise-backend-place.ts";
import { type Played, type Trial, unknownCalls } from "./exercise-backend-trial.ts";
import { assertCompleted } from "./exercise-backend-turn.ts";
import { within } from "./exercise-backend-wait.ts";
import type { Hooks, Moment } from "./exercise-backend-watch.ts";

/** How long a flush may take, in ms. */
const FLUSH_MS = 10_000;

const never = new AbortController().signal;

export function successions(promised: Promised, { answer, without = [] }: ExerciseBackendOptions): void {
  const same = "comes to the same end by the same calls and texts";
  if (!without.includes("boundary") && !without.includes("composition"))
    promised(`handed to a new process at each boundary, it ${same}`, async (place) => {
      const whole = await (await place.trial()).play();
      const trial = await place.trial((self) => ({
        at: async (moment, { runId }) => {
          if (moment === "asked") await self.holdfast.run(runId).requestHandoff();
        },
      }));
      assertSame(await trial.play({ answersElsewhere: true }), whole);
      assert(trial.handoffs > 0, "nothing was handed off");
    });
  if (!without.includes("boundary"))
    promised(`killed at each boundary and continued by a new process, it ${same}`, async (place) => {
      const whole = await (await place.trial()).play();
      const trial = await place.trial((self) => ({
        at: (moment, { runId }) => {
          // Not behind a question: what a person allowed holds for this run alone.
          const before = self.seen.steps.findLast((step) => step.runId === runId);
          if (moment === "asked" && before?.report?.next === "continue") self.die();
        },
      }));
      assertSame(await trial.play(), whole);
      const isCase = trial.seen.steps.some(({ report }) => report?.next === "continue");
      assert.equal(trial.deaths > 0, isCase, "no process died");
    });
  if (answer)
    promised(`answered in a new process, it ${same}`, async (place) => {
      const whole = await (await place.trial()).play();
      assertSame(await (await place.trial()).play({ answersElsewhere: true }), whole);
    });
}

function assertSame(continued: Played, whole: Played): void {
  assertCompleted(whole);
  assertCompleted(continued);
  assert.deepEqual(shown(continued), shown(whole));
}

const shown = ({ end, texts, calls }: Played) => ({ stopReason: "stopReason" in end ? end.stopReason : null, texts, calls });

export function compositions(promised: Promised, { without = [] }: ExerciseBackendOptions): void {
  if (without.includes("composition")) {
    promised("declares nothing, each time", async (place) => {
      const backend = await place.backend();
      assert.deepEqual([await declared(place, backend), await declared(place, backend, { continuation: true })], [null, null]);
    });
    return;
  }
  promised("declares a composition that fits the contract", async (place) => {
    assert(await declared(place, await place.backend()), "nothing was declared");
  });
  promised("declares the same composition again, in a new process, and for a run that continues another", async (place) => {
    const backend = await place.backend();
    const first = await declared(place, backend);
    assert.deepEqual(await declared(place, backend), first, "again");
    assert.deepEqual(await declared(place, await place.backend()), first, "in a new process");
    assert.deepEqual(await declared(place, await place.backend(), { runId: "run-2", continuation: true }), first, "for a continuation");
  });
  if (without.includes("boundary")) return;
  promised("held at its first boundary, the run is sealed, and a new process completes the turn", async (place) => {
    const trial = await place.trial((self) => ({
      at: async (moment, { runId }) => {
        if (moment === "asked" && self.handoffs === 0) await self.holdfast.run(runId).requestHandoff();
      },
    }));
    assertCompleted(await trial.play());
    assert.equal(trial.handoffs, 1);
  });
}

/** What a backend declares, as a run records it; null where it declares nothing. Throws `composition_invalid`. */
async function declared({ cwd }: Place, backend: Backend, { runId = "run-1", continuation = false } = {}) {
  const input = { sessionId: "session-1", turnId: "turn-1", runId, cwd, continuation, signal: never };
  const composition = await backend.prepare?.(input);
  return composition ? recordOf(composition, async () => "") : null;
}

export function drains(promised: Promised): void {
  const unknown = { sessionId: "session-0", turnId: "turn-0", runId: "run-0" };
  const around = async (place: Place, act: (backend: Backend, run: typeof unknown) => Promise<void>) => {
    const trial = await place.trial();
    await trial.open();
    await act(trial.backend, unknown);
    const run = await trial.begin();
    assert.notEqual(run.id, unknown.runId);
    const { sessionId, turnId, id: runId } = run;
    assertCompleted(await trial.goOn(run));
    await act(trial.backend, { sessionId, turnId, runId });
    await act(trial.backend, unknown);
  };
  promised("flush ends in time and fails nothing, for runs that it does not know, for ended ones, and twice", async (place) => {
    await around(place, async (backend, run) => {
      let failed: unknown;
      const fail = async (error: unknown) => {
        failed = error;
      };
      const flush = async () => backend.flush?.({ ...run, signal: never, fail });
      // That it throws prevents nothing.
      for (let call = 0; call < 2; call++) await within(FLUSH_MS, Promise.allSettled([flush(), flush()]), "flush did not end");
      assert.equal(failed, undefined, "it says that it is broken");
    });
  });
  promised("ended throws for no run that it does not know, for no ended one, and not twice", async (place) => {
    await around(place, async (backend, run) => {
      for (let call = 0; call < 2; call++) await backend.ended?.(run);
    });
  });
}

const DEATHS: Readonly<Record<Moment, string>> = {
  asked: "before a step does anything",
  called: "between T1 and the tool",
  ran: "between the tool and T2",
  settled: "after T2, before the step sees the result",
  reported: "before what a step reports is durable",
};

export function deaths(promised: Promised, { without = [] }: ExerciseBackendOptions): void {
  const moments: readonly Moment[] = without.includes("tools") ? ["asked", "reported"] : ["asked", "called", "ran", "settled", "reported"];
  for (const where of moments) {
    const isUnknown = where === "called" || where === "ran";
    const otherwise = isUnknown ? ", unless its tool lets nobody go on" : "";
    promised(`killed ${DEATHS[where]}, it is continued by a new process, which completes the turn${otherwise}`, async (place) => {
      const trial = await place.trial((self) => dying(self, where));
      const played = await trial.play();
      assert.equal(trial.deaths, 1, "no process died: the turn does not come to that, and is not said to be without");
      if (isUnknown && played.end.kind === "parked") assertParked(played.end.reasons);
      else assertCompleted(played);
      for (const [call, { ok }] of played.queried)
        assert(ok || !trial.seen.ran.get(call), "the tool was asked what came of its call, and denied what it had done");
    });
  }
}

/** Dies at the first moment of a kind. */
function dying(trial: Trial, where: Moment): Hooks {
  let isDead = false;
  return {
    at: (moment) => {
      if (moment !== where || isDead) return;
      isDead = true;
      trial.die();
    },
  };
}

/** Nobody goes on because of calls without an outcome, of tools that do not say how one could, or could not tell. */
function assertParked(reasons: Parameters<typeof unknownCalls>[0]): void {
  const calls = unknownCalls(reasons);
  const codes = reasons.map(({ code }) => code);
  assert.deepEqual(codes, ["tools_unknown"]);
  const kept = calls.filter(({ reconcile }) => reconcile === "retry" || reconcile === "ask");
  assert.deepEqual(kept, [], "somebody may go on after these calls");
}
