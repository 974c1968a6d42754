/** Promises of a whole turn, and of what is between its steps. For `exerciseBackend`. */

import assert from "node:assert/strict";
import { parseReport } from "../agent/step.ts";
import type { BackendLack } from "./exercise-backend-option.ts";
import type { Promised } from "./exercise-backend-place.ts";
import { type Played, textOf } from "./exercise-backend-trial.ts";
import { quiet } from "./exercise-backend-wait.ts";

export function turns(promised: Promised): void {
  promised("comes to its end", async (place) => {
    const trial = await place.trial();
    assertCompleted(await trial.play());
    const { maxSteps } = place.options;
    const last = trial.seen.steps.at(-1)?.report;
    const hint = "give `maxSteps`, or a text that takes fewer";
    if (last?.next === "continue" && last.remainingSteps !== 0)
      assert.fail(`the turn took ${maxSteps ?? trial.seen.steps.length} steps and has not come to its end: ${hint}`);
  });
  promised("shows a boundary, tool calls, a composition and a question, but for what it is said to be without", async (place) => {
    const trial = await place.trial();
    const { calls } = await trial.play();
    const { seen, backend } = trial;
    const lacks: BackendLack[] = [];
    if (seen.steps.length < 2) lacks.push("boundary");
    if (calls.length === 0) lacks.push("tools");
    const { cwd } = place;
    const input = { sessionId: "session", turnId: "turn", runId: "run", cwd, continuation: false, signal: new AbortController().signal };
    if (!(await backend.prepare?.(input))) lacks.push("composition");
    assert.deepEqual(lacks.sort(), [...(place.options.without ?? [])].sort(), "what the turn is without is not what `without` says");
    const asks = seen.steps.some(({ report }) => report?.next === "wait");
    assert.equal(asks, place.options.answer !== undefined, "`answer` is there where the turn asks a person, and only there");
  });
  promised("reports what fits the contract", async (place) => {
    const trial = await place.trial();
    await trial.play();
    for (const step of trial.seen.steps) if ("report" in step) parseReport(step.report);
  });
  promised("says of the steps left what becomes fewer with each step", async (place) => {
    const trial = await place.trial();
    await trial.play();
    let most = Number.POSITIVE_INFINITY;
    trial.seen.steps.forEach(({ report }, index) => {
      const left = report?.remainingSteps ?? null;
      most = Math.min(most - 1, left ?? Number.POSITIVE_INFINITY);
      assert(left === null || left <= most, `step ${index + 1} reports ${left} steps left, where ${most} are left by what was said before`);
    });
  });
  promised("is over with its last step where only one is left, and does nothing more", async (place) => {
    const trial = await place.trial();
    assertCompleted(await trial.play({ maxSteps: 1 }));
    await quiet();
    assert.deepEqual([trial.seen.steps.length, trial.seen.late], [1, []]);
  });
}

export function steps(promised: Promised): void {
  promised("does nothing between two steps, and nothing after the last", async (place) => {
    const trial = await place.trial(() => ({ at: (moment) => (moment === "asked" ? quiet() : undefined) }));
    await trial.play();
    await quiet();
    assert.deepEqual(trial.seen.late, [], "used after its step had returned");
  });
}

/** The turn is complete. */
export function assertCompleted({ end }: Played): void {
  if (end.kind === "completed") return;
  if (end.kind === "parked") assert.fail(`nobody may go on with the turn: ${textOf(end.reasons)}`);
  assert.fail(`the turn ${end.kind}${end.kind === "failed" ? `: ${end.error.code}: ${end.error.message}` : ""}`);
}
