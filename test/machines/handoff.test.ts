import { describe, expect, it } from "vitest";
import { createActor } from "xstate";
import { handoff } from "../../machines/index.ts";
import { checkAgainst } from "../../src/actor/schema.ts";
import { cancelled, completed, composition, configuration, digest, evidence, head, ids, origin, question, seal } from "./sample.ts";
import { type Event, inlineFunctions, type Row, restingStates, type Situation, Table } from "./table.ts";

const input = {
  ...ids,
  sessionId: "session-1",
  turnId: "turn-1",
  rootRunId: "run-1",
  sourceRunId: "run-1",
  configuration,
  origin,
  depth: 1,
};

const held: Event = { type: "handoff.held", preview: seal };
const committed: Event = { type: "handoff.committed" };
const withdrawn: Event = { type: "handoff.cancelled" };
const sealed: Event = { type: "handoff.sealed", seal, seq: head.seq };
const resume = (changes = {}): Event => ({
  type: "handoff.resume",
  source: head,
  sourceComposition: composition,
  evidence,
  ...changes,
});
const stop: Event = { type: "handoff.stop", by: "user" };
const ended: Event = { type: "run.ended", outcome: cancelled };
const dispatched: Event = { type: "successor.dispatched" };
const successorSealed: Event = { type: "successor.sealed" };
const successorEnded: Event = { type: "successor.ended", outcome: completed };

const after = (...events: Event[]): Situation => ({ input, events });
const waitingSeal = { ...seal, interaction: question };

const SITUATIONS = {
  requested: after(),
  boundary: after(held),
  paused: after(held, committed),
  sealed: after(held, committed, sealed),
  "sealed while waiting": after(held, committed, { ...sealed, seal: waitingSeal }),
  claimed: after(held, committed, sealed, resume()),
  "claimed by a stop": after(held, committed, sealed, stop),
} as const;

const claim = {
  facts: ["handoff.claimed"],
  requests: ["session/session-1 ! turn.resumed", "create run/run-2 [boundary/run-1]"],
};

const ROWS: readonly (Row & { readonly given: keyof typeof SITUATIONS })[] = [
  { given: "requested", when: held, to: "boundary", context: { preview: seal } },
  { given: "requested", when: withdrawn, to: "cancelled", facts: ["handoff.ended"] },
  { given: "requested", when: ended, to: "declined", facts: ["handoff.ended"], context: { outcome: cancelled } },
  { given: "requested", when: resume(), to: "ignored: not_sealed" },
  { given: "requested", when: stop, to: "ignored: not_sealed" },
  { given: "boundary", when: committed, to: "paused" },
  { given: "boundary", when: withdrawn, to: "cancelled", facts: ["handoff.ended"] },
  { given: "boundary", when: ended, to: "declined", facts: ["handoff.ended"], context: { outcome: cancelled } },
  { given: "boundary", when: resume(), to: "ignored: not_sealed" },
  { given: "paused", when: sealed, to: "sealed", context: { seal, sealSeq: 7 } },
  { given: "paused", when: ended, to: "failed", facts: ["handoff.ended"], context: { outcome: cancelled } },
  { given: "paused", when: resume(), to: "ignored: not_sealed" },
  { given: "sealed", when: resume(), to: "claimed", ...claim },
  { given: "sealed", when: stop, to: "claimed", ...claim },
  { given: "sealed", when: resume({ source: { ...head, seq: 8 } }), to: "ignored: source_identity_changed" },
  { given: "sealed", when: resume({ source: { ...head, runId: "run-3" } }), to: "ignored: source_identity_changed" },
  { given: "sealed", when: resume({ sourceComposition: null }), to: "ignored: source_composition_missing" },
  {
    given: "sealed",
    when: resume({ evidence: { ...evidence, configuration: { ...evidence.configuration, now: { ...configuration, cwd: "/other" } } } }),
    to: "ignored: configuration_changed",
  },
  {
    given: "sealed",
    when: resume({ evidence: { ...evidence, workspace: { source: null, now: "/project" } } }),
    to: "ignored: workspace_unknown",
  },
  {
    given: "sealed",
    when: resume({ evidence: { ...evidence, workspace: { source: "/project", now: null } } }),
    to: "ignored: workspace_changed",
  },
  { given: "sealed", when: resume({ evidence: { ...evidence, backgroundSettled: false } }), to: "ignored: background_pending" },
  {
    given: "sealed",
    when: resume({ evidence: { ...evidence, tools: { ...evidence.tools, now: ["read"] } } }),
    to: "ignored: tool_set_changed",
  },
  {
    given: "sealed",
    when: resume({ evidence: { ...evidence, tools: { missing: ["read"], checked: null, now: ["write"] } } }),
    to: "ignored: tool_set_changed",
  },
  { given: "sealed while waiting", when: resume(), to: "claimed", ...claim },
  { given: "claimed", when: dispatched, to: "resumed", facts: ["handoff.resumed"] },
  { given: "claimed", when: successorSealed, to: "resumed", facts: ["handoff.resumed"] },
  { given: "claimed", when: successorEnded, to: "failed", facts: ["handoff.ended"], context: { outcome: completed } },
  { given: "claimed", when: resume(), to: "ignored: continuation_claim_conflict" },
  { given: "claimed", when: stop, to: "ignored: stop_in_progress" },
  { given: "claimed by a stop", when: successorEnded, to: "failed", facts: ["handoff.ended"] },
];

const table = new Table(handoff, SITUATIONS);

describe("the handoff", () => {
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
    const actor = createActor(handoff, { input: input as never }).start();
    for (const event of [held, committed, sealed, resume(), dispatched]) actor.send(event as never);
    expect(actor.getSnapshot()).toMatchObject({ value: "resumed", status: "done" });
    expect(inlineFunctions(handoff)).toEqual([]);
  });
});

describe("the successor that a handoff creates", () => {
  const created = (given: keyof typeof SITUATIONS, event: Event) => {
    const request = table.take(given, event).requests.find((candidate) => candidate.type === "create");
    return request?.type === "create" ? (request.input as Record<string, unknown>) : {};
  };

  it("has the turn, the root, the configuration and the origin of its source, and what the seal and the evidence say", () => {
    expect(created("sealed while waiting", resume())).toEqual({
      sessionId: "session-1",
      turnId: "turn-1",
      runId: "run-2",
      rootRunId: "run-1",
      previousRunId: "run-1",
      configuration,
      origin,
      source: { kind: "handoff", handoffId: "handoff-1", claimId: "claim-1", runId: "run-1", head, boundary: digest, denied: true },
      text: null,
      stepsLeft: 2,
      expected: composition,
      interaction: question,
      stopBeforeDispatch: null,
      depth: 2,
      reconciled: [],
      copied: null,
    });
  });

  it("ends before its dispatch where the turn was stopped", () => {
    expect(created("sealed", stop)).toMatchObject({
      runId: "run-2",
      stopBeforeDispatch: "user",
      expected: null,
      source: { head: null, boundary: null, denied: false },
    });
  });
});

describe("a handoff of version 1", () => {
  it("that was sealed while its run waited goes on with a context of version 2", () => {
    const { depth: _, ...kept } = table.at("sealed").context;
    const old = { ...seal, interaction: { id: "question-1", question: "May I?" } };
    const stored = { value: "sealed", context: { ...kept, seal: old, preview: old } as never, historyValue: {}, timers: [], effects: [] };
    const migrated = table.registration.schemas.migrations?.["1"]?.migrate(stored);
    expect(checkAgainst(table.registration.schemas.context, migrated?.context).ok).toBe(true);
  });
});

/** Events of the run that decides and of the successor: the states in which they can come. */
const ARRIVES: Readonly<Record<string, readonly string[]>> = {
  "handoff.held": ["requested"],
  "handoff.committed": ["boundary"],
  "handoff.cancelled": ["requested", "boundary"],
  "handoff.sealed": ["paused"],
  "run.ended": ["requested", "boundary", "paused"],
  "successor.dispatched": ["claimed"],
  "successor.sealed": ["claimed"],
  "successor.ended": ["claimed"],
};

describe("every state and event of the handoff", () => {
  const samples = [held, committed, withdrawn, sealed, resume(), stop, ended, dispatched, successorSealed, successorEnded];

  it("is listed", () => {
    expect(samples.map((event) => event.type).sort()).toEqual(Object.keys(table.registration.schemas.events).sort());
    expect([...table.resting.keys()].sort()).toEqual(restingStates(handoff));
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
