/** Promises of a whole turn, and of what is between its steps. For `exerciseBackend`. */

import assert from "node:assert/strict";
import type { Tool } from "../agent/backend.ts";
import { plural } from "../agent/count.ts";
import { parseReport } from "../agent/step.ts";
import type { BackendLack, ExerciseBackendOptions } from "./exercise-backend-option.ts";
import type { Place, Promised } from "./exercise-backend-place.ts";
import { type Played, textOf } from "./exercise-backend-trial.ts";
import { quiet } from "./exercise-backend-wait.ts";
import type { SeenStep } from "./exercise-backend-watch.ts";

/** A turn that nothing interrupted. Several promises are about it, so it is played once. */
export interface WholeTurn {
  readonly played: Played;
  readonly steps: readonly SeenStep[];
  readonly tools: readonly Tool<any>[];
  readonly lacks: readonly BackendLack[];
}

export async function playWhole(place: Place): Promise<WholeTurn> {
  const trial = await place.trial();
  const played = await trial.play();
  const { steps } = trial.seen;
  const { tools = [], prepare } = trial.backend;
  const input = { sessionId: "session", turnId: "turn", runId: "run", continuation: false, signal: new AbortController().signal };
  const composition = await prepare?.call(trial.backend, { ...input, cwd: place.cwd });
  const lacks: BackendLack[] = [];
  if (steps.length < 2) lacks.push("boundary");
  if (!composition) lacks.push("composition");
  if (played.calls.length === 0) lacks.push("tools");
  return { played, steps, tools, lacks };
}

const WHOLE = "a whole turn, which nothing interrupts";

export function turns(promised: Promised, { without = [], answer }: ExerciseBackendOptions, whole: () => Promise<WholeTurn>): void {
  promised("comes to its end", WHOLE, async () => {
    const { played, steps } = await whole();
    assertCompleted(played);
    const last = steps.at(-1)?.report;
    if (last?.next === "continue" && last.remainingSteps !== 0)
      assert.fail(`after ${plural(steps.length, "step")} the turn has not come to its end: give \`maxSteps\`, or a text that takes fewer`);
  });
  promised("shows a boundary, tool calls, a composition and a question, but for what it is said to be without", WHOLE, async () => {
    const { lacks, steps } = await whole();
    assert.deepEqual(
      lacks,
      [...without].sort(),
      `the turn is without ${lacks.join(", ") || "nothing"}, and \`without\` says ${[...without].sort().join(", ") || "nothing"}`,
    );
    const asks = steps.some(({ report }) => report?.next === "wait");
    assert.equal(asks, answer !== undefined, `the turn ${asks ? "asks a person, and no" : "asks nobody, and an"} \`answer\` is given`);
  });
  promised("reports what fits the contract", WHOLE, async () => {
    const { steps } = await whole();
    for (const step of steps) if ("report" in step) parseReport(step.report);
  });
  promised("says of the steps left what becomes fewer with each step", WHOLE, async () => {
    const { steps } = await whole();
    let most = Number.POSITIVE_INFINITY;
    steps.forEach(({ report }, index) => {
      const left = report?.remainingSteps ?? null;
      most = Math.min(most - 1, left ?? Number.POSITIVE_INFINITY);
      assert(
        left === null || left <= most,
        `step ${index + 1} reports ${plural(left ?? 0, "step")} left; by what was said before it is ${most} at most`,
      );
    });
  });
  promised("is over with its first step where no more are allowed", "a turn with `maxSteps` of 1", async (place) => {
    const trial = await place.trial();
    assertCompleted(await trial.play({ maxSteps: 1 }));
    const { length } = trial.seen.steps;
    assert.equal(length, 1, `it was asked for ${plural(length, "step")}, where one was allowed`);
  });
}

export function steps(promised: Promised): void {
  promised(
    "does nothing between two steps, and nothing after the last",
    "a whole turn, with a pause before each step and at its end",
    async (place) => {
      const trial = await place.trial(() => ({ at: (moment) => (moment === "asked" ? quiet() : undefined) }));
      await trial.play();
      await quiet();
      assertQuiet(trial.seen.late);
    },
  );
  promised(
    "does nothing after a step behind which no more are allowed",
    "a turn with `maxSteps` of 1, and a pause after it",
    async (place) => {
      const trial = await place.trial();
      await trial.play({ maxSteps: 1 });
      await quiet();
      assertQuiet(trial.seen.late);
    },
  );
}

function assertQuiet(late: readonly string[]): void {
  assert.deepEqual(late, [], `it used ${[...new Set(late)].join(", ")} after its step had returned`);
}

/** The turn is complete. */
export function assertCompleted({ end }: Played): void {
  if (end.kind === "completed") return;
  if (end.kind === "parked") assert.fail(`nobody may go on with the turn: ${textOf(end.reasons)}`);
  assert.fail(`the turn ${end.kind}${end.kind === "failed" ? `: ${end.error.code}: ${end.error.message}` : ""}`);
}
