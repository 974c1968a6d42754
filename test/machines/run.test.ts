import { describe, expect, it } from "vitest";
import { createActor } from "xstate";
import { run } from "../../machines/index.ts";
import { sealOf, stepsLeft } from "../../machines/run-schema.ts";
import { LINEAGE_LIMIT, OPEN_CALLS } from "../../machines/schema.ts";
import type { Json } from "../../src/actor/json.ts";
import { checkAgainst } from "../../src/actor/schema.ts";
import { stateName } from "../../src/actor/transition.ts";
import { composition, copyOf, digest, driftPolicy, freshRun as fresh, hash, head, ids, question } from "./sample.ts";
import { CREATION, type Event, inlineFunctions, type Row, restingStates, type Situation, Table } from "./table.ts";

const effect = "run/run-1:1:0";

const successor = {
  ...fresh,
  runId: "run-9",
  previousRunId: "run-1",
  source: { kind: "handoff", handoffId: "handoff-0", claimId: "claim-0", runId: "run-1", head, boundary: digest, denied: false },
  text: null,
  expected: composition,
} as const;

const preparing = (declared: typeof composition | null, changes = {}): Event => ({
  type: "prepare.done",
  output: { composition: declared, driftPolicy: { ...driftPolicy, ...changes }, workspace: "/project" },
  effect,
});
const prepared = preparing(composition);
const preparedIn = (workspace: string | null): Event => ({
  type: "prepare.done",
  output: { composition, driftPolicy, workspace },
  effect,
});
const preparedNothing = preparing(null);
const drifted = preparing({ ...composition, promptHash: hash("1") });
const allowed = preparing({ ...composition, promptHash: hash("1") }, { prompt: "allow" });
const revised = preparing({ ...composition, composerRevision: "2" });
const strictlyRevised = preparing({ ...composition, composerRevision: "2" }, { composer_revision: "refuse" });
const unprepared: Event = { type: "prepare.failed", error: { code: "backend_unknown", message: "none" }, effect };
const report = (next: string, changes = {}): Event => ({
  type: "step.done",
  output: { text: "so", remainingSteps: 2, next, stopReason: null, interaction: null, ...changes },
  effect,
});
const goOn = report("continue");
const silent = report("continue", { text: null });
const exhausted = report("continue", { remainingSteps: 0 });
const end = report("end", { stopReason: "end_turn" });
const ask = report("wait", { interaction: question });
const stepFailed: Event = { type: "step.failed", error: { code: "effect_failed", message: "no model" }, effect };
const aborted: Event = { type: "step.aborted", effect };
const unknown: Event = { type: "effect.unknown", effect, name: "step" };
const call = (callId = "call-1"): Event => ({ type: "tool.call", callId, name: "read", args: {}, reconcile: null });
const settle = (callId = "call-1"): Event => ({ type: "tool.settle", callId, outcome: { ok: true, result: 1 } });
const flushed: Event = { type: "flush.done", output: null, effect };
const unflushed: Event = { type: "flush.failed", error: { code: "effect_timeout", message: "late" }, effect };
const broken: Event = { type: "backend.failed", error: { code: "effect_failed", message: "lost the line" } };
const answer = (interactionId: string = question.id): Event => ({
  type: "interaction.answered",
  interactionId,
  answer: { kind: "text", text: "yes" },
});
const decision: Event = {
  type: "interaction.answered",
  interactionId: question.id,
  answer: { kind: "decision", allow: false, note: "no" },
};
const request = (changes = {}): Event => ({ type: "handoff.request", ...ids, ...changes });
const commit = (handoffId = "handoff-1"): Event => ({ type: "handoff.commit", handoffId });
const cancel = (handoffId = "handoff-1"): Event => ({ type: "handoff.cancel", handoffId });
const stop: Event = { type: "run.stop", by: "user" };
const shutdown: Event = { type: "run.stop", by: "shutdown" };
const reopened: Event = { type: "engine.reopened", epoch: 2 };

const second = { handoffId: "handoff-2", successorRunId: "run-3", claimId: "claim-2" };

const from = (input: Situation["input"], ...events: Event[]): Situation => ({ input, events });

const SITUATIONS = {
  preparing: from(fresh),
  "preparing, requested": from(fresh, request()),
  "preparing a successor": from(successor),
  "preparing a successor that asks": from({ ...successor, interaction: question }),
  "preparing the last run of a lineage": from({ ...successor, depth: LINEAGE_LIMIT }),
  "preparing again, requested": from(fresh, prepared, ask, reopened, answer(), request()),
  "preparing again": from(fresh, prepared, ask, reopened, answer()),
  "preparing again, its workspace unknown": from(fresh, preparedIn(null), ask, reopened, answer()),
  stepping: from(fresh, prepared),
  "stepping without composition": from(fresh, preparedNothing),
  "stepping, requested": from(fresh, prepared, request()),
  "stepping without composition, requested": from(fresh, preparedNothing, request()),
  "stepping with its last step": from({ ...fresh, stepsLeft: 1 }, prepared, request()),
  "stepping with a call": from(fresh, prepared, call()),
  "stepping with all calls": from(fresh, prepared, ...Array.from({ length: OPEN_CALLS }, (_, index) => call(`call-${index}`))),
  "a successor's first step": from(successor, prepared),
  stopping: from(fresh, prepared, stop),
  "stopping for a shutdown": from(fresh, prepared, shutdown),
  "stopping with a call": from(fresh, prepared, call(), stop),
  "stopping, requested": from(fresh, prepared, request(), stop),
  waiting: from(fresh, prepared, ask),
  "waiting since before a restart": from(fresh, prepared, ask, reopened),
  boundary: from(fresh, prepared, request(), goOn),
  "boundary without composition": from(fresh, preparedNothing, request(), goOn),
  "boundary from waiting": from(fresh, prepared, ask, request()),
  paused: from(fresh, prepared, request(), goOn, commit()),
  "paused from waiting": from(fresh, prepared, ask, request(), commit()),
  "paused before its dispatch": from({ ...successor, interaction: question }, prepared, request(second), commit(second.handoffId)),
  "stopped before its dispatch": from({ ...successor, stopBeforeDispatch: "user" }),
  "stopped by a shutdown before its dispatch": from({ ...successor, stopBeforeDispatch: "shutdown" }),
  "a copy": from(copyOf({ kind: "completed", stopReason: "end_turn" })),
} as const;

const toSession = "session/session-1 ! turn.ended";
const toHandoff = "handoff/handoff-1 ! run.ended";
const over = { facts: ["run.ended"], requests: [toSession] };
const overInHandoff = { facts: ["run.ended"], requests: [toHandoff, toSession] };
const overBeforeDispatch = { facts: ["run.ended"], requests: ["handoff/handoff-0 ! successor.ended", toSession] };
const asks = "create interaction/run-1.question-1 []";
const listens = "interaction/run-1.question-1 ! interaction.listen";
const holds = "interaction/run-1.question-1 ! interaction.hold";
const closes = "interaction/run-1.question-1 ! interaction.close";
const waits = "session/session-1 ! turn.waiting";
const created = "create handoff/handoff-1 [run/run-2, claim/claim-1]";
const requested = { facts: ["handoff.requested"], requests: [created] };
const withdrawn = "handoff/handoff-1 ! handoff.cancelled";
const sealed = {
  facts: ["run.sealed"],
  requests: ["handoff/handoff-1 ! handoff.sealed", "session/session-1 ! turn.sealed"],
};
const stopped = { outcome: { kind: "cancelled", by: "user" } };
const shutDown = { outcome: { kind: "cancelled", by: "shutdown" } };
const failure = (code: string) => ({ outcome: { kind: "failed", error: { code, message: expect.any(String) }, drift: [] } });
const step = (number: number, maxSteps: number) => `step ${JSON.stringify({ step: number, maxSteps })}`;

const ROWS: readonly (Row & { readonly given: keyof typeof SITUATIONS })[] = [
  // Creation.
  { given: "preparing", when: CREATION, to: "preparing", facts: ["run.opened", "message.added"], requests: ["prepare"] },
  { given: "preparing a successor", when: CREATION, to: "preparing", facts: ["run.opened"], requests: ["prepare"] },
  {
    given: "stopped before its dispatch",
    when: CREATION,
    to: "cancelled",
    facts: ["run.opened", "run.ended"],
    requests: ["handoff/handoff-0 ! successor.ended", toSession],
    context: stopped,
  },
  {
    given: "stopped by a shutdown before its dispatch",
    when: CREATION,
    to: "cancelled",
    facts: ["run.opened", "run.ended"],
    requests: ["handoff/handoff-0 ! successor.ended", toSession],
    context: shutDown,
  },
  { given: "a copy", when: CREATION, to: "copied", facts: ["run.opened", "turn.copied", "run.ended"] },
  // Preparing.
  {
    given: "preparing",
    when: prepared,
    to: "running.stepping",
    facts: ["composition.recorded", "run.dispatched"],
    requests: [step(1, 5)],
    context: { composition, stepsTaken: 1, workspace: "/project" },
  },
  {
    given: "preparing",
    when: preparedNothing,
    to: "running.stepping",
    facts: ["run.dispatched"],
    requests: [step(1, 5)],
    context: { composition: null },
  },
  { given: "preparing", when: unprepared, to: "failed", ...over, context: failure("backend_unknown") },
  { given: "preparing", when: request(), to: "preparing", ...requested, context: { handoff: ids } },
  { given: "preparing", when: request({ successorRunId: "run-1" }), to: "ignored: successor_not_new" },
  { given: "preparing", when: cancel(), to: "ignored: handoff_not_pending" },
  { given: "preparing", when: stop, to: "cancelled", ...over, context: stopped },
  { given: "preparing", when: shutdown, to: "cancelled", ...over, context: shutDown },
  { given: "preparing", when: reopened, to: "failed", ...over, context: failure("interrupted_before_dispatch") },
  { given: "preparing, requested", when: request({ handoffId: "other" }), to: "ignored: handoff_in_progress" },
  {
    given: "preparing, requested",
    when: cancel(),
    to: "preparing",
    facts: ["handoff.cancelled"],
    requests: [withdrawn],
    context: { handoff: null },
  },
  { given: "preparing, requested", when: cancel("other"), to: "ignored: handoff_not_pending" },
  { given: "preparing, requested", when: stop, to: "cancelled", ...overInHandoff },
  {
    given: "preparing a successor",
    when: prepared,
    to: "running.stepping",
    facts: ["composition.recorded", "run.dispatched"],
    requests: ["handoff/handoff-0 ! successor.dispatched", step(1, 5)],
  },
  {
    given: "preparing a successor",
    when: revised,
    to: "running.stepping",
    facts: ["composition.recorded", "composition.drifted", "run.dispatched"],
    requests: ["handoff/handoff-0 ! successor.dispatched", step(1, 5)],
  },
  {
    given: "preparing a successor",
    when: allowed,
    to: "running.stepping",
    facts: ["composition.recorded", "composition.drifted", "run.dispatched"],
    requests: ["handoff/handoff-0 ! successor.dispatched", step(1, 5)],
  },
  { given: "preparing a successor", when: strictlyRevised, to: "failed", ...overBeforeDispatch },
  { given: "preparing the last run of a lineage", when: request(), to: "ignored: lineage_limit" },
  {
    given: "preparing a successor",
    when: preparedNothing,
    to: "failed",
    ...overBeforeDispatch,
    context: failure("composition_not_durable"),
  },
  {
    given: "preparing a successor",
    when: drifted,
    to: "failed",
    ...overBeforeDispatch,
    context: {
      composition: null,
      outcome: {
        kind: "failed",
        error: { code: "composition_drift", message: expect.any(String) },
        drift: [{ field: "prompt", source: hash("0"), own: hash("1"), policy: "refuse" }],
      },
    },
  },
  { given: "preparing a successor", when: unprepared, to: "failed", ...overBeforeDispatch },
  { given: "preparing a successor", when: stop, to: "cancelled", ...overBeforeDispatch },
  { given: "preparing a successor", when: reopened, to: "failed", ...overBeforeDispatch },
  { given: "preparing a successor", when: request({ successorRunId: "run-1" }), to: "ignored: successor_not_new" },
  {
    given: "preparing a successor that asks",
    when: prepared,
    to: "waiting",
    facts: ["composition.recorded", "run.waiting"],
    requests: [waits, listens],
    context: { stepsTaken: 0 },
  },
  {
    // Nobody will wait for the answer any more.
    given: "preparing a successor that asks",
    when: unprepared,
    to: "failed",
    facts: ["run.ended"],
    requests: [closes, "handoff/handoff-0 ! successor.ended", toSession],
  },
  {
    given: "preparing again",
    when: prepared,
    to: "running.stepping",
    facts: ["composition.recorded"],
    requests: [step(2, 2)],
    context: { stale: false },
  },
  // What a continuation is held against is the place where the run began.
  {
    given: "preparing again",
    when: preparedIn("/elsewhere"),
    to: "running.stepping",
    facts: ["composition.recorded"],
    requests: [step(2, 2)],
    context: { workspace: "/project" },
  },
  {
    given: "preparing again",
    when: preparedIn(null),
    to: "running.stepping",
    facts: ["composition.recorded"],
    requests: [step(2, 2)],
    context: { workspace: "/project" },
  },
  {
    given: "preparing again, its workspace unknown",
    when: preparedIn("/project"),
    to: "running.stepping",
    facts: ["composition.recorded"],
    requests: [step(2, 2)],
    context: { workspace: "/project" },
  },
  { given: "preparing again", when: drifted, to: "failed", ...over },
  { given: "preparing again", when: preparedNothing, to: "failed", ...over, context: failure("composition_not_durable") },
  { given: "preparing again", when: reopened, to: "ignored" },
  {
    given: "preparing again, requested",
    when: reopened,
    to: "preparing",
    facts: ["handoff.cancelled"],
    requests: [withdrawn],
    context: { handoff: null },
  },

  // A step in flight.
  {
    given: "stepping",
    when: goOn,
    to: "running.stepping",
    facts: ["message.added"],
    requests: [step(2, 2)],
    context: { stepsLeft: 2, stepsTaken: 2 },
  },
  { given: "stepping", when: silent, to: "running.stepping", requests: [step(2, 2)] },
  {
    given: "stepping",
    when: end,
    to: "completed",
    facts: ["message.added", "run.ended"],
    requests: [toSession],
    context: { outcome: { kind: "completed", stopReason: "end_turn" } },
  },
  {
    given: "stepping",
    when: exhausted,
    to: "completed",
    facts: ["message.added", "run.ended"],
    requests: [toSession],
    context: { outcome: { kind: "completed", stopReason: "step_limit" } },
  },
  {
    given: "stepping",
    when: ask,
    to: "waiting",
    facts: ["message.added", "run.waiting"],
    requests: [asks, waits, listens],
    context: { interaction: question },
  },
  { given: "stepping", when: stepFailed, to: "failed", ...over, context: failure("effect_failed") },
  { given: "stepping", when: unknown, to: "failed", ...over, context: failure("step_unknown") },
  { given: "stepping", when: reopened, to: "failed", ...over, context: failure("interrupted") },
  {
    given: "stepping",
    when: call(),
    to: "running.stepping",
    facts: ["tool.called"],
    context: { openCalls: [{ callId: "call-1", name: "read" }] },
  },
  { given: "stepping", when: settle(), to: "ignored: call_unknown" },
  {
    given: "stepping",
    when: stop,
    to: "running.stopping",
    requests: ["abort step"],
    context: stopped,
  },
  { given: "stepping", when: shutdown, to: "running.stopping", requests: ["abort step"], context: shutDown },
  { given: "stepping", when: request(), to: "running.stepping", ...requested },
  { given: "stepping", when: request({ successorRunId: "run-1" }), to: "ignored: successor_not_new" },
  { given: "stepping", when: commit(), to: "ignored: not_held" },
  { given: "stepping", when: cancel(), to: "ignored: handoff_not_pending" },
  {
    given: "stepping, requested",
    when: cancel(),
    to: "running.stepping",
    facts: ["handoff.cancelled"],
    requests: [withdrawn],
    context: { handoff: null },
  },
  { given: "stepping, requested", when: request(), to: "ignored: handoff_in_progress" },
  {
    given: "stepping, requested",
    when: goOn,
    to: "boundary",
    facts: ["message.added", "handoff.held"],
    requests: ["handoff/handoff-1 ! handoff.held"],
    context: {
      heldFrom: "running",
      preview: { protocol: "holdfast.seal.v1", ...ids, rootRunId: "run-1", remainingSteps: 2, interaction: null },
    },
  },
  {
    given: "stepping, requested",
    when: ask,
    to: "boundary",
    facts: ["message.added", "run.waiting", "handoff.held"],
    requests: [asks, waits, "handoff/handoff-1 ! handoff.held"],
    context: { heldFrom: "waiting" },
  },
  { given: "stepping, requested", when: end, to: "completed", facts: ["message.added", "run.ended"], requests: [toHandoff, toSession] },
  { given: "stepping, requested", when: stepFailed, to: "failed", ...overInHandoff },
  { given: "stepping, requested", when: reopened, to: "failed", ...overInHandoff },
  {
    given: "stepping with its last step",
    when: goOn,
    to: "completed",
    facts: ["message.added", "run.ended"],
    requests: [toHandoff, toSession],
    context: { stepsLeft: 0 },
  },
  {
    given: "stepping with its last step",
    when: ask,
    to: "completed",
    facts: ["message.added", "run.ended"],
    requests: [toHandoff, toSession],
  },
  { given: "stepping with a call", when: settle(), to: "running.stepping", facts: ["tool.settled"], context: { openCalls: [] } },
  { given: "stepping with a call", when: settle("other"), to: "ignored: call_unknown" },
  { given: "stepping with a call", when: call(), to: "ignored: call_repeated" },
  { given: "stepping with a call", when: call("other"), to: "running.stepping", facts: ["tool.called"] },
  {
    given: "stepping with a call",
    when: goOn,
    to: "failed",
    facts: ["message.added", "tool.unknown", "run.ended"],
    requests: [toSession],
    context: failure("tool_unsettled"),
  },
  {
    given: "stepping with a call",
    when: end,
    to: "failed",
    facts: ["message.added", "tool.unknown", "run.ended"],
    requests: [toSession],
  },
  { given: "stepping with a call", when: stepFailed, to: "failed", facts: ["tool.unknown", "run.ended"], requests: [toSession] },
  { given: "stepping with a call", when: reopened, to: "failed", facts: ["tool.unknown", "run.ended"], requests: [toSession] },
  { given: "stepping with all calls", when: call("one more"), to: "ignored: too_many_calls" },
  { given: "stepping with all calls", when: call("call-0"), to: "ignored: too_many_calls" },
  // After its dispatch a successor's end is no more its handoff's concern.
  { given: "a successor's first step", when: end, to: "completed", facts: ["message.added", "run.ended"], requests: [toSession] },
  { given: "a successor's first step", when: reopened, to: "failed", ...over },

  // Stopping.
  { given: "stopping", when: goOn, to: "cancelled", facts: ["message.added", "run.ended"], requests: [toSession] },
  { given: "stopping", when: ask, to: "cancelled", facts: ["message.added", "run.ended"], requests: [toSession] },
  { given: "stopping", when: stepFailed, to: "cancelled", ...over, context: stopped },
  { given: "stopping", when: aborted, to: "cancelled", ...over },
  { given: "stopping for a shutdown", when: aborted, to: "cancelled", ...over, context: shutDown },
  { given: "stopping for a shutdown", when: reopened, to: "cancelled", ...over, context: shutDown },
  { given: "stopping", when: unknown, to: "cancelled", ...over },
  { given: "stopping", when: reopened, to: "cancelled", ...over },
  { given: "stopping", when: call(), to: "ignored: run_stopping" },
  { given: "stopping with a call", when: settle(), to: "running.stopping", facts: ["tool.settled"], context: { openCalls: [] } },
  { given: "stopping with a call", when: settle("other"), to: "ignored: call_unknown" },
  { given: "stopping with a call", when: aborted, to: "cancelled", facts: ["tool.unknown", "run.ended"], requests: [toSession] },
  { given: "stopping, requested", when: aborted, to: "cancelled", ...overInHandoff },
  { given: "stopping, requested", when: cancel(), to: "running.stopping", facts: ["handoff.cancelled"], requests: [withdrawn] },

  // Waiting for a person.
  {
    given: "waiting",
    when: answer(),
    to: "running.stepping",
    facts: ["message.added"],
    requests: ["session/session-1 ! turn.running", step(2, 2)],
    context: { interaction: null },
  },
  { given: "waiting", when: answer("other"), to: "ignored: interaction_not_open" },
  { given: "waiting", when: reopened, to: "waiting", requests: [listens], context: { stale: true } },
  {
    given: "waiting",
    when: decision,
    to: "running.stepping",
    facts: ["permission.decided"],
    requests: ["session/session-1 ! turn.running", step(2, 2)],
  },
  { given: "waiting", when: stop, to: "cancelled", facts: ["run.ended"], requests: [closes, toSession], context: stopped },
  { given: "waiting", when: shutdown, to: "cancelled", facts: ["run.ended"], requests: [closes, toSession], context: shutDown },
  {
    given: "waiting",
    when: request(),
    to: "boundary",
    facts: ["handoff.requested", "handoff.held"],
    requests: [created, holds, "handoff/handoff-1 ! handoff.held"],
    context: {
      heldFrom: "waiting",
      preview: { protocol: "holdfast.seal.v1", ...ids, rootRunId: "run-1", remainingSteps: 2, interaction: question },
    },
  },
  { given: "waiting", when: request({ successorRunId: "run-1" }), to: "ignored: successor_not_new" },
  {
    given: "waiting since before a restart",
    when: answer(),
    to: "preparing",
    facts: ["message.added"],
    requests: ["session/session-1 ! turn.running", "prepare"],
  },
  { given: "waiting since before a restart", when: answer("other"), to: "ignored: interaction_not_open" },

  // Held.
  {
    given: "boundary",
    when: commit(),
    to: "paused",
    facts: ["handoff.committed"],
    requests: ["handoff/handoff-1 ! handoff.committed", "flush"],
  },
  { given: "boundary", when: commit("other"), to: "ignored: not_held" },
  {
    given: "boundary",
    when: cancel(),
    to: "running.stepping",
    facts: ["handoff.cancelled"],
    requests: [withdrawn, step(2, 2)],
    context: { handoff: null, preview: null, heldFrom: null },
  },
  { given: "boundary", when: cancel("other"), to: "ignored: handoff_not_pending" },
  { given: "boundary", when: stop, to: "cancelled", ...overInHandoff, context: stopped },
  { given: "boundary", when: shutdown, to: "cancelled", ...overInHandoff, context: shutDown },
  { given: "boundary", when: reopened, to: "failed", ...overInHandoff, context: failure("interrupted_at_boundary") },
  { given: "boundary", when: request(), to: "ignored: handoff_in_progress" },
  { given: "boundary without composition", when: commit(), to: "ignored: composition_not_durable" },
  { given: "boundary without composition", when: commit("other"), to: "ignored: not_held" },
  {
    given: "boundary without composition",
    when: cancel(),
    to: "running.stepping",
    facts: ["handoff.cancelled"],
    requests: [withdrawn, step(2, 2)],
  },
  {
    given: "boundary from waiting",
    when: commit(),
    to: "paused",
    facts: ["handoff.committed"],
    requests: ["handoff/handoff-1 ! handoff.committed", "flush"],
  },
  {
    given: "boundary from waiting",
    when: cancel(),
    to: "waiting",
    facts: ["handoff.cancelled"],
    requests: [withdrawn, listens],
    context: { interaction: question, handoff: null, preview: null, heldFrom: null },
  },
  { given: "boundary from waiting", when: cancel("other"), to: "ignored: handoff_not_pending" },
  { given: "boundary from waiting", when: answer(), to: "ignored: interaction_not_open" },
  {
    given: "boundary from waiting",
    when: reopened,
    to: "waiting",
    facts: ["handoff.cancelled"],
    requests: [withdrawn, listens],
    context: { stale: true, handoff: null },
  },
  { given: "boundary from waiting", when: stop, to: "cancelled", facts: ["run.ended"], requests: [closes, toHandoff, toSession] },

  // Decided.
  { given: "paused", when: flushed, to: "sealed", ...sealed, context: { outcome: null } },
  { given: "paused", when: unflushed, to: "sealed", ...sealed },
  { given: "paused", when: broken, to: "failed", ...overInHandoff, context: failure("effect_failed") },
  { given: "stepping", when: broken, to: "ignored: run_not_active" },
  { given: "paused", when: stop, to: "cancelled", ...overInHandoff, context: stopped },
  { given: "paused", when: shutdown, to: "cancelled", ...overInHandoff, context: shutDown },
  { given: "paused", when: cancel(), to: "ignored: handoff_not_pending" },
  { given: "paused", when: commit(), to: "ignored: not_held" },
  { given: "paused", when: reopened, to: "ignored" },
  { given: "paused from waiting", when: flushed, to: "sealed", ...sealed },
  {
    given: "paused before its dispatch",
    when: flushed,
    to: "sealed",
    facts: ["run.sealed"],
    requests: [`handoff/${second.handoffId} ! handoff.sealed`, "handoff/handoff-0 ! successor.sealed", "session/session-1 ! turn.sealed"],
  },
];

const table = new Table(run, SITUATIONS);

describe("the run", () => {
  it.each(ROWS.map((row) => ({ ...row, event: row.when.type })))("$given, on $event: $to", (row) => {
    expect(table.found(row)).toEqual({ to: row.to, facts: row.facts ?? [], requests: row.requests ?? [], context: row.context ?? {} });
  });

  it("takes every one of its transitions in a row of this table", () => {
    expect(table.untaken(ROWS)).toEqual([]);
  });

  it("has each guard say yes and no in a row of this table", () => {
    expect(table.halfTested(ROWS)).toEqual([]);
  });
});

describe("creating a run", () => {
  const open = (input: Situation["input"]) => {
    const made = new Table(run, { made: from(input) }).create("made");
    return { state: stateName(made.snapshot.value), facts: made.facts.map((fact) => fact.type), requests: made.requests.length };
  };

  it("states of its end who stopped the turn", () => {
    expect(table.create("stopped before its dispatch").facts.at(-1)).toEqual({ type: "run.ended", kind: "cancelled", by: "user" });
    expect(table.create("stopped by a shutdown before its dispatch").facts.at(-1)).toMatchObject({ kind: "cancelled", by: "shutdown" });
  });

  it.each([
    ["completed", { kind: "completed", stopReason: "end_turn" }],
    ["failed", { kind: "failed", error: { code: "interrupted", message: "gone" }, drift: [] }],
    ["cancelled", { kind: "cancelled", by: "user" }],
  ])("ends at once where it is a copy of a turn that ended as %s, and tells nobody", (_, outcome) => {
    expect(open(copyOf(outcome as Json))).toEqual({
      state: "copied",
      facts: ["run.opened", "turn.copied", "run.ended"],
      requests: 0,
    });
  });

  it("states what became known of calls without an outcome", () => {
    const call = { runId: "run-0", callId: "1.1", name: "read", by: "person", outcome: { ok: true, result: 1 } };
    expect(open({ ...fresh, reconciled: [call] } as never).facts).toEqual(["run.opened", "tool.reconciled", "message.added"]);
  });

  it("keeps the text out of the context: it is in the journal once", () => {
    expect(JSON.stringify(table.at("stepping").context)).not.toContain(fresh.text);
  });
});

describe("what a run states", () => {
  const decided = { type: "permission.decided", interactionId: question.id, question: question.question, allow: false };

  it.each([
    ["of a decision: what was asked, and what was decided", "waiting", decision, decided],
    ["of a decision after a restart: the same", "waiting since before a restart", decision, decided],
    ["of a stop by a shutdown: that it was one", "waiting", shutdown, { type: "run.ended", ...shutDown.outcome }],
  ] as const)("%s", (_, given, event, fact) => {
    expect(table.take(given, event).facts).toEqual([fact]);
  });

  it("of its end it tells its session and its handoff as well, with who stopped it", () => {
    const told = table.take("boundary", shutdown).requests.flatMap((request) => (request.type === "deliver" ? [request.event] : []));
    expect(told).toEqual([
      { type: "run.ended", ...shutDown },
      { type: "turn.ended", runId: "run-1", ...shutDown },
    ]);
  });
});

/** Events that only an effect, another actor or the engine makes, and the states in which they can come. */
const ARRIVES: Readonly<Record<string, readonly string[]>> = {
  "prepare.done": ["preparing"],
  "prepare.failed": ["preparing"],
  "step.done": ["running.stepping", "running.stopping"],
  "step.failed": ["running.stepping", "running.stopping"],
  "step.aborted": ["running.stopping"],
  "effect.unknown": ["running.stepping", "running.stopping"],
  "flush.done": ["paused"],
  "flush.failed": ["paused"],
  // A run that prepares again and one that is decided go on as they are.
  "engine.reopened": ["preparing", "running.stepping", "running.stopping", "waiting", "boundary"],
  // The session stops a turn once: nobody asks a run that stops already.
  "run.stop": ["preparing", "running.stepping", "waiting", "boundary", "paused"],
};

describe("every state and event of the run", () => {
  const samples = [
    prepared,
    unprepared,
    goOn,
    stepFailed,
    aborted,
    unknown,
    call("x"),
    settle("x"),
    flushed,
    unflushed,
    broken,
    answer("x"),
    request(),
    commit(),
    cancel(),
    stop,
    reopened,
  ];

  it("is listed", () => {
    expect(samples.map((event) => event.type).sort()).toEqual(Object.keys(table.registration.schemas.events).sort());
    expect([...table.resting.keys()].sort()).toEqual(restingStates(run));
  });

  it.each(samples)("$type is taken, refused with a code, or cannot come", (event) => {
    for (const [state, situations] of table.resting) {
      const answers = situations.map((given) => table.found({ given, when: event, to: "" }).to);
      const arrives = ARRIVES[event.type];
      if (!arrives) expect(answers, state).not.toContain("ignored");
      else if (arrives.includes(state))
        expect(
          answers.some((answer) => !answer.startsWith("ignored")),
          state,
        ).toBe(true);
      else expect(new Set(answers), state).toEqual(new Set(["ignored"]));
    }
  });
});

describe("the run as a plain machine", () => {
  it("runs in an actor of XState, from its opening to its seal", () => {
    const actor = createActor(run, { input: fresh as never }).start();
    for (const event of [prepared, request(), goOn, commit(), flushed]) actor.send(event as never);
    expect(actor.getSnapshot()).toMatchObject({ value: "sealed", status: "done" });
  });

  it("has no unnamed action or guard", () => {
    expect(inlineFunctions(run)).toEqual([]);
  });
});

describe("a run of version 1", () => {
  const { workspace: _, depth: __, stopBeforeDispatch: ___, ...kept } = table.at("waiting").context;
  const before = { ...kept, stopBeforeDispatch: false, source: { kind: "fresh" } };
  const migrated = (changes: object) =>
    table.registration.schemas.migrations?.["1"]?.migrate({
      ...{ value: "waiting", context: { ...before, ...changes } as never, historyValue: {}, timers: [], effects: [] },
    }).context as Record<string, any>;

  it.each([
    ["with nothing asked", null],
    ["that waits for a person", { id: "question-1", question: "May I?" }],
  ])("%s goes on with a context of version 2", (_, interaction) => {
    const context = migrated({ interaction });
    expect(checkAgainst(table.registration.schemas.context, context).ok).toBe(true);
    expect(context.interaction?.id).toBe(interaction ? "run-1.question-1" : undefined);
  });

  it("that was held while it waited keeps its preview in the form of version 2", () => {
    const preview = { ...sealOf(table.at("boundary from waiting").context), interaction: { id: "question-1", question: "May I?" } };
    expect(checkAgainst(table.registration.schemas.context, migrated({ preview })).ok).toBe(true);
  });
});

describe("steps left", () => {
  it.each([
    [null, null, null],
    [null, 3, 3],
    [5, null, 4],
    [5, 9, 4],
    [5, 2, 2],
    [1, 9, 0],
    [5, 0, 0],
  ])("of %j with %j reported are %j", (before, reported, left) => {
    expect(stepsLeft(before, reported)).toBe(left);
  });

  it("go into the seal as they are", () => {
    expect(sealOf(table.at("boundary").context)).toMatchObject({ remainingSteps: 2 });
    expect(sealOf(table.at("stepping").context)).toBeNull();
  });
});
