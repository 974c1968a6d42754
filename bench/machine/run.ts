/** A run of `machines/run.ts` in the middle of a step, where it takes tool calls and their results again and again. */

import type { AnyMachineSnapshot, EventFrom } from "xstate";
import { run } from "../../machines/index.ts";
import { type Registration, register } from "../../src/actor/registration.ts";
import { type EngineEvent, start, take } from "../../src/actor/transition.ts";
import { composition, driftPolicy, freshRun } from "../../test/machines/sample.ts";

type Prepared = Extract<EventFrom<typeof run>, { type: "prepare.done" }>;

/** Taken again and again: each pair leaves the run where it was. */
export const CYCLE: readonly EngineEvent[] = [
  { type: "tool.call", callId: "call-1", name: "read", args: { path: "README.md" }, reconcile: null },
  { type: "tool.settle", callId: "call-1", outcome: { ok: true, result: "text" } },
];

/** The registered machine, and a run of it whose step is in flight. */
export function steppingRun(): { readonly registration: Registration; readonly snapshot: AnyMachineSnapshot } {
  const registration = register(run);
  const opened = start(registration, freshRun, { at: 0, seq: 1, id: "run/run-1:1" }, enclose).snapshot;
  const output: Prepared["output"] = { composition, driftPolicy, workspace: freshRun.configuration.cwd };
  const prepared = { type: "prepare.done", output, effect: "run/run-1:1:0" };
  return { registration, snapshot: take(registration, opened, prepared, { at: 0, seq: 2, id: "run/run-1:2" }, enclose).snapshot };
}

export function enclose<T>(transition: () => T): T {
  return transition();
}
