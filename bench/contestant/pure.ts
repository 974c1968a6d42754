/** Pure transitions, through the engine's own `take`: no store, no time, no journal. */

import type { AnyMachineSnapshot } from "xstate";
import { register } from "../../src/actor/registration.ts";
import { type EngineEvent, start, take } from "../../src/actor/transition.ts";
import type { Bench } from "../bench.ts";
import { contextAfter, eventAt } from "../machine/event.ts";
import { CYCLE, enclose, steppingRun } from "../machine/run.ts";
import { silentStep, step } from "../machine/step.ts";
import { perSecond, timed } from "../measure.ts";

/** The run machine: a tool call and its result, again and again, in the middle of a step. Transitions per second. */
export function pureRunTurn(bench: Bench): number {
  const { pure } = bench.scale;
  const { registration, snapshot: first } = steppingRun();
  let snapshot = first;
  let facts = 0;
  const ms = timed(() => {
    for (let index = 0; index < pure; index++) {
      const event = CYCLE[index % CYCLE.length] as EngineEvent;
      const stamp = { at: index, seq: index + 3, id: `run/run-1:${index + 3}` };
      const outcome = take(registration, snapshot, event, stamp, enclose);
      snapshot = outcome.snapshot;
      facts += outcome.facts.length;
    }
  });
  bench.faults.expect("pure, run machine: facts", facts, pure);
  return perSecond(pure, ms);
}

/** The bench's own machine. Transitions per second. */
export function pureStepTurn(bench: Bench, facts: "facts" | "silent" = "facts"): number {
  const { pure } = bench.scale;
  const registration = register(facts === "facts" ? step : silentStep);
  let snapshot: AnyMachineSnapshot = start(registration, {}, { at: 0, seq: 1, id: "step/a:1" }, enclose).snapshot;
  const ms = timed(() => {
    for (let index = 0; index < pure; index++) {
      const stamp = { at: index, seq: index + 2, id: `step/a:${index + 2}` };
      snapshot = take(registration, snapshot, eventAt(index) as unknown as EngineEvent, stamp, enclose).snapshot;
    }
  });
  bench.faults.expect("pure, step machine: context", snapshot.context, contextAfter(pure));
  return perSecond(pure, ms);
}
