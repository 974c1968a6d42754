import { describe, expect, it } from "vitest";
import { fakeBackend, type OpenHoldfastOptions, type ProposedPlan, type Script, type WorkPlan } from "../../src/index.ts";
import { simulatedClock } from "../../src/testing/index.ts";
import { codeOf, Gate, World } from "./world.ts";

const ends = { report: { text: "done", next: "end", stopReason: "end_turn" } } as const;
const goesOn = { report: { text: "more", next: "continue" } } as const;

const proposal: ProposedPlan = { title: "Move the job", steps: [{ title: "Copy it" }, { title: "Switch over" }], risks: ["It is slow"] };
const other: ProposedPlan = { title: "Move the job later", steps: [{ id: "wait", title: "Wait", files: ["a.ts"] }] };
const all = (status: "completed" | "skipped" | "pending" | "in_progress") => [
  { id: "step-1", status },
  { id: "step-2", status },
];

async function open(script: Script = ends, options: Partial<OpenHoldfastOptions> = {}): Promise<World> {
  const world = await World.open(fakeBackend({ script }), options);
  await world.holdfast.createSession({ backend: "assistant", cwd: world.root, id: "session-1" });
  return world;
}

const session = (world: World) => world.holdfast.session("session-1");
const present = (world: World) => world.holdfast.plan("plan-1");

/** A plan whose first revision is approved. */
async function approved(world: World): Promise<WorkPlan> {
  const plan = await session(world).proposePlan(proposal, { planId: "plan-1" });
  await plan.approve(1);
  return plan;
}

describe("proposing a plan", () => {
  it("makes one that awaits approval, with what was left out filled in", async () => {
    const world = await open();
    const plan = await session(world).proposePlan(proposal, { planId: "plan-1" });
    expect(plan.state()).toEqual({
      planId: "plan-1",
      sessionId: "session-1",
      proposal: {
        title: "Move the job",
        steps: [
          { id: "step-1", title: "Copy it", description: "", files: [] },
          { id: "step-2", title: "Switch over", description: "", files: [] },
        ],
        risks: ["It is slow"],
      },
      revision: 1,
      pending: true,
      execution: null,
      over: false,
    });
    expect(session(world).plan()?.id).toBe("plan-1");
  });

  it("again makes the next revision of the same plan, and the one before stale", async () => {
    const world = await open();
    await session(world).proposePlan(proposal, { planId: "plan-1" });
    const plan = await session(world).proposePlan(other);
    expect(plan.id).toBe("plan-1");
    expect(plan.state()).toMatchObject({ revision: 2, pending: true, proposal: { title: other.title } });
    expect(await codeOf(() => plan.approve(1))).toBe("plan_revision_changed");
    expect(world.facts("work-plan/plan-1").at(-1)).toEqual({ type: "plan.proposed", revision: 2, stale: 1 });
  });

  it("is refused while an execution is active, and where the named plan is another one", async () => {
    const world = await open();
    const plan = await approved(world);
    const before = world.dump();
    expect(await codeOf(() => session(world).proposePlan(other))).toBe("plan_active");
    expect(await codeOf(() => plan.propose(other))).toBe("plan_active");
    expect(await codeOf(() => session(world).proposePlan(other, { planId: "plan-2" }))).toBe("plan_exists");
    expect(world.dump()).toBe(before);
  });

  it("to an archived session is refused", async () => {
    const world = await open();
    await session(world).archive();
    expect(await codeOf(() => session(world).proposePlan(proposal))).toBe("session_archived");
  });

  it.each([
    ["no step", { ...proposal, steps: [] }, "proposal.steps"],
    [
      "an id twice",
      {
        ...proposal,
        steps: [
          { id: "a", title: "A" },
          { id: "a", title: "B" },
        ],
      },
      "proposal.steps",
    ],
    ["Markdown", { ...proposal, steps: [{ title: "# A" }] }, "proposal.steps.0.title"],
    ["a step that is none", { ...proposal, steps: [null] }, "proposal.steps.0"],
    ["steps that are none", { ...proposal, steps: "all" }, "proposal.steps"],
    ["a field that nobody knows", { ...proposal, owner: "me" }, "proposal"],
    ["nothing", undefined, "proposal"],
  ])("with %s is refused by the field's name, and nothing is written", async (_, given, path) => {
    const world = await open();
    const before = world.dump();
    const refused = session(world).proposePlan(given as never);
    await expect(refused).rejects.toMatchObject({ code: "event_invalid", details: { path: expect.stringContaining(path) } });
    expect(world.dump()).toBe(before);
  });

  it("under an id that no plan may have is refused", async () => {
    const world = await open();
    for (const planId of ["", " a", "p".repeat(161)])
      expect(await codeOf(() => session(world).proposePlan(proposal, { planId }))).toBe("event_invalid");
    await session(world).proposePlan(proposal, { planId: "p".repeat(160) });
  });
});

describe("proposing with a key", () => {
  it("makes one plan, however often it is asked for, also after a restart and after it is over", async () => {
    const world = await open();
    const [first, second] = await Promise.all([
      session(world).proposePlan(proposal, { key: "k" }),
      session(world).proposePlan(proposal, { key: "k" }),
    ]);
    await world.reopen();
    const third = await session(world).proposePlan(proposal, { key: "k" });
    await third.cancel();
    const fourth = await session(world).proposePlan(proposal, { key: "k" });
    expect(new Set([first.id, second.id, third.id, fourth.id]).size).toBe(1);
    expect(world.actors("work-plan")).toHaveLength(1);
    expect(await codeOf(() => session(world).proposePlan(other, { key: "k" }))).toBe("idempotency_conflict");
  });

  it("makes one revision of a plan that was there, and none of a later one", async () => {
    const clock = simulatedClock();
    const world = await open(ends, { clock });
    const plan = await session(world).proposePlan(proposal, { planId: "plan-1" });
    await session(world).proposePlan(other, { key: "k" });
    await session(world).proposePlan(other, { key: "k" });
    expect(plan.state().revision).toBe(2);
    await plan.cancel();
    expect(await codeOf(() => session(world).proposePlan(other, { key: "k" }))).toBe("plan_ended");
    expect(session(world).plan()).toBeUndefined();
    clock.advance(1);
    const later = await session(world).proposePlan(proposal);
    expect(await codeOf(() => session(world).proposePlan(other, { key: "k" }))).toBe("plan_ended");
    expect(later.state().revision).toBe(1);
  });

  it("to the plan itself gives the same number again", async () => {
    const world = await open();
    const plan = await session(world).proposePlan(proposal, { planId: "plan-1" });
    expect([await plan.propose(other, { key: "k" }), await plan.propose(proposal), await plan.propose(other, { key: "k" })]).toEqual([
      2, 3, 2,
    ]);
    expect(await codeOf(() => plan.propose(proposal, { key: "k" }))).toBe("idempotency_conflict");
  });
});

describe("approving", () => {
  it("begins one execution with every step pending", async () => {
    const world = await open();
    const plan = await session(world).proposePlan(proposal, { planId: "plan-1" });
    expect(await plan.approve(1)).toEqual({ revision: 1, executionId: "plan-1.1" });
    expect(plan.state()).toMatchObject({
      pending: false,
      revision: 1,
      execution: {
        executionId: "plan-1.1",
        status: "active",
        interruption: null,
        steps: all("pending"),
        proposal: { title: "Move the job" },
      },
    });
  });

  it("twice at once begins one execution, and both are told of it", async () => {
    const world = await open();
    const plan = await session(world).proposePlan(proposal, { planId: "plan-1" });
    const both = await Promise.all([plan.approve(1, { key: "a" }), plan.approve(1)]);
    expect(both).toEqual([both[0], both[0]]);
    expect(world.facts("work-plan/plan-1").filter(({ type }) => type === "plan.approved")).toHaveLength(1);
  });

  it("what is approved already gives the original approval and writes nothing, also after the plan is over", async () => {
    const world = await open();
    const plan = await approved(world);
    const before = world.dump();
    const again = [await plan.approve(1), await plan.approve(1, { key: "new" })];
    expect(world.dump()).toBe(before);
    expect(world.reader.answer("work-plan/plan-1", "new")).toBeUndefined();
    await plan.cancel();
    expect([...again, await plan.approve(1)]).toEqual(Array(3).fill({ revision: 1, executionId: "plan-1.1" }));
  });

  it("another revision than the latest, or one that does not await it, is refused and writes nothing", async () => {
    const world = await open();
    const plan = await session(world).proposePlan(proposal, { planId: "plan-1" });
    const before = world.dump();
    expect(await codeOf(() => plan.approve(2))).toBe("plan_revision_changed");
    expect(await codeOf(() => plan.approve(0))).toBe("event_invalid");
    expect(world.dump()).toBe(before);
    await plan.propose(other);
    await plan.approve(2);
    await plan.interrupt("asked");
    await plan.propose(proposal);
    await plan.resume("plan-1.2");
    // The third revision is stale: what is left is the execution of the second.
    expect(await codeOf(() => plan.approve(3))).toBe("plan_not_pending");
  });

  it("under a key that was used for something else is refused", async () => {
    const world = await open();
    const plan = await session(world).proposePlan(proposal, { planId: "plan-1" });
    await plan.approve(1, { key: "k" });
    await plan.interrupt("asked", { key: "other" });
    expect(await codeOf(() => plan.approve(1, { key: "other" }))).toBe("idempotency_conflict");
    await plan.propose(other);
    expect(await codeOf(() => plan.approve(2, { key: "k" }))).toBe("idempotency_conflict");
    expect(await codeOf(() => plan.resume("plan-1.1", { key: "k" }))).toBe("idempotency_conflict");
    expect(await plan.approve(1, { key: "k" })).toEqual({ revision: 1, executionId: "plan-1.1" });
  });
});

describe("carrying a plan out", () => {
  it("ends it when every step is completed or skipped, and the session may have another", async () => {
    const world = await open();
    const plan = await approved(world);
    await plan.update("plan-1.1", [
      { id: "step-1", status: "completed" },
      { id: "step-2", status: "in_progress" },
    ]);
    expect(plan.state()).toMatchObject({ over: false, execution: { status: "active" } });
    await plan.update("plan-1.1", [
      { id: "step-1", status: "completed" },
      { id: "step-2", status: "skipped" },
    ]);
    expect(plan.state()).toMatchObject({ over: true, execution: { status: "completed" } });
    expect(session(world).plan()).toBeUndefined();
    expect((await session(world).proposePlan(other)).id).not.toBe("plan-1");
    expect(world.holdfast.verify()).toMatchObject({ ok: true, faults: [] });
  });

  it("refuses steps that do not follow, a stale execution, and everything after the end", async () => {
    const world = await open();
    const plan = await approved(world);
    const before = world.dump();
    expect(await codeOf(() => plan.update("plan-1.1", all("in_progress")))).toBe("plan_steps_invalid");
    expect(await codeOf(() => plan.update("plan-1.1", [{ id: "step-1", status: "completed" }]))).toBe("plan_steps_invalid");
    expect(await codeOf(() => plan.update("plan-1.1", [{ id: "step-1", status: "done" as never }]))).toBe("event_invalid");
    expect(await codeOf(() => plan.update("plan-1.0", all("completed")))).toBe("plan_execution_stale");
    expect(world.dump()).toBe(before);
    await plan.update("plan-1.1", all("completed"));
    for (const call of [
      () => plan.update("plan-1.1", all("completed")),
      () => plan.cancel(),
      () => plan.propose(other),
      () => plan.resume("plan-1.1"),
    ])
      expect(await codeOf(call)).toBe("plan_ended");
    expect(await plan.interrupt("late")).toBe(false);
    expect(await codeOf(() => plan.approve(2))).toBe("plan_ended");
  });

  it("can be interrupted and resumed, or planned anew: that approval cancels the interrupted execution", async () => {
    const world = await open();
    const plan = await approved(world);
    await plan.update("plan-1.1", [
      { id: "step-1", status: "completed" },
      { id: "step-2", status: "pending" },
    ]);
    expect([await plan.interrupt("asked"), await plan.interrupt("asked")]).toEqual([true, false]);
    expect(plan.state().execution).toMatchObject({ status: "interrupted", interruption: "asked" });
    await plan.resume("plan-1.1");
    expect(await codeOf(() => plan.resume("plan-1.1"))).toBe("plan_active");
    expect(plan.state().execution).toMatchObject({
      status: "active",
      interruption: null,
      steps: [{ status: "completed" }, { status: "pending" }],
    });
    await plan.interrupt("asked again");
    await session(world).proposePlan(other);
    expect(plan.state()).toMatchObject({
      revision: 2,
      pending: true,
      proposal: { title: other.title },
      execution: { revision: 1, proposal: { title: proposal.title } },
    });
    expect(await plan.approve(2)).toEqual({ revision: 2, executionId: "plan-1.2" });
    expect(plan.state().execution).toMatchObject({ status: "active", steps: [{ id: "wait", status: "pending" }] });
    expect(world.facts("work-plan/plan-1").at(-1)).toMatchObject({ type: "plan.approved", replaced: "plan-1.1" });
    expect(await codeOf(() => plan.update("plan-1.1", all("completed")))).toBe("plan_execution_stale");
  });

  it("is given up with its session, and nobody is told in vain", async () => {
    const world = await open();
    const plan = await approved(world);
    await session(world).archive();
    expect(plan.state()).toMatchObject({ over: true, execution: { status: "cancelled" } });
    expect(world.holdfast.deadLetters()).toEqual([]);
    expect(world.holdfast.verify()).toMatchObject({ ok: true, faults: [] });
  });
});

describe("a plan whose session is archived", () => {
  it("is forgotten with it, and not before", async () => {
    const clock = simulatedClock();
    const world = await open(ends, { clock });
    await (await session(world).proposePlan(proposal, { planId: "plan-1" })).cancel();
    clock.advance(1000);
    expect(await world.holdfast.retain({ finalMs: 0 })).toMatchObject({ actors: 0 });
    expect(await codeOf(() => world.holdfast.retain({ finalMs: 0, machines: ["work-plan"] }))).toBe("input_invalid");
    await session(world).archive();
    clock.advance(1000);
    expect(await world.holdfast.retain({ finalMs: 0 })).toMatchObject({ actors: 2 });
    expect(world.actors()).toEqual([]);
  });
});

describe("a turn that ends", () => {
  it.each([
    ["failed", () => Promise.reject(new Error("no")), "turn_failed"],
    ["completed", ends, null],
  ] as const)("%s leaves the execution as it should be", async (_, script, interruption) => {
    const world = await open(script);
    const plan = await approved(world);
    await (await session(world).send("Do it")).end();
    expect(plan.state().execution).toMatchObject({ status: interruption ? "interrupted" : "active", interruption });
  });

  it("by a stop interrupts the execution, once, and the next turn may fail again after it was resumed", async () => {
    const gate = new Gate();
    const world = await open(() => gate.pass().then(() => ends));
    const plan = await approved(world);
    for (const turn of [1, 2]) {
      const run = await session(world).send(`Turn ${turn}`);
      await run.stop();
      await run.end();
      expect(plan.state().execution).toMatchObject({ status: "interrupted", interruption: "turn_cancelled" });
      await plan.resume("plan-1.1");
    }
    expect(world.facts("work-plan/plan-1").filter(({ type }) => type === "plan.interrupted")).toHaveLength(2);
  });

  it("well is settled by a recovery, in this process or the next; a second one writes nothing", async () => {
    const world = await open();
    const plan = await approved(world);
    await (await session(world).send("Do it")).end();
    expect(plan.getSnapshot().hasTag("active")).toBe(true);
    await world.holdfast.recover();
    expect(plan.state().execution).toMatchObject({ status: "interrupted", interruption: "recovery" });
    const before = world.dump();
    await world.holdfast.recover();
    await world.reopen();
    expect(world.dump()).toBe(before);
    await present(world).resume("plan-1.1");
    await (await session(world).send("Do the rest")).end();
    await world.reopen();
    expect(present(world).state().execution).toMatchObject({ status: "interrupted", interruption: "recovery" });
  });

  it("before the approval, or before it was resumed, says nothing of the execution", async () => {
    const world = await open();
    await (await session(world).send("Plan it")).end();
    const plan = await approved(world);
    await world.holdfast.recover();
    await world.reopen();
    expect(present(world).state().execution).toMatchObject({ status: "active" });
    await present(world).interrupt("asked");
    await (await session(world).send("Talk of it")).end();
    await present(world).resume("plan-1.1");
    await world.holdfast.recover();
    expect(present(world).state().execution).toMatchObject({ status: "active" });
    expect(plan.id).toBe("plan-1");
  });

  it("because its process did interrupts the execution once, whatever is recovered after", async () => {
    const gate = new Gate();
    const world = await open(() => gate.pass().then(() => ends));
    await approved(world);
    await session(world).send("Do it");
    await world.reopen();
    expect(present(world).state().execution).toMatchObject({ status: "interrupted", interruption: "turn_failed" });
    const before = world.dump();
    await world.reopen();
    await world.holdfast.recover();
    expect(world.dump()).toBe(before);
  });
});

describe("a turn that is handed off", () => {
  it("keeps the execution active over its seal, over recovery and over a restart, until it ends", async () => {
    const gate = new Gate();
    const world = await open(({ step }) => (step === 1 ? gate.pass().then(() => goesOn) : ends));
    await approved(world);
    const run = await session(world).send("Do the long job", { runId: "run-1", turnId: "turn-1" });
    const handoff = await run.requestHandoff({ id: "handoff-1", successorRunId: "run-2", claimId: "claim-1" });
    gate.open();
    expect(await handoff.ready).toBe(true);
    await world.holdfast.recover();
    await handoff.commit();
    expect(await handoff.sealed).toBe(true);
    const sealed = world.dump();
    await world.holdfast.recover();
    await world.reopen();
    await world.holdfast.recover();
    expect(world.dump()).toBe(sealed);
    expect(present(world).state().execution).toMatchObject({ status: "active" });
    const check = await world.holdfast.checkContinuation("run-1", { purpose: "handoff" });
    if (check.decision === "park") throw new Error(JSON.stringify(check.reasons));
    for await (const event of world.holdfast.resume(check.continuation))
      if (event.type === "run.dispatched") expect(present(world).state().execution).toMatchObject({ status: "active" });
    expect(present(world).state().execution).toMatchObject({ status: "active" });
    await world.holdfast.recover();
    expect(present(world).state().execution).toMatchObject({ status: "interrupted", interruption: "recovery" });
    const before = world.dump();
    await world.holdfast.recover();
    expect(world.dump()).toBe(before);
    expect(world.holdfast.verify()).toMatchObject({ ok: true, faults: [] });
  });
});

describe("a damaged plan", () => {
  it("stops neither the start nor the recovery of the others", async () => {
    const world = await open();
    await world.holdfast.createSession({ backend: "assistant", cwd: world.root, id: "session-2" });
    await approved(world);
    const second = await world.holdfast.session("session-2").proposePlan(proposal, { planId: "plan-2" });
    await second.approve(1);
    for (const id of ["session-1", "session-2"]) await (await world.holdfast.session(id).send("Do it")).end();
    await world.holdfast.close();
    expect(world.tamper("UPDATE actors SET snapshot = '{' WHERE address = 'work-plan/plan-1'")).toBe(1);
    await world.open();
    expect(world.holdfast.plan("plan-2").state().execution).toMatchObject({ status: "interrupted", interruption: "recovery" });
    await world.holdfast.recover();
    expect(world.reader.actor("work-plan/plan-1")).toMatchObject({ snapshot: "{" });
  });

  it("says so where the entry that holds its text is not what it was", async () => {
    const world = await open();
    await session(world).proposePlan(proposal, { planId: "plan-1" });
    world.tamper(`UPDATE journal SET event = replace(event, '"title":"Move the job"', '"title":7') WHERE actor = 'work-plan/plan-1'`);
    expect(await codeOf(() => present(world).state())).toBe("journal_damaged");
  });
});

describe("what is not there", () => {
  it("is refused by name", async () => {
    const world = await open();
    expect(await codeOf(() => world.holdfast.plan("nobody"))).toBe("plan_not_found");
    expect(session(world).plan()).toBeUndefined();
  });
});
