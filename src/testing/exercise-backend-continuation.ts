/** Promises to whoever goes on with a turn in another process. For `exerciseBackend`. */

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { Backend } from "../agent/backend.ts";
import { recordOf } from "../agent/composition.ts";
import { plural } from "../agent/count.ts";
import type { ExerciseBackendOptions } from "./exercise-backend-option.ts";
import type { Place, Promised } from "./exercise-backend-place.ts";
import { type Played, type Trial, textOf, unknownCalls } from "./exercise-backend-trial.ts";
import { assertCompleted } from "./exercise-backend-turn.ts";
import { within } from "./exercise-backend-wait.ts";
import type { Hooks, Moment } from "./exercise-backend-watch.ts";

/** How long a flush may take, in ms. */
const FLUSH_MS = 10_000;

const never = new AbortController().signal;

const FRESH = "with a backend that `open` has just made";

export function successions(promised: Promised, { answer, without = [] }: ExerciseBackendOptions): void {
  const same = "comes to the same end by the same calls and texts";
  if (!without.includes("boundary") && !without.includes("composition"))
    promised(
      `handed to a new process at each boundary, it ${same}`,
      `a whole turn; and again, ${FRESH} after each handoff`,
      async (place) => {
        const whole = await (await place.trial()).play();
        const trial = await place.trial((self) => ({
          at: async (moment, { runId }) => {
            if (moment === "asked") await self.holdfast.run(runId).requestHandoff();
          },
        }));
        assertSame(await trial.play({ answersElsewhere: true }), whole);
        assert(trial.handoffs > 0, "nothing was handed off");
      },
    );
  if (!without.includes("boundary"))
    promised(
      `killed at each boundary and continued by a new process, it ${same}`,
      `a whole turn; and again, ${FRESH} after each kill`,
      async (place) => {
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
      },
    );
  if (answer)
    promised(`answered in a new process, it ${same}`, `a whole turn; and again, ${FRESH} for each answer`, async (place) => {
      const whole = await (await place.trial()).play();
      assertSame(await (await place.trial()).play({ answersElsewhere: true }), whole);
    });
}

function assertSame(continued: Played, whole: Played): void {
  assertCompleted(whole);
  assertCompleted(continued);
  const [now, before] = [shown(continued), shown(whole)];
  assert.deepEqual(now, before, `it came to another end than the turn that nothing interrupted: ${differenceOf(now, before)}`);
}

type Shown = ReturnType<typeof shown>;

/** What is not as it was, the first of each kind. */
function differenceOf(now: Shown, before: Shown): string {
  const found: string[] = [];
  if (now.stopReason !== before.stopReason) found.push(`it ended by ${now.stopReason}, and not by ${before.stopReason}`);
  const at = Array.from({ length: Math.max(now.texts.length, before.texts.length) }).findIndex((_, i) => now.texts[i] !== before.texts[i]);
  const said = (text: string | undefined) => (text === undefined ? "absent" : quoted(text));
  if (at >= 0) found.push(`text ${at + 1} is ${said(now.texts[at])}, and was ${said(before.texts[at])}`);
  const [more] = beyond(now.calls, before.calls);
  if (more !== undefined) found.push(`it called ${cut(more)}, which it had not, or not as often`);
  const [less] = beyond(before.calls, now.calls);
  if (less !== undefined) found.push(`it did not call ${cut(less)}, which it had, or not as often`);
  return found.join("; ");
}

/** Those of a list that another has not, or not as often. */
function beyond(list: readonly string[], other: readonly string[]): string[] {
  const left = [...other];
  return list.filter((one) => {
    const index = left.indexOf(one);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}

/** Characters of a text that a message shows. */
const SHOWN = 120;
const cut = (text: string): string => (text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);
const quoted = (text: string): string => JSON.stringify(cut(text));

const shown = ({ end, texts, calls }: Played) => ({ stopReason: "stopReason" in end ? end.stopReason : null, texts, calls });

export function compositions(promised: Promised, { without = [] }: ExerciseBackendOptions): void {
  if (without.includes("composition")) {
    promised("declares nothing, each time", "`prepare`, for a fresh run and for one that continues another", async (place) => {
      const backend = await place.backend();
      const [fresh, continued] = [await declared(place, backend), await declared(place, backend, { continuation: true })];
      const where = fresh ? "a fresh run" : "a run that continues another";
      assert.deepEqual([fresh, continued], [null, null], `it declared a composition for ${where}, and is said to have none: null`);
    });
    return;
  }
  promised("declares a composition that fits the contract", "`prepare`, for a fresh run", async (place) => {
    assert(await declared(place, await place.backend()), 'it declared nothing: give `without: ["composition"]` where that is meant');
  });
  promised(
    "declares the same composition again, in a new process, and for a run that continues another",
    "`prepare`: twice, of a backend that `open` has just made, and for a continuation",
    async (place) => {
      const backend = await place.backend();
      const first = await declared(place, backend);
      const assertSameAs = (now: typeof first, when: string) => {
        const fields = Object.keys({ ...first, ...now }) as (keyof NonNullable<typeof first>)[];
        const other = fields.filter((field) => !isDeepStrictEqual(now?.[field], first?.[field]));
        assert.deepEqual(now, first, `${when} it declared ${other.map((field) => `another ${field}`).join(", ")}`);
      };
      assertSameAs(await declared(place, backend), "asked again");
      assertSameAs(await declared(place, await place.backend()), "in a new process");
      assertSameAs(await declared(place, await place.backend(), { runId: "run-2", continuation: true }), "for a continuation");
    },
  );
  if (without.includes("boundary")) return;
  promised(
    "held at its first boundary, the run is sealed, and a new process completes the turn",
    "a turn that is handed off at its first boundary",
    async (place) => {
      const trial = await place.trial((self) => ({
        at: async (moment, { runId }) => {
          if (moment === "asked" && self.handoffs === 0) await self.holdfast.run(runId).requestHandoff();
        },
      }));
      assertCompleted(await trial.play());
      assert.equal(trial.handoffs, 1, `the turn was handed off ${plural(trial.handoffs, "time")}, and not once`);
    },
  );
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
  promised(
    "flush ends in time and fails nothing, for runs that it does not know, for ended ones, and twice",
    "`flush`, for a run that it does not know, and for one that is over",
    async (place) => {
      await around(place, async (backend, run) => {
        let failed: unknown;
        const fail = async (error: unknown) => {
          failed = error;
        };
        const flush = async () => backend.flush?.({ ...run, signal: never, fail });
        // That it throws prevents nothing.
        for (let call = 0; call < 2; call++) await within(FLUSH_MS, Promise.allSettled([flush(), flush()]), "flush did not end");
        assert.equal(failed, undefined, `it called \`fail\`, which says that it is broken: ${String(failed)}`);
      });
    },
  );
  promised(
    "ended throws for no run that it does not know, for no ended one, and not twice",
    "`ended`, for a run that it does not know, and for one that is over",
    async (place) => {
      await around(place, async (backend, run) => {
        for (let call = 0; call < 2; call++) await backend.ended?.(run);
      });
    },
  );
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
    promised(
      `killed ${DEATHS[where]}, it is continued by a new process, which completes the turn${otherwise}`,
      `a turn whose process dies ${DEATHS[where]}, and then to go on in a new one`,
      async (place) => {
        const trial = await place.trial((self) => dying(self, where));
        const played = await trial.play();
        assert.equal(trial.deaths, 1, "no process died: the turn does not come to that, and is not said to be without");
        if (isUnknown && played.end.kind === "parked") assertParked(played.end.reasons);
        else assertCompleted(played);
        for (const [call, { ok }] of played.queried)
          assert(ok || !trial.seen.ran.get(call), "the tool was asked what came of its call, and denied what it had done");
      },
    );
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
  assert.deepEqual(codes, ["tools_unknown"], `nobody may go on with the turn: ${textOf(reasons)}`);
  const kept = calls.filter(({ reconcile }) => reconcile === "retry" || reconcile === "ask");
  assert.deepEqual(kept, [], `nobody goes on, and by its tools somebody may after ${kept.map(({ name }) => name).join(", ")}`);
}
