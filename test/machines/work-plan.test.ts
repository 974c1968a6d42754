import { describe, expect, it } from "vitest";
import { createActor } from "xstate";
import { workPlan } from "../../machines/index.ts";
import { PROPOSAL_LIMIT } from "../../machines/proposal.ts";
import { checkAgainst } from "../../src/actor/schema.ts";
import { cancelled, completed, failed } from "./sample.ts";
import { type Event, inlineFunctions, type Row, restingStates, type Situation, Table } from "./table.ts";

const step = (id: string, changes = {}) => ({ id, title: `Do ${id}`, description: "", files: [], ...changes });
const proposal = { title: "Move the job", steps: [step("one"), step("two")], risks: [] };
const other = { ...proposal, steps: [step("three")] };

const input = { planId: "plan-1", sessionId: "session-1", proposal, turnUnderWay: false };
const stepsOf = (...statuses: string[]) => statuses.map((status, index) => ({ id: ["one", "two"][index] ?? "one", status }));

const propose: Event = { type: "plan.propose", proposal: other };
const approve = (expectedRevision = 1): Event => ({ type: "plan.approve", expectedRevision });
const update = (steps: { id: string; status: string }[], executionId = "plan-1.1"): Event => ({ type: "plan.update", executionId, steps });
const interrupt: Event = { type: "plan.interrupt", reason: "asked" };
const resume = (executionId = "plan-1.1"): Event => ({ type: "plan.resume", executionId });
const cancel: Event = { type: "plan.cancel" };
const settle: Event = { type: "plan.recover" };
const started: Event = { type: "turn.started", runId: "run-1" };
const ended = (outcome: unknown = completed): Event => ({ type: "turn.ended", runId: "run-1", outcome: outcome as never });
const archived: Event = { type: "session.archived" };

const after = (...events: Event[]): Situation => ({ input, events });

const SITUATIONS = {
  proposed: after(),
  "proposed while a turn is under way": { input: { ...input, turnUnderWay: true }, events: [] },
  "proposed again": after(propose),
  active: after(approve()),
  "active, one step done": after(approve(), update(stepsOf("completed", "in_progress"))),
  "active, its turn under way": after(approve(), started),
  "active, its turn over": after(approve(), started, ended()),
  "active, approved during a turn": { input: { ...input, turnUnderWay: true }, events: [approve()] },
  "active, the next turn under way": after(approve(), started, ended(), started),
  interrupted: after(approve(), interrupt),
  "interrupted with its turn over": after(approve(), started, ended(failed)),
  "resumed after its turn": after(approve(), started, ended(), interrupt, resume()),
  revised: after(approve(), interrupt, propose),
  "revised twice": after(approve(), interrupt, propose, propose),
  "active, revised": after(approve(), interrupt, propose, approve(2)),
  completed: after(approve(), update(stepsOf("completed", "skipped"))),
  cancelled: after(cancel),
} as const;

const toSession = ["session/session-1 ! plan.ended"];
const pending = { revision: 1, seq: 1, stepIds: ["one", "two"] };
const execution = (changes = {}) => ({
  execution: {
    executionId: "plan-1.1",
    revision: 1,
    seq: 1,
    steps: stepsOf("pending", "pending"),
    interruption: null,
    turnEnded: false,
    ...changes,
  },
});
const second = { executionId: "plan-1.2", revision: 2, seq: 4, steps: [{ id: "three", status: "pending" }] };

const ROWS: readonly (Row & { readonly given: keyof typeof SITUATIONS })[] = [
  // What is proposed.
  {
    given: "proposed",
    when: propose,
    to: "proposed",
    facts: ["plan.proposed"],
    context: { revision: 2, pending: { revision: 2, seq: 2, stepIds: ["three"] } },
  },
  { given: "active", when: propose, to: "ignored: plan_active" },
  {
    given: "interrupted",
    when: propose,
    to: "revised",
    facts: ["plan.proposed"],
    context: { revision: 2, pending: { revision: 2, seq: 4, stepIds: ["three"] } },
  },
  { given: "revised", when: propose, to: "revised", facts: ["plan.proposed"], context: { revision: 3 } },
  // What is approved.
  { given: "proposed", when: approve(), to: "active", facts: ["plan.approved"], context: { pending: null, ...execution() } },
  { given: "proposed", when: approve(2), to: "ignored: plan_revision_changed" },
  { given: "proposed again", when: approve(1), to: "ignored: plan_revision_changed" },
  { given: "proposed again", when: approve(2), to: "active", facts: ["plan.approved"] },
  { given: "active", when: approve(), to: "ignored: plan_not_pending" },
  { given: "active", when: approve(2), to: "ignored: plan_revision_changed" },
  { given: "interrupted", when: approve(), to: "ignored: plan_not_pending" },
  { given: "revised", when: approve(1), to: "ignored: plan_revision_changed" },
  { given: "revised", when: approve(2), to: "active", facts: ["plan.approved"], context: { pending: null, ...execution(second) } },
  // What is carried out.
  {
    given: "active",
    when: update(stepsOf("in_progress", "pending")),
    to: "active",
    facts: ["plan.updated"],
    context: execution({ steps: stepsOf("in_progress", "pending") }),
  },
  {
    given: "active",
    when: update([...stepsOf("pending", "in_progress")].reverse()),
    to: "active",
    facts: ["plan.updated"],
    context: execution({ steps: stepsOf("pending", "in_progress") }),
  },
  {
    given: "active",
    when: update(stepsOf("completed", "skipped")),
    to: "completed",
    facts: ["plan.updated", "plan.ended"],
    requests: toSession,
    context: execution({ steps: stepsOf("completed", "skipped") }),
  },
  {
    given: "active, one step done",
    when: update(stepsOf("completed", "completed")),
    to: "completed",
    facts: ["plan.updated", "plan.ended"],
    requests: toSession,
  },
  { given: "active, one step done", when: update(stepsOf("skipped", "completed")), to: "ignored: plan_steps_invalid" },
  { given: "active, one step done", when: update(stepsOf("pending", "in_progress")), to: "ignored: plan_steps_invalid" },
  { given: "active", when: update(stepsOf("in_progress", "in_progress")), to: "ignored: plan_steps_invalid" },
  { given: "active", when: update(stepsOf("completed")), to: "ignored: plan_steps_invalid" },
  {
    given: "active",
    when: update([...stepsOf("completed", "completed"), { id: "three", status: "completed" }]),
    to: "ignored: plan_steps_invalid",
  },
  { given: "active", when: update([...stepsOf("completed"), ...stepsOf("completed")]), to: "ignored: plan_steps_invalid" },
  { given: "active", when: update([...stepsOf("completed"), { id: "three", status: "completed" }]), to: "ignored: plan_steps_invalid" },
  { given: "active", when: update(stepsOf("completed", "skipped"), "plan-1.2"), to: "ignored: plan_execution_stale" },
  { given: "active, revised", when: update(stepsOf("completed", "skipped")), to: "ignored: plan_execution_stale" },
  { given: "interrupted", when: update(stepsOf("completed", "skipped")), to: "ignored: plan_execution_stale" },
  { given: "revised", when: update(stepsOf("completed", "skipped")), to: "ignored: plan_execution_stale" },
  // What is interrupted and resumed.
  { given: "active", when: interrupt, to: "interrupted", facts: ["plan.interrupted"], context: execution({ interruption: "asked" }) },
  { given: "proposed", when: interrupt, to: "ignored: plan_execution_stale" },
  { given: "interrupted", when: interrupt, to: "ignored: plan_execution_stale" },
  { given: "interrupted", when: resume(), to: "active", facts: ["plan.resumed"], context: execution() },
  { given: "interrupted", when: resume("plan-1.2"), to: "ignored: plan_execution_stale" },
  { given: "interrupted with its turn over", when: resume(), to: "active", facts: ["plan.resumed"], context: execution() },
  { given: "revised", when: resume(), to: "active", facts: ["plan.resumed"], context: { pending: null, ...execution() } },
  { given: "revised", when: resume("plan-1.2"), to: "ignored: plan_execution_stale" },
  { given: "active", when: resume(), to: "ignored: plan_active" },
  { given: "active", when: resume("plan-1.2"), to: "ignored: plan_execution_stale" },
  { given: "proposed", when: resume(), to: "ignored: plan_execution_stale" },
  // What turns do to it.
  { given: "proposed", when: started, to: "proposed", context: { turnUnderWay: true, pending } },
  { given: "proposed while a turn is under way", when: ended(failed), to: "proposed", context: { turnUnderWay: false, execution: null } },
  { given: "active", when: started, to: "active", context: { turnUnderWay: true, ...execution() } },
  { given: "active, its turn under way", when: ended(), to: "active", context: { turnUnderWay: false, ...execution({ turnEnded: true }) } },
  {
    given: "active, its turn under way",
    when: ended(failed),
    to: "interrupted",
    facts: ["plan.interrupted"],
    context: { turnUnderWay: false, ...execution({ turnEnded: true, interruption: "turn_failed" }) },
  },
  {
    given: "active, its turn under way",
    when: ended(cancelled),
    to: "interrupted",
    facts: ["plan.interrupted"],
    context: execution({ turnEnded: true, interruption: "turn_cancelled" }),
  },
  { given: "active, approved during a turn", when: ended(failed), to: "interrupted", facts: ["plan.interrupted"] },
  { given: "interrupted", when: started, to: "interrupted", context: { turnUnderWay: true } },
  { given: "interrupted", when: ended(failed), to: "interrupted" },
  { given: "revised", when: ended(failed), to: "revised" },
  // What a recovery does to it.
  {
    given: "active, its turn over",
    when: settle,
    to: "interrupted",
    facts: ["plan.interrupted"],
    context: execution({ turnEnded: true, interruption: "recovery" }),
  },
  { given: "active", when: settle, to: "ignored" },
  { given: "active, its turn under way", when: settle, to: "ignored" },
  { given: "active, approved during a turn", when: settle, to: "ignored" },
  { given: "active, the next turn under way", when: settle, to: "ignored" },
  { given: "resumed after its turn", when: settle, to: "ignored" },
  { given: "active, revised", when: settle, to: "ignored" },
  { given: "proposed", when: settle, to: "ignored" },
  { given: "interrupted with its turn over", when: settle, to: "ignored" },
  // How it is given up.
  { given: "proposed", when: cancel, to: "cancelled", facts: ["plan.ended"], requests: toSession },
  { given: "active", when: cancel, to: "cancelled", facts: ["plan.ended"], requests: toSession },
  { given: "interrupted", when: cancel, to: "cancelled", facts: ["plan.ended"], requests: toSession },
  { given: "revised", when: cancel, to: "cancelled", facts: ["plan.ended"], requests: toSession },
  { given: "proposed", when: archived, to: "cancelled", facts: ["plan.ended"] },
  { given: "active", when: archived, to: "cancelled", facts: ["plan.ended"] },
  { given: "revised", when: archived, to: "cancelled", facts: ["plan.ended"] },
];

const table = new Table(workPlan, SITUATIONS);

describe("the work plan", () => {
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
    const actor = createActor(workPlan, { input: input as never }).start();
    for (const event of [approve(), started, ended(failed), resume(), update(stepsOf("skipped", "completed"))]) actor.send(event as never);
    expect(actor.getSnapshot()).toMatchObject({ value: "completed", status: "done" });
    expect(inlineFunctions(workPlan)).toEqual([]);
  });
});

describe("a work plan's facts", () => {
  const stated = (given: keyof typeof SITUATIONS, event: Event) => table.take(given, event).facts;

  it.each([
    ["proposed", propose, { type: "plan.proposed", revision: 2, stale: 1 }],
    ["interrupted", propose, { type: "plan.proposed", revision: 2, stale: null }],
    ["revised", propose, { type: "plan.proposed", revision: 3, stale: 2 }],
    ["proposed", approve(), { type: "plan.approved", revision: 1, executionId: "plan-1.1", replaced: null }],
    ["revised", approve(2), { type: "plan.approved", revision: 2, executionId: "plan-1.2", replaced: "plan-1.1" }],
    ["revised", resume(), { type: "plan.resumed", executionId: "plan-1.1", stale: 2 }],
    ["active", update(stepsOf("completed", "in_progress")), { type: "plan.updated", executionId: "plan-1.1", settled: 1, of: 2 }],
    ["active", interrupt, { type: "plan.interrupted", executionId: "plan-1.1", reason: "asked", runId: null }],
    ["active", ended(failed), { type: "plan.interrupted", executionId: "plan-1.1", reason: "turn_failed", runId: "run-1" }],
    ["active, its turn over", settle, { type: "plan.interrupted", executionId: "plan-1.1", reason: "recovery", runId: null }],
    ["proposed", cancel, { type: "plan.ended", as: "cancelled", executionId: null, archived: false }],
    ["active", archived, { type: "plan.ended", as: "cancelled", executionId: "plan-1.1", archived: true }],
  ] as const)("%s: %o says %o", (given, event, fact) => {
    expect(stated(given, event)).toEqual([fact]);
  });

  it("open with its first revision, and never hold the text of a proposal", () => {
    expect(table.create("proposed").facts).toEqual([{ type: "plan.proposed", revision: 1, stale: null }]);
    expect(JSON.stringify([stated("proposed", propose), table.at("proposed").context])).not.toContain("Do ");
  });

  it("name a stale revision only where one awaited approval", () => {
    const resumed = new Table(workPlan, { resumed: after(approve(), interrupt, propose, resume(), interrupt) });
    expect(resumed.take("resumed", propose).facts).toEqual([{ type: "plan.proposed", revision: 3, stale: null }]);
  });
});

describe("what a work plan is asked by its tags", () => {
  it.each([
    ["proposed", ["pending"]],
    ["active", ["active"]],
    ["interrupted", ["interrupted"]],
    ["revised", ["interrupted", "pending"]],
    ["completed", ["completed"]],
    ["cancelled", ["cancelled"]],
  ] as const)("%s: %j", (given, tags) => {
    expect([...table.at(given).tags].sort()).toEqual(tags);
  });
});

describe("a proposal", () => {
  const schema = table.registration.schemas.events["plan.propose"]!;
  const fits = (changes: object) => checkAgainst(schema, { proposal: { ...proposal, ...changes } }).ok;
  const many = (count: number) => Array.from({ length: count }, (_, index) => step(`step-${index + 1}`));

  it.each<[string, object]>([
    ["no step", { steps: [] }],
    ["51 steps", { steps: many(51) }],
    ["an id twice", { steps: [step("one"), step("one")] }],
    ["an id with a blank", { steps: [step("step one")] }],
    ["an id of 129 characters", { steps: [step("i".repeat(129))] }],
    ["no title", { title: "" }],
    ["a title of 201 characters", { title: "t".repeat(201) }],
    ["a title of two lines", { title: "a\nb" }],
    ["a title with outer blanks", { title: " a" }],
    ["21 risks", { risks: Array(21).fill("r") }],
    ["51 files in a step", { steps: [step("one", { files: Array(51).fill("f") })] }],
    ["a text of more than 16 KiB", { risks: ["r".repeat(16_385)] }],
    ["more than 60 KiB in all", { risks: Array(4).fill("r".repeat(16_384)) }],
    ["a field that nobody knows", { owner: "me" }],
    ...["# Heading", "- item", "1. item", "> quote", "a **bold** word", "run `make`", "see [here](there)", "~~gone~~"].map(
      (title): [string, object] => [`the Markdown ${title}`, { steps: [step("one", { title })] }],
    ),
  ])("with %s is refused", (_, changes) => {
    expect(fits(changes)).toBe(false);
  });

  it.each<[string, object]>([
    ["50 steps", { steps: many(50) }],
    ["a title of 200 characters", { title: "t".repeat(200) }],
    ["20 risks", { risks: Array(20).fill("r") }],
    ["50 files in a step", { steps: [step("one", { files: Array(50).fill("f") })] }],
    ["a text of 16 KiB", { risks: ["r".repeat(16_384)] }],
    ["signs that are no markup", { title: "Rename snake_case to camelCase, 3 * 4 > 11 (#7)" }],
  ])("with %s is taken", (_, changes) => {
    expect(fits(changes)).toBe(true);
  });

  it("is bounded as a whole, to the character", () => {
    const rest =
      PROPOSAL_LIMIT - JSON.stringify({ ...proposal, risks: ["r".repeat(16_384), "r".repeat(16_384), "r".repeat(16_384), ""] }).length;
    const risks = (more: number) => ["r".repeat(16_384), "r".repeat(16_384), "r".repeat(16_384), "r".repeat(rest + more)];
    expect([fits({ risks: risks(0) }), fits({ risks: risks(1) })]).toEqual([true, false]);
  });
});

/** Told by the session, which may not be ignored by a plan that is not over. */
const REPORTS = ["turn.started", "turn.ended", "session.archived"];

describe("every state and event of the work plan", () => {
  const samples = [propose, approve(), approve(3), update(stepsOf("pending", "pending")), interrupt, resume(), cancel, settle, started];
  const all = [...samples, ended(), ended(failed), ended(cancelled), archived];
  const types = [...new Set(all.map((event) => event.type))];

  it("is listed", () => {
    expect(types.sort()).toEqual(Object.keys(table.registration.schemas.events).sort());
    expect([...table.resting.keys()].sort()).toEqual(restingStates(workPlan));
  });

  it.each(all.map((event) => [event.type, event] as const))("%s is taken or refused with a code, in every state", (type, when) => {
    for (const [state, situations] of table.resting)
      for (const given of situations) {
        const { to } = table.found({ given, when, to: "" });
        if (REPORTS.includes(type)) expect(to, given).not.toContain("ignored");
        // A recovery asks every plan, and takes it as it is.
        else if (type !== "plan.recover") expect(to, `${state}: ${given}`).not.toBe("ignored");
      }
  });
});
