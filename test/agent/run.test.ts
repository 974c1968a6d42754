import { describe, expect, it } from "vitest";
import { z } from "zod";
import { fakeBackend, fakeComposition, type RunEvent, type StepInput, type StepReport, type Tool } from "../../src/index.ts";
import { simulatedClock } from "../../src/testing/index.ts";
import { codeOf, collect, Gate, stored, World } from "./world.ts";

const ends = { report: { text: "done", next: "end", stopReason: "end_turn" } } as const;
const question = { id: "question-1", question: "May I?" };

const note: Tool<{ thing: string }> = {
  name: "note",
  description: "Notes a thing down.",
  parameters: z.strictObject({ thing: z.string() }),
  execute: async ({ thing }) => ({ noted: thing }),
};

const talkative = [
  { partial: ["a", "b"], calls: [{ name: "note", args: { thing: "x" } }], report: { text: "first", next: "continue" } },
  { partial: ["c"], calls: [{ name: "note", args: { thing: "y" } }], report: { text: "second", next: "end", stopReason: "end_turn" } },
] as const;

describe("the events of a run", () => {
  it("are its facts in order, with partial output between them, and end with the run", async () => {
    const world = await World.open(fakeBackend({ script: talkative, tools: [note] }));
    const run = await world.begin();
    const events = await collect(run.events());
    expect(events.filter((event) => event.type === "partial").map(({ output }) => output)).toEqual(["a", "b", "c"]);
    expect(stored(events).map((event) => event.type)).toEqual(world.facts("run/run-1").map((fact) => fact.type));
    expect(stored(events).map((event) => event.type)).toEqual([
      "run.opened",
      "message.added",
      "composition.recorded",
      "run.dispatched",
      "tool.called",
      "tool.settled",
      "message.added",
      "tool.called",
      "tool.settled",
      "message.added",
      "run.ended",
    ]);
  });

  it("can be had again from the cursor of each of them: each that follows, once", async () => {
    const world = await World.open(fakeBackend({ script: talkative, tools: [note] }));
    const run = await world.begin();
    const all = stored(await collect(run.events()));
    expect(new Set(all.map((event) => event.cursor)).size).toBe(all.length);
    for (const [index, { cursor }] of all.entries()) expect(await collect(run.events({ after: cursor }))).toEqual(all.slice(index + 1));
    await world.reopen();
    expect(await collect(world.holdfast.run("run-1").events({ after: all[4]?.cursor ?? 0 }))).toEqual(all.slice(5));
  });

  it("can be followed by many at a time, from different places, while the run goes on", async () => {
    const gate = new Gate();
    const world = await World.open(
      fakeBackend({
        script: ({ step }: StepInput) => (step === 1 ? talkative[0] : gate.pass().then(() => talkative[1])),
        tools: [note],
      }),
    );
    const run = await world.begin();
    const first: RunEvent[] = [];
    const whole = collect(run.events(), first);
    await gate.reached;
    const late = collect(run.events({ after: stored(first).at(-1)?.cursor ?? 0 }));
    gate.open();
    await whole;
    expect(stored(await late)).toEqual(stored(first).slice(-stored(await late).length));
    expect(stored(await late).at(-1)?.type).toBe("run.ended");
  });

  it("end with the reason of a signal, and the run goes on", async () => {
    const gate = new Gate();
    const world = await World.open(fakeBackend({ script: () => gate.pass().then(() => ends) }));
    const run = await world.begin();
    const abort = new AbortController();
    const watching = collect(run.events({ signal: abort.signal }));
    await gate.reached;
    abort.abort(new Error("enough"));
    await expect(watching).rejects.toThrow("enough");
    gate.open();
    expect(await run.end()).toMatchObject({ kind: "completed" });
  });

  it("leave no partial output in the store", async () => {
    const world = await World.open(fakeBackend({ script: { partial: ["nowhere to be found"], ...ends } }));
    await (await world.begin()).end();
    expect(world.dump()).not.toContain("nowhere to be found");
  });
});

describe("a step's report", () => {
  it.each([
    ["a negative number of steps", { next: "continue", remainingSteps: -1 }],
    ["half a step", { next: "continue", remainingSteps: 0.5 }],
    ["more steps than can be counted", { next: "continue", remainingSteps: Number.MAX_VALUE }],
    ["an unknown next", { next: "perhaps" }],
    ["an end without its reason", { next: "end" }],
    ["a wait without its question", { next: "wait" }],
    ["something more", { next: "continue", more: true }],
    ["text beyond its bound", { next: "continue", text: "x".repeat(1_048_577) }],
    ["nothing", undefined],
  ])("with %s fails the run", async (_, report) => {
    const world = await World.open({ step: async () => report as StepReport });
    const run = await world.begin();
    expect(await run.end()).toMatchObject({ kind: "failed", error: { code: "step_report_invalid" } });
    expect(world.state("run/run-1")).toBe("failed");
    expect(world.holdfast.verify().ok).toBe(true);
  });

  it("with ill-formed text fails the run and nothing else", async () => {
    const world = await World.open({ step: async () => ({ next: "end", stopReason: "end_turn", text: "\ud800" }) });
    expect(await (await world.begin()).end()).toMatchObject({ kind: "failed" });
    expect(world.holdfast.verify().ok).toBe(true);
  });

  it("that never comes, for the backend threw, fails the run with its message", async () => {
    const world = await World.open({ step: () => Promise.reject(new Error("no model")) });
    expect(await (await world.begin()).end()).toMatchObject({ kind: "failed", error: { code: "effect_failed", message: "no model" } });
  });

  it("counts the turn's steps down to the limit", async () => {
    const backend = fakeBackend({ script: { report: { next: "continue" } } });
    const world = await World.open(backend);
    const run = await world.begin("x", { maxSteps: 3 });
    expect(await run.end()).toEqual({ kind: "completed", stopReason: "step_limit" });
    expect(backend.steps.map((step) => step.maxSteps)).toEqual([3, 2, 1]);
  });

  it("of the backend's own limit ends the turn as well, and cannot raise it", async () => {
    const left = [5, 9, 0];
    const backend = fakeBackend({ script: ({ step }) => ({ report: { next: "continue", remainingSteps: left[step - 1] ?? 0 } }) });
    const world = await World.open(backend);
    expect(await (await world.begin()).end()).toEqual({ kind: "completed", stopReason: "step_limit" });
    expect(backend.steps.map((step) => step.maxSteps)).toEqual([null, 5, 4]);
  });
});

describe("a composition", () => {
  it.each([
    ["a hash that is none", { promptHash: "sha256:abc" }],
    ["an upper-case composer", { composerId: "Composer" }],
    ["tool names out of order", { toolNames: ["b", "a"] }],
    ["a tool name twice", { toolNames: ["a", "a"] }],
    [
      "sources out of order",
      {
        sourceRevisions: [
          { id: "b", revision: "1" },
          { id: "a", revision: "1" },
        ],
      },
    ],
    ["a context window of zero", { contextWindow: 0 }],
    ["something more", { more: 1 }],
  ])("with %s fails the run before its dispatch", async (_, changes) => {
    const backend = fakeBackend({ script: ends, composition: fakeComposition(changes as never) });
    const world = await World.open(backend);
    expect(await (await world.begin()).end()).toMatchObject({ kind: "failed", error: { code: "composition_invalid" } });
    expect(backend.steps).toEqual([]);
    expect(world.count("run.dispatched")).toBe(0);
  });

  it("is stored whole, and its hashes are in the fact", async () => {
    const declared = fakeComposition({ toolNames: ["a", "b"] });
    const world = await World.open(fakeBackend({ script: ends, composition: declared }));
    await (await world.begin()).end();
    const fact = world.facts("run/run-1").find(({ type }) => type === "composition.recorded");
    expect(JSON.parse(Buffer.from(world.reader.blob(fact?.body) ?? []).toString("utf8"))).toEqual(declared);
    expect(fact).toMatchObject({ promptHash: declared.promptHash, composerRevision: "1" });
    expect(fact).not.toHaveProperty("toolNames");
  });

  it("is durable before the first step", async () => {
    const states: unknown[] = [];
    const world: World = await World.open(
      fakeBackend({
        script: () => {
          states.push(...world.facts("run/run-1").map((fact) => fact.type));
          return ends;
        },
      }),
    );
    await (await world.begin()).end();
    expect(states).toEqual(["run.opened", "message.added", "composition.recorded", "run.dispatched"]);
  });
});

describe("a stop", () => {
  const holding = (
    given: { readonly at: Gate; readonly tools?: readonly Tool<any>[] },
    inStep: (input: StepInput) => Promise<unknown> = () => given.at.pass(),
  ) => fakeBackend({ script: (input) => inStep(input).then(() => ends), ...(given.tools ? { tools: given.tools } : {}) });

  it("while preparing ends the run before its dispatch", async () => {
    const at = new Gate();
    let aborted = false;
    const world = await World.open(
      fakeBackend({
        script: ends,
        composition: async ({ signal }) => {
          signal.addEventListener("abort", () => {
            aborted = true;
          });
          await at.pass();
          return null;
        },
      }),
    );
    const run = await world.begin();
    await at.reached;
    await run.stop();
    expect(await run.end()).toEqual({ kind: "cancelled", by: "user" });
    expect(world.count("run.dispatched")).toBe(0);
    expect(aborted).toBe(true);
    at.open();
  });

  it("in a step aborts its signal and keeps what it still reports", async () => {
    const at = new Gate();
    let aborted = false;
    const world = await World.open(
      holding({ at }, async ({ signal }) => {
        const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
        at.pass();
        await stopped;
        aborted = signal.aborted;
      }),
    );
    const run = await world.begin();
    await at.reached;
    await run.stop({ by: "shutdown" });
    expect(await run.end()).toEqual({ kind: "cancelled", by: "shutdown" });
    expect(aborted).toBe(true);
    expect(world.facts("run/run-1").slice(-2)).toEqual([
      { type: "message.added", role: "assistant", from: "output" },
      { type: "run.ended", kind: "cancelled", by: "shutdown" },
    ]);
    expect(world.state("session/session-1")).toBe("idle");
  });

  it("in a tool that heeds it settles the call as aborted", async () => {
    const at = new Gate();
    const slow: Tool = {
      name: "slow",
      description: "Waits.",
      parameters: z.strictObject({}),
      execute: (_, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
          at.pass();
        }),
    };
    const world = await World.open(holding({ at, tools: [slow] }, ({ callTool }) => callTool("slow", {})));
    const run = await world.begin();
    await at.reached;
    await run.stop();
    expect(await run.end()).toMatchObject({ kind: "cancelled" });
    const settled = world.rows("run/run-1").find((row) => row.facts.includes('"tool.settled"'));
    expect(JSON.parse(settled?.event ?? "{}")).toMatchObject({ outcome: { ok: false, error: { code: "tool_aborted" } } });
    expect(world.count("tool.unknown")).toBe(0);
  });

  it("in a step and a tool that do not heed it ends the run after its grace, and the call is unknown", async () => {
    const at = new Gate();
    const never = new Promise<never>(() => {});
    const stubborn: Tool = {
      name: "stubborn",
      description: "Never ends.",
      parameters: z.strictObject({}),
      execute: () => at.pass().then(() => never),
    };
    const clock = simulatedClock();
    const world = new World({ assistant: holding({ at, tools: [stubborn] }, ({ callTool }) => callTool("stubborn", {})) }, { clock });
    await world.open();
    const run = await world.begin();
    await at.reached;
    await run.stop();
    expect(world.state("run/run-1")).toBe("running.stopping");
    clock.advance(9_999);
    expect(world.state("run/run-1")).toBe("running.stopping");
    clock.advance(1);
    expect(await run.end()).toMatchObject({ kind: "cancelled" });
    expect(world.facts("run/run-1").filter((fact) => fact.type === "tool.unknown")).toEqual([
      { type: "tool.unknown", callId: "1.1", name: "stubborn" },
    ]);
  });

  it("twice is refused the second time", async () => {
    const at = new Gate();
    const world = await World.open(holding({ at }));
    const run = await world.begin();
    await at.reached;
    expect([await codeOf(() => run.stop()), await codeOf(() => run.stop())]).toEqual([undefined, "stop_in_progress"]);
    at.open();
    await run.end();
    expect(await codeOf(() => run.stop())).toBe("run_not_active");
  });

  it("while waiting for a person ends the run", async () => {
    const world = await World.open(fakeBackend({ script: { report: { next: "wait", interaction: question } } }));
    const run = await world.begin();
    for await (const event of run.events()) if (event.type === "run.waiting") break;
    expect(world.state("session/session-1")).toBe("waiting");
    await run.stop();
    expect(await run.end()).toMatchObject({ kind: "cancelled" });
    expect([world.state("run/run-1"), world.state("session/session-1")]).toEqual(["cancelled", "idle"]);
  });

  it("of a turn that is not the session's own is refused, and stops nobody", async () => {
    const at = new Gate();
    const world = await World.open(fakeBackend({ script: ({ runId }) => (runId === "run-1" ? ends : at.pass().then(() => ends)) }));
    const first = await world.begin();
    await first.end();
    const second = await world.holdfast.session("session-1").send("more");
    await at.reached;
    expect(await codeOf(() => first.stop())).toBe("run_not_active");
    at.open();
    expect(await second.end()).toMatchObject({ kind: "completed" });
  });
});

/** The id of the interaction that asks what the backend calls `question-1`. */
const ASKED = "run-1.question-1";

describe("a question", () => {
  const asks = (input: StepInput) => (input.step === 1 ? { report: { next: "wait", interaction: question } as const } : ends);

  it("waits for its answer, which becomes the user's message", async () => {
    const backend = fakeBackend({ script: asks });
    const world = await World.open(backend);
    const run = await world.begin();
    for await (const event of run.events())
      if (event.type === "run.waiting") {
        expect(event).toMatchObject({ ...question, id: ASKED, kind: "question", subject: null, hash: expect.any(String) });
        await run.answer(ASKED, "yes");
      }
    expect(await run.end()).toMatchObject({ kind: "completed" });
    const texts = [...(backend.steps[1]?.transcript() ?? [])].map(({ fact }) => fact);
    expect(texts).toContainEqual({ type: "message.added", role: "user", text: "yes" });
  });

  it("takes no other answer, and one only", async () => {
    const world = await World.open(fakeBackend({ script: asks }));
    const run = await world.begin();
    expect(await codeOf(() => run.answer(ASKED, "early"))).toBe("interaction_not_open");
    for await (const event of run.events()) if (event.type === "run.waiting") break;
    expect(await codeOf(() => run.answer("question-2", "yes"))).toBe("interaction_not_open");
    const answers = ["yes", "no", "yes"].map((text) => codeOf(() => run.answer(ASKED, text)));
    expect(await Promise.all(answers)).toEqual([undefined, "interaction_answered", undefined]);
    await run.end();
    expect(await codeOf(() => run.answer(ASKED, "late"))).toBe("interaction_answered");
    expect(world.count("message.added", (fact) => fact.from === "answer")).toBe(1);
  });

  it("survives a restart; the run prepares again before its next step", async () => {
    let prepared = 0;
    const backend = fakeBackend({
      script: asks,
      composition: () => {
        prepared++;
        return fakeComposition();
      },
    });
    const world = await World.open(backend);
    const run = await world.begin();
    for await (const event of run.events()) if (event.type === "run.waiting") break;
    await world.reopen();
    expect(world.state("run/run-1")).toBe("waiting");
    await world.holdfast.run("run-1").answer(ASKED, "yes");
    expect(await world.holdfast.run("run-1").end()).toMatchObject({ kind: "completed" });
    expect(prepared).toBe(2);
    expect(world.count("run.dispatched")).toBe(1);
  });

  it("that was open over a restart ends with drift where the composition changed", async () => {
    let contextWindow = 1000;
    const world = await World.open(fakeBackend({ script: asks, composition: () => fakeComposition({ contextWindow }) }));
    const run = await world.begin();
    for await (const event of run.events()) if (event.type === "run.waiting") break;
    contextWindow = 2000;
    await world.reopen();
    await world.holdfast.run("run-1").answer(ASKED, "yes");
    expect(await world.holdfast.run("run-1").end()).toMatchObject({
      kind: "failed",
      error: { code: "composition_drift" },
      drift: [{ field: "context_window", source: "1000", own: "2000", policy: "refuse" }],
    });
  });
});

describe("a handoff request", () => {
  const ids = { id: "handoff-1", successorRunId: "run-2", claimId: "claim-1" };

  it("that is made again with the same identities is the same request", async () => {
    const at = new Gate();
    const world = await World.open(
      fakeBackend({ script: ({ step }) => at.pass().then(() => (step === 1 ? { report: { next: "continue" } } : ends)) }),
    );
    const run = await world.begin();
    await run.requestHandoff(ids);
    const again = await run.requestHandoff(ids);
    expect(await codeOf(() => run.requestHandoff({ ...ids, claimId: "claim-2" }))).toBe("handoff_in_progress");
    at.open();
    expect([await again.ready, await again.cancel()]).toEqual([true, true]);
    await run.end();
  });

  it("whose requester lost it is found again by its run", async () => {
    const at = new Gate();
    const world = await World.open(
      fakeBackend({ script: ({ step }) => at.pass().then(() => (step === 1 ? { report: { next: "continue" } } : ends)) }),
    );
    const run = await world.begin();
    expect(run.handoff()).toBeUndefined();
    await run.requestHandoff(ids);
    at.open();
    const found = world.holdfast.run("run-1").handoff();
    expect([found?.id, await found?.ready, await found?.cancel()]).toEqual(["handoff-1", true, true]);
    await run.end();
    expect(run.handoff()).toBeUndefined();
  });

  it("with an identity that is taken is refused and writes nothing", async () => {
    const at = new Gate();
    const world = await World.open(fakeBackend({ script: ({ runId }) => (runId === "run-1" ? ends : at.pass().then(() => ends)) }));
    await (await world.begin()).end();
    const run = await world.holdfast.session("session-1").send("more", { runId: "run-2" });
    await at.reached;
    const before = world.dump();
    const refused = async (options: Parameters<typeof run.requestHandoff>[0]) => codeOf(() => run.requestHandoff(options));
    expect(await refused({ successorRunId: "run-1" })).toBe("identity_taken");
    expect(await refused({ successorRunId: "run-2" })).toBe("successor_not_new");
    expect(await refused({ successorRunId: "a\u0000b" })).toBe("event_invalid");
    expect(await refused({ claimId: "" })).toBe("event_invalid");
    expect(world.dump()).toBe(before);
    await run.requestHandoff({ id: "handoff-1", successorRunId: "run-3", claimId: "claim-1" });
    expect(await codeOf(() => world.holdfast.session("session-1").send("x", { runId: "run-3" }))).toBe("session_busy");
    at.open();
    await run.end();
    // What a handoff reserved stays reserved.
    expect(await codeOf(() => world.holdfast.session("session-1").send("x", { runId: "run-3" }))).toBe("identity_taken");
  });

  it("with a signal that is aborted already is not made", async () => {
    const at = new Gate();
    const world = await World.open(fakeBackend({ script: () => at.pass().then(() => ends) }));
    const run = await world.begin();
    await at.reached;
    await expect(run.requestHandoff({ signal: AbortSignal.abort(new Error("too late")) })).rejects.toThrow("too late");
    expect(world.actors("handoff")).toEqual([]);
    at.open();
    await run.end();
  });

  it("mints the identities that are absent, and tells them", async () => {
    const at = new Gate();
    const world = await World.open(
      fakeBackend({ script: () => at.pass().then(() => ({ report: { next: "continue", remainingSteps: 1 } })) }),
    );
    const run = await world.begin();
    const handoff = await run.requestHandoff();
    at.open();
    expect(await handoff.ready).toBe(true);
    expect(await handoff.preview()).toMatchObject({ ...handoff.identities, handoffId: handoff.id });
    await run.stop();
    await run.end();
    expect(await codeOf(() => handoff.preview())).toBe("not_held");
  });
});
