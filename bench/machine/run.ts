/** A run of `machines/run.ts` in the middle of a step, where it takes tool calls and their results again and again. */

import type { AnyMachineSnapshot, EventFrom, InputFrom } from "xstate";
import { DRIFT_POLICY, run } from "../../machines/index.ts";
import { type Registration, register } from "../../src/actor/registration.ts";
import { type EngineEvent, start, take } from "../../src/actor/transition.ts";

type Prepared = Extract<EventFrom<typeof run>, { type: "prepare.done" }>;

const digest = "a".repeat(64);
const hash = `sha256:${digest}`;

// Typed by the machine: what it does not take any more does not compile.
const input = {
  sessionId: "session-1",
  turnId: "turn-1",
  runId: "run-1",
  rootRunId: "run-1",
  previousRunId: null,
  configuration: { backend: "assistant", cwd: "/project", permissionMode: "ask" },
  origin: { kind: "user" },
  source: { kind: "fresh" },
  text: "Do the long job",
  stepsLeft: 5,
  expected: null,
  interaction: null,
  stopBeforeDispatch: null,
  depth: 1,
  reconciled: [],
  copied: null,
} as const satisfies InputFrom<typeof run>;

const composition: Prepared["output"]["composition"] = {
  composerId: "composer",
  composerRevision: "1",
  promptHash: hash,
  toolsHash: hash,
  availabilityHash: hash,
  providerOptionsHash: hash,
  contextWindow: null,
  body: digest,
};

/** Taken again and again: each pair leaves the run where it was. */
export const CYCLE: readonly EngineEvent[] = [
  { type: "tool.call", callId: "call-1", name: "read", args: { path: "README.md" }, reconcile: null },
  { type: "tool.settle", callId: "call-1", outcome: { ok: true, result: "text" } },
];

/** The registered machine, and a run of it whose step is in flight. */
export function steppingRun(): { readonly registration: Registration; readonly snapshot: AnyMachineSnapshot } {
  const registration = register(run);
  const opened = start(registration, input, { at: 0, seq: 1, id: "run/run-1:1" }, enclose).snapshot;
  const output: Prepared["output"] = { composition, driftPolicy: DRIFT_POLICY, workspace: "/project" };
  const prepared = { type: "prepare.done", output, effect: "run/run-1:1:0" };
  return { registration, snapshot: take(registration, opened, prepared, { at: 0, seq: 2, id: "run/run-1:2" }, enclose).snapshot };
}

export function enclose<T>(transition: () => T): T {
  return transition();
}
