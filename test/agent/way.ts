/** Ways that a turn goes in several tests: to a seal, to a question, to a failure, and on from there. */

import { z } from "zod";
import { boundaryDigest, segmentsOf } from "../../src/agent/boundary.ts";
import type { CheckOptions, Continuation, ParkReason, Run, RunEvent, StepInput, StepReport, Tool } from "../../src/index.ts";
import { collect, type Gate, type World } from "./world.ts";

export const ends = (text = "done") => ({ report: { text, next: "end", stopReason: "end_turn" } }) as const;
export const goesOn = { report: { next: "continue" } } as const;
export const asks = (interaction: Extract<StepReport, { next: "wait" }>["interaction"]) =>
  ({ report: { next: "wait", interaction } }) as const;

/** A tool that answers with its arguments. */
export function reading(changes: Partial<Tool<any>> = {}): Tool<any> {
  return { name: "read", description: "Reads.", parameters: z.json(), execute: async (args) => args as never, ...changes };
}

/** What each step of each run does, as `run#step`; a gate of that name in `gates` holds it before. */
export function plot(acts: Readonly<Record<string, unknown>>, gates: Readonly<Record<string, Gate>> = {}) {
  return async (input: StepInput) => {
    const name = `${input.runId}#${input.step}`;
    await gates[name]?.pass();
    const act = acts[name] ?? ends();
    return (typeof act === "function" ? act(input) : act) as never;
  };
}

/** Resolves when the run waits for a person. */
export async function waits(run: Run): Promise<void> {
  for await (const event of run.events()) if (event.type === "run.waiting") return;
}

/** Moves a run to its seal: now where it waits, else when its step, held by the gate, has ended. */
export async function seal(run: Run, successorRunId = "run-2", at?: Gate): Promise<void> {
  await at?.reached;
  const handoff = await run.requestHandoff({ successorRunId });
  at?.open();
  await handoff.ready;
  await handoff.commit();
  await handoff.sealed;
}

/** What the check found against going on; `continue` where it found nothing. */
export async function found(world: World, runId = "run-1", options: CheckOptions = {}): Promise<readonly ParkReason[] | "continue"> {
  const check = await world.holdfast.checkContinuation(runId, options);
  return check.decision === "continue" ? "continue" : check.reasons;
}

/** The codes of the same. */
export async function codes(world: World, runId = "run-1", options: CheckOptions = {}): Promise<readonly string[] | "continue"> {
  const reasons = await found(world, runId, options);
  return reasons === "continue" ? reasons : reasons.map(({ code }) => code);
}

/** A continuation that was found safe. */
export async function checked(world: World, runId = "run-1", options: CheckOptions = {}): Promise<Continuation> {
  const check = await world.holdfast.checkContinuation(runId, options);
  if (check.decision === "park") throw new Error(JSON.stringify(check.reasons));
  return check.continuation;
}

/** A continuation as a check would give it that finds nothing against it. */
export function forged(world: World, purpose: "handoff" | "plain", tools: string[], runId = "run-1"): Continuation {
  const row = world.reader.actor(`run/${runId}`);
  const { sessionId, turnId } = world.context(`run/${runId}`);
  const source = { runId, seq: row?.seq ?? 0, hash: row?.hash ?? "" };
  const boundary = boundaryDigest(segmentsOf(world.reader, runId));
  return { purpose, source, sessionId, turnId, runId: "run-2", handoffId: null, boundary, tools, outcomes: {} };
}

/** Checks and continues a run to the end of the next. */
export async function goOn(world: World, runId = "run-1", options: CheckOptions = {}): Promise<RunEvent[]> {
  return collect(world.holdfast.resume(await checked(world, runId, options)));
}

/** Continues a run and comes back while the next one is at work; its events go on being taken. */
export async function begun(world: World, runId: string, options: CheckOptions, until: RunEvent["type"]): Promise<Run> {
  const continuation = await checked(world, runId, options);
  const events = world.holdfast.resume(continuation);
  for (let next = await events.next(); !next.done; next = await events.next()) if (next.value.type === until) break;
  void collect(events).catch(() => {});
  return world.holdfast.run(continuation.runId);
}

/** A run that called `read` and failed. */
export async function failed(world: World): Promise<Run> {
  const run = await world.begin();
  await run.end();
  return run;
}
