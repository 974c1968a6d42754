import { describe, expect, it } from "vitest";
import { createActor } from "xstate";
import { session } from "../../machines/index.ts";
import { checkAgainst } from "../../src/actor/schema.ts";
import { cancelled, completed, configuration, digest, evidence, failed, head, origin, question } from "./sample.ts";
import { type Event, inlineFunctions, type Row, restingStates, type Situation, Table } from "./table.ts";

const input = { sessionId: "session-1", name: null, configuration, copied: null };

const send: Event = { type: "session.send", turnId: "turn-1", runId: "run-1", text: "Do it", origin, maxSteps: 3 };
const again: Event = { ...send, turnId: "turn-3", runId: "run-3" };
const goOn = (runId = "run-1", changes = {}): Event => ({
  type: "session.continue",
  turnId: "turn-2",
  runId: "run-2",
  source: { ...head, runId },
  evidence: { ...evidence, ...changes },
  origin,
  maxSteps: null,
  depth: 2,
  reconciled: [],
});
const configure: Event = { type: "session.configure", configuration: { ...configuration, permissionMode: "bypass" } };
const planned: Event = {
  type: "session.plan",
  planId: "plan-1",
  proposal: { title: "work", steps: [{ id: "step-1", title: "finish", description: "", files: [] }], risks: [] },
};
const planEnded = (planId = "plan-1"): Event => ({ type: "plan.ended", planId });
const archive: Event = { type: "session.archive" };
const stop = (turnId = "turn-1", by: "user" | "shutdown" = "user"): Event => ({ type: "turn.stop", turnId, by });
const waits: Event = { type: "turn.waiting", runId: "run-1", interaction: question };
const runs: Event = { type: "turn.running", runId: "run-1" };
const sealed: Event = { type: "turn.sealed", runId: "run-1", handoffId: "handoff-1" };
const resumed: Event = { type: "turn.resumed", runId: "run-2" };
const ended = (runId = "run-1", outcome: unknown = completed): Event => ({ type: "turn.ended", runId, outcome: outcome as never });

const setAside = (actor = "run/run-1"): Event => ({ type: "engine.quarantined", actor, code: "event_poisoned" });

const back = (actor = "run/run-1"): Event => ({ type: "engine.released", actor });

const after = (...events: Event[]): Situation => ({ input, events });

const SITUATIONS = {
  new: after(),
  "idle after a turn": after(send, ended("run-1", failed)),
  "idle after a turn that was handed off": after(send, sealed, resumed, ended("run-2")),
  "running a second turn": after(send, ended(), again),
  "running a successor of a second turn": after(send, ended(), again, { ...sealed, runId: "run-3" }, { ...resumed, runId: "run-4" }),
  "idle with a plan": after(planned),
  "idle after a turn, with a plan": after(send, ended(), planned),
  "idle after a plan": after(planned, planEnded()),
  "running with a plan": after(planned, send),
  "waiting with a plan": after(planned, send, waits),
  "paused with a plan": after(planned, send, sealed),
  "blocked with a plan": after(planned, send, setAside()),
  running: after(send),
  "running, stopping": after(send, stop()),
  waiting: after(send, waits),
  "waiting, stopping": after(send, waits, stop()),
  paused: after(send, sealed),
  "paused, stopping": after(send, sealed, stop()),
  "running a successor": after(send, sealed, resumed),
  blocked: after(send, setAside()),
  "blocked while waiting": after(send, waits, setAside()),
  "blocked while paused": after(send, sealed, setAside("handoff/handoff-1")),
} as const;

const configured = { ...configuration, permissionMode: "bypass" };
const toRun = ["run/run-1 ! run.stop"];
const turn = (changes = {}) => ({
  turn: { turnId: "turn-1", runId: "run-1", handoffId: null, stopping: false, blockedFrom: null, ...changes },
});

const ROWS: readonly (Row & { readonly given: keyof typeof SITUATIONS })[] = [
  { given: "new", when: send, to: "running", facts: ["turn.started"], requests: ["create run/run-1 [turn/turn-1]"], context: turn() },
  { given: "new", when: goOn(), to: "ignored: turn_superseded" },
  { given: "new", when: archive, to: "archived" },
  { given: "new", when: stop(), to: "ignored: run_not_active" },
  { given: "idle after a turn", when: send, to: "running", facts: ["turn.started"], requests: ["create run/run-1 [turn/turn-1]"] },
  {
    given: "idle after a turn",
    when: goOn(),
    to: "running",
    facts: ["turn.started"],
    requests: ["create run/run-2 [turn/turn-2, boundary/run-1]"],
    context: turn({ turnId: "turn-2", runId: "run-2" }),
  },
  { given: "idle after a turn", when: goOn("run-0"), to: "ignored: turn_superseded" },
  // The turn ended in its successor: what the source left is not all of it.
  { given: "idle after a turn that was handed off", when: goOn("run-1"), to: "ignored: turn_superseded" },
  {
    given: "idle after a turn that was handed off",
    when: { ...goOn("run-2"), runId: "run-3" },
    to: "running",
    facts: ["turn.started"],
    requests: ["create run/run-3 [turn/turn-2, boundary/run-2]"],
  },
  { given: "running a second turn", when: ended("run-3"), to: "idle", facts: ["turn.ended"], context: { lastRunId: "run-3", turns: 2 } },
  {
    given: "running a successor of a second turn",
    when: ended("run-4"),
    to: "idle",
    facts: ["turn.ended"],
    context: { lastRunId: "run-4", turns: 2 },
  },
  { given: "idle after a turn", when: archive, to: "archived" },
  { given: "idle after a turn", when: goOn("run-1", { backgroundSettled: false }), to: "ignored: background_pending" },
  { given: "idle after a turn", when: goOn("run-1", { unknown: ["write"] }), to: "ignored: tools_unknown" },
  {
    // The session is configured otherwise since: a new turn minds not.
    given: "idle after a turn",
    when: goOn("run-1", { configuration: { ...evidence.configuration, now: { ...configuration, cwd: "/other" } } }),
    to: "running",
    facts: ["turn.started"],
    requests: ["create run/run-2 [turn/turn-2, boundary/run-1]"],
  },
  { given: "new", when: configure, to: "idle", facts: ["session.configured"], context: { configuration: configured } },
  { given: "paused", when: configure, to: "paused", facts: ["session.configured"], context: { configuration: configured } },
  { given: "running", when: configure, to: "ignored: session_busy" },
  { given: "blocked", when: configure, to: "ignored: session_blocked" },
  { given: "new", when: planned, to: "idle", requests: ["create work-plan/plan-1 []"], context: { planId: "plan-1" } },
  { given: "idle with a plan", when: planned, to: "ignored: plan_exists" },
  { given: "idle with a plan", when: planEnded(), to: "idle", context: { planId: null } },
  { given: "idle with a plan", when: planEnded("plan-0"), to: "ignored" },
  {
    given: "idle with a plan",
    when: send,
    to: "running",
    facts: ["turn.started"],
    requests: ["work-plan/plan-1 ! turn.started", "create run/run-1 [turn/turn-1]"],
  },
  {
    given: "idle after a turn, with a plan",
    when: goOn(),
    to: "running",
    facts: ["turn.started"],
    requests: ["work-plan/plan-1 ! turn.started", "create run/run-2 [turn/turn-2, boundary/run-1]"],
  },
  { given: "idle with a plan", when: archive, to: "archived", requests: ["work-plan/plan-1 ! session.archived"] },
  { given: "running with a plan", when: ended(), to: "idle", facts: ["turn.ended"], requests: ["work-plan/plan-1 ! turn.ended"] },
  { given: "waiting with a plan", when: ended(), to: "idle", facts: ["turn.ended"], requests: ["work-plan/plan-1 ! turn.ended"] },
  { given: "paused with a plan", when: planEnded(), to: "paused", context: { planId: null } },
  { given: "blocked with a plan", when: archive, to: "archived", requests: ["work-plan/plan-1 ! session.archived"] },
  { given: "running", when: send, to: "ignored: session_busy" },
  { given: "running", when: goOn(), to: "ignored: session_busy" },
  { given: "running", when: archive, to: "ignored: session_busy" },
  { given: "running", when: stop(), to: "running", requests: toRun, context: turn({ stopping: true }) },
  { given: "running", when: stop("turn-0"), to: "ignored: run_not_active" },
  { given: "running", when: waits, to: "waiting" },
  { given: "running", when: sealed, to: "paused", context: turn({ handoffId: "handoff-1" }) },
  { given: "running", when: ended(), to: "idle", facts: ["turn.ended"], context: { turn: null, turns: 1, lastRunId: "run-1" } },
  { given: "running, stopping", when: stop(), to: "ignored: stop_in_progress" },
  { given: "running, stopping", when: ended("run-1", cancelled), to: "idle", facts: ["turn.ended"] },
  { given: "waiting", when: runs, to: "running" },
  { given: "waiting", when: stop(), to: "waiting", requests: toRun },
  { given: "waiting", when: stop("turn-0"), to: "ignored: run_not_active" },
  { given: "waiting", when: sealed, to: "paused", context: turn({ handoffId: "handoff-1" }) },
  { given: "waiting", when: ended(), to: "idle", facts: ["turn.ended"], context: { turn: null, turns: 1, lastRunId: "run-1" } },
  { given: "waiting", when: send, to: "ignored: session_busy" },
  { given: "waiting, stopping", when: stop(), to: "ignored: stop_in_progress" },
  { given: "paused", when: resumed, to: "running", context: turn({ runId: "run-2" }) },
  {
    given: "paused",
    when: stop(),
    to: "paused",
    requests: ["handoff/handoff-1 ! handoff.stop"],
    context: turn({ handoffId: "handoff-1", stopping: true }),
  },
  { given: "paused", when: stop("turn-0"), to: "ignored: run_not_active" },
  { given: "paused", when: goOn(), to: "ignored: session_busy" },
  { given: "paused, stopping", when: stop(), to: "ignored: stop_in_progress" },
  { given: "paused, stopping", when: resumed, to: "running" },
  { given: "running", when: setAside(), to: "blocked", context: turn({ blockedFrom: "running" }) },
  { given: "running", when: setAside("run/run-0"), to: "ignored" },
  { given: "running", when: setAside("handoff/handoff-1"), to: "ignored" },
  { given: "waiting", when: setAside("run/run-0"), to: "ignored" },
  { given: "waiting", when: setAside(), to: "blocked", context: turn({ blockedFrom: "waiting" }) },
  { given: "paused", when: setAside("handoff/handoff-1"), to: "blocked", context: turn({ handoffId: "handoff-1", blockedFrom: "paused" }) },
  { given: "paused", when: setAside(), to: "ignored" },
  { given: "running a successor", when: setAside("run/run-2"), to: "blocked", context: turn({ runId: "run-2", blockedFrom: "running" }) },
  { given: "blocked", when: send, to: "ignored: session_blocked" },
  { given: "blocked", when: stop(), to: "ignored: session_blocked" },
  { given: "blocked", when: archive, to: "archived" },
  { given: "blocked", when: back(), to: "running", context: turn() },
  { given: "blocked", when: back("run/run-0"), to: "ignored" },
  { given: "blocked while waiting", when: back(), to: "waiting", context: turn() },
  { given: "blocked while paused", when: back("handoff/handoff-1"), to: "paused", context: turn({ handoffId: "handoff-1" }) },
  { given: "blocked while paused", when: back(), to: "ignored" },
  { given: "running a successor", when: stop(), to: "running", requests: ["run/run-2 ! run.stop"] },
  { given: "running a successor", when: ended("run-2"), to: "idle", facts: ["turn.ended"], context: { lastRunId: "run-2", turns: 1 } },
];

const table = new Table(session, SITUATIONS);

describe("the session", () => {
  it.each(ROWS.map((row) => ({ ...row, event: row.when.type })))("$given, on $event: $to", (row) => {
    expect(table.found(row)).toEqual({ to: row.to, facts: row.facts ?? [], requests: row.requests ?? [], context: row.context ?? {} });
  });

  it("takes every one of its transitions in a row of this table", () => {
    expect(table.untaken(ROWS)).toEqual([]);
  });

  it("has each guard say yes and no in a row of this table", () => {
    expect(table.halfTested(ROWS)).toEqual([]);
  });

  it("runs as a plain machine, and has no unnamed action or guard", () => {
    const actor = createActor(session, { input: input as never }).start();
    for (const event of [send, sealed, resumed, ended("run-2"), archive]) actor.send(event as never);
    expect(actor.getSnapshot()).toMatchObject({ value: "archived", status: "done" });
    expect(inlineFunctions(session)).toEqual([]);
  });
});

it.each([
  ["running", "run/run-1", "run.stop"],
  ["waiting", "run/run-1", "run.stop"],
  ["paused", "handoff/handoff-1", "handoff.stop"],
  ["running a successor", "run/run-2", "run.stop"],
] as const)("a stop of a session that is %s tells %s by whom", (given, to, type) => {
  for (const by of ["user", "shutdown"] as const)
    expect(table.take(given, stop("turn-1", by)).requests).toMatchObject([{ type: "deliver", to, event: { type, by } }]);
});

describe("the root run that a session creates", () => {
  const created = (given: keyof typeof SITUATIONS, event: Event) => {
    const request = table.take(given, event).requests.find((candidate) => candidate.type === "create");
    return request?.type === "create" ? request.input : {};
  };

  it("goes on from the last turn's transcript, with the text and the limit of its own", () => {
    expect(created("idle after a turn", { ...send, turnId: "turn-2", runId: "run-2" })).toMatchObject({
      runId: "run-2",
      rootRunId: "run-2",
      previousRunId: "run-1",
      source: { kind: "fresh" },
      text: "Do it",
      stepsLeft: 3,
      origin,
      configuration,
    });
  });

  it("continues the last run from its boundary without a text", () => {
    expect(created("idle after a turn", goOn())).toMatchObject({
      rootRunId: "run-2",
      previousRunId: "run-1",
      source: { kind: "plain", runId: "run-1", head: { runId: "run-1", seq: 7, hash: digest }, boundary: digest, denied: true },
      depth: 2,
      text: null,
      stepsLeft: null,
    });
  });
});

describe("a session that is a copy", () => {
  const turns = ["1", "2"].map((number) => ({
    turnId: `turn-${number}`,
    runId: `run-${number}`,
    from: { turnId: `old-turn-${number}`, runIds: [`old-${number}`] },
    origin,
    facts: [{ type: "message.added", role: "user", text: "Do it" }],
    outcome: completed,
  }));
  const copy = new Table(session, { made: { input: { ...input, copied: { sessionId: "session-0", turns } } as never, events: [] } });
  const made = copy.create("made");

  it("is made with its runs, each after the one before it", () => {
    const created = made.requests.map((request) => (request.type === "create" ? (request.input as Record<string, unknown>) : {}));
    expect(made.facts).toEqual([{ type: "session.copied", sessionId: "session-0", turns: 2 }]);
    expect(created).toMatchObject([
      { runId: "run-1", rootRunId: "run-1", previousRunId: null, turnId: "turn-1" },
      { runId: "run-2", rootRunId: "run-2", previousRunId: "run-1", turnId: "turn-2" },
    ]);
    expect(created[1]).toMatchObject({
      source: { kind: "copy", sessionId: "session-0", turnId: "old-turn-2", runIds: ["old-2"] },
      copied: { facts: turns[1]?.facts, outcome: completed },
    });
  });

  it("goes on from its last run", () => {
    expect(made.snapshot.context).toMatchObject({ copiedFrom: "session-0", lastRunId: "run-2", turns: 2, turn: null });
  });
});

describe("a session of version 1", () => {
  const before = { sessionId: "session-1", name: null, configuration, lastRunId: null, turns: 0 };
  const turnOf1 = { turnId: "turn-1", runId: "run-1", handoffId: null as string | null, stopping: false };
  const { migrations } = table.registration.schemas;
  const migrated = (value: string, turn: typeof turnOf1 | null) => {
    const stored = { value, context: { ...before, turn }, historyValue: {}, timers: [], effects: [] };
    return migrations?.["2"]?.migrate(migrations["1"]?.migrate(stored) as typeof stored);
  };

  it.each([
    ["idle", null, undefined],
    ["running", turnOf1, null],
    ["blocked", turnOf1, "running"],
    ["blocked", { ...turnOf1, handoffId: "handoff-1" }, "paused"],
  ] as const)("that is %s goes on with what is known of it (%o)", (value, turn, blockedFrom) => {
    const result = migrated(value, turn);
    expect(result).toMatchObject({ value, context: { turn: turn && { ...turn, blockedFrom } } });
    expect(checkAgainst(table.registration.schemas.context, result?.context).ok).toBe(true);
  });
});

describe("a turn's limit", () => {
  it.each([0, -1, 1.5])("of %j steps is refused", (maxSteps) => {
    const schema = table.registration.schemas.events["session.send"]!;
    expect(checkAgainst(schema, { ...send, type: undefined, maxSteps }).ok).toBe(false);
  });
});

/** Events of the run and of the handoff: the states in which they can come. */
const ARRIVES: Readonly<Record<string, readonly string[]>> = {
  "turn.waiting": ["running"],
  "turn.running": ["waiting"],
  "turn.sealed": ["running", "waiting"],
  "turn.resumed": ["paused"],
  "turn.ended": ["running", "waiting"],
  "engine.quarantined": ["running", "waiting", "paused"],
  "engine.released": ["blocked"],
  "plan.ended": ["idle", "running", "waiting", "paused", "blocked"],
};

describe("every state and event of the session", () => {
  const samples = [
    send,
    goOn(),
    archive,
    configure,
    planned,
    planEnded(),
    stop(),
    waits,
    runs,
    sealed,
    resumed,
    ended(),
    setAside("handoff/handoff-1"),
    setAside(),
    back(),
    back("handoff/handoff-1"),
  ];

  const types = [...new Set(samples.map((event) => event.type))];

  it("is listed", () => {
    expect(types.sort()).toEqual(Object.keys(table.registration.schemas.events).sort());
    expect([...table.resting.keys()].sort()).toEqual(restingStates(session));
  });

  it.each(types)("%s is taken, refused with a code, or cannot come", (type) => {
    for (const [state, situations] of table.resting) {
      const answers = situations.flatMap((given) =>
        samples.filter((event) => event.type === type).map((when) => table.found({ given, when, to: "" }).to),
      );
      const arrives = ARRIVES[type];
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
