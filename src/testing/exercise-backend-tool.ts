/** Promises about tools. For `exerciseBackend`. */

import assert from "node:assert/strict";
import { plural } from "../agent/count.ts";
import type { ExerciseBackendOptions } from "./exercise-backend-option.ts";
import type { Promised } from "./exercise-backend-place.ts";
import type { WholeTurn } from "./exercise-backend-turn.ts";

/** Calls of one turn that fail, at most: a backend that makes more goes on for ever. */
const FAILING_CALLS = 256;

export function tools(promised: Promised, { without = [] }: ExerciseBackendOptions, whole: () => Promise<WholeTurn>): void {
  promised("has tools with unique names, descriptions, schemas, and a known way to reconcile", "its `tools`", async (place) => {
    const { tools: all = [] } = await place.backend();
    for (const { name, description, parameters, reconcile, execute } of all) {
      assert(typeof name === "string" && name.length >= 1 && name.length <= 128, `${name} is no name: 1..128 characters`);
      assert.equal(typeof description, "string", `the description of ${name} is no text`);
      assert.equal(typeof parameters?.safeParse, "function", `the parameters of ${name} are no schema`);
      assert([undefined, "retry", "query", "ask"].includes(reconcile), `the tool ${name} may be reconciled by ${reconcile}`);
      assert.equal(typeof execute, "function", `the tool ${name} has no execute`);
    }
    const names = all.map(({ name }) => name);
    assert.deepEqual(names, [...new Set(names)], "a name is given twice");
  });
  promised("can ask each tool that says so what came of a call", "its `tools`", async (place) => {
    const { tools: all = [] } = await place.backend();
    const silent = all.filter(({ reconcile, query }) => reconcile === "query" && typeof query !== "function");
    assert.deepEqual(
      silent.map(({ name }) => name),
      [],
      `${silent.map(({ name }) => name).join(", ")} declared as \`query\`, and without one`,
    );
  });
  promised(
    "changes nothing in its folder but by its tools",
    "a whole turn, with a look at its folder around each step and tool",
    async (place) => {
      const trial = await place.trial();
      const folder = trial.seen.watchFolder(place.cwd);
      await trial.play();
      assert.deepEqual(folder.changes, [], `the folder was changed while no tool ran: ${folder.changes.join(", ")}`);
    },
  );
  if (without.includes("tools")) return;
  promised("calls tools that it has, with arguments that fit them", "a whole turn, which nothing interrupts", async () => {
    const { steps, tools: all } = await whole();
    for (const { name, args } of steps.flatMap(({ calls }) => calls)) {
      const tool = all.find((candidate) => candidate.name === name);
      assert(tool, `there is no tool ${name}`);
      const { error } = tool.parameters.safeParse(args);
      assert(error === undefined, `the arguments of ${name} do not fit: ${error?.message}`);
    }
  });
  promised("reports, or rejects, where every tool fails", "a whole turn in which each tool throws", async (place) => {
    let failures = 0;
    const trial = await place.trial((self) => ({
      at: (moment, { runId }) => {
        if (moment !== "called") return;
        if (++failures === FAILING_CALLS) void self.holdfast.run(runId).stop();
        throw new Error("no tool works");
      },
    }));
    const { end } = await trial.play();
    assert(failures < FAILING_CALLS, `it called failing tools ${plural(failures, "time")}`);
    assert(end.kind === "completed" || end.kind === "failed", `the turn is ${end.kind}`);
    assert(end.kind === "completed" || end.error.code !== "step_report_invalid", "error" in end ? end.error.message : "");
  });
}
