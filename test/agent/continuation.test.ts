import { describe, expect, it } from "vitest";
import { z } from "zod";
import { machines, run } from "../../machines/index.ts";
import { openActors } from "../../src/actors.ts";
import { boundaryDigest, segmentsOf } from "../../src/agent/boundary.ts";
import { type Continuation, fakeBackend, fakeComposition, type StepInput, type Tool, type TranscriptEntry } from "../../src/index.ts";
import { codeOf, collect, Gate, World } from "./world.ts";

const ends = (text: string) => ({ report: { text, next: "end", stopReason: "end_turn" } }) as const;
const never = new Promise<never>(() => {});

function reading(reconcile?: Tool["reconcile"]): Tool<{ file: string }> {
  return {
    name: "read",
    description: "Reads.",
    parameters: z.strictObject({ file: z.string() }),
    ...(reconcile ? { reconcile } : {}),
    execute: async ({ file }) => (file === "stuck" ? never : { read: file }),
  };
}

const texts = (transcript: readonly TranscriptEntry[]) =>
  transcript.map(({ runId, fact }) => {
    if (fact.type === "message.added") return `${runId} ${fact.role}: ${fact.text}`;
    if (fact.type === "tool.called") return `${runId} calls ${fact.callId} ${JSON.stringify(fact.args)}`;
    if (fact.type === "permission.decided") return `${runId} ${fact.allow ? "may" : "may not"}: ${fact.question}`;
    return `${runId} ${fact.type} ${fact.callId}`;
  });

/** A run that was interrupted in its second step, in the middle of a tool. */
async function interrupted(reconcile?: Tool["reconcile"], goOn: (input: StepInput) => Promise<void> = async () => {}) {
  const at = new Gate();
  const backend = fakeBackend({
    tools: [reading(reconcile)],
    script: async (input) => {
      if (input.runId !== "run-1") {
        await goOn(input);
        return ends("finished");
      }
      if (input.step === 1) return { calls: [{ name: "read", args: { file: "a" } }], report: { text: "one", next: "continue" } };
      await input.callTool("read", { file: "b" });
      void input.callTool("read", { file: "stuck" });
      at.pass();
      return never;
    },
  });
  const world = await World.open(backend);
  const run = await world.begin("Read them");
  await at.reached;
  // The last call is durable before its tool stands still.
  for await (const event of run.events()) if (event.type === "tool.called" && JSON.stringify(event.args).includes("stuck")) break;
  await world.reopen();
  return { world, backend };
}

async function continuation(world: World, runId = "run-1"): Promise<Continuation> {
  const check = await world.holdfast.checkContinuation(runId);
  if (check.decision === "park") throw new Error(check.reasons.map((reason) => reason.code).join());
  return check.continuation;
}

const reasons = async (world: World, runId = "run-1", options = {}) => {
  const check = await world.holdfast.checkContinuation(runId, options);
  return check.decision === "continue" ? "continue" : check.reasons.map((reason) => reason.code);
};

describe("a run whose process ended in a step", () => {
  it("is failed as interrupted, and a call without an outcome is unknown", async () => {
    const { world } = await interrupted();
    expect(world.facts("run/run-1").slice(-2)).toMatchObject([
      { type: "tool.unknown", callId: "2.2", name: "read" },
      { type: "run.ended", kind: "failed", error: { code: "interrupted" } },
    ]);
    expect(world.state("session/session-1")).toBe("idle");
    expect(world.holdfast.verify().ok).toBe(true);
  });

  it.each([undefined, "query", "ask"] as const)("parks where the tool of an unknown call declares %s", async (reconcile) => {
    const { world } = await interrupted(reconcile);
    const before = world.dump();
    expect(await reasons(world)).toEqual(["tools_unknown"]);
    const row = world.reader.actor("run/run-1");
    const forged = {
      purpose: "plain",
      source: { runId: "run-1", seq: row?.seq, hash: row?.hash },
      sessionId: "session-1",
      turnId: "t",
      runId: "r",
      handoffId: null,
      boundary: boundaryDigest(segmentsOf(world.reader, "run-1")),
      tools: ["read"],
      outcomes: {},
    };
    expect(await codeOf(() => collect(world.holdfast.resume(forged as Continuation)))).toBe("tools_unknown");
    expect(world.dump()).toBe(before);
  });

  it("goes on in a new turn from everything durable where calling again is safe", async () => {
    let seen: string[] = [];
    const { world, backend } = await interrupted("retry", async (input) => {
      seen = texts([...input.transcript()]);
    });
    const given = await continuation(world);
    const events = await collect(world.holdfast.resume(given));
    expect(events.at(-1)).toMatchObject({ type: "run.ended", kind: "completed", runId: given.runId });
    expect(seen).toEqual([
      "run-1 user: Read them",
      'run-1 calls 1.1 {"file":"a"}',
      "run-1 tool.settled 1.1",
      "run-1 assistant: one",
      'run-1 calls 2.1 {"file":"b"}',
      "run-1 tool.settled 2.1",
      'run-1 calls 2.2 {"file":"stuck"}',
      "run-1 tool.unknown 2.2",
    ]);
    expect({ ...backend.steps.at(-1) }).toMatchObject({
      text: "",
      step: 1,
      turnId: given.turnId,
      rootRunId: given.runId,
      headAnchor: { runId: "run-1", turnId: "turn-1", text: "Read them" },
      continuation: { purpose: "plain", sourceRunId: "run-1", denied: false },
    });
    expect(world.facts(`run/${given.runId}`)[0]).toMatchObject({
      type: "run.opened",
      source: { kind: "plain", runId: "run-1", head: given.source },
    });
    expect(await reasons(world)).toEqual(["continuation_already_exists"]);
    expect(await codeOf(() => collect(world.holdfast.resume(given)))).toBe("continuation_claim_conflict");
    expect(world.holdfast.verify().ok).toBe(true);
  });

  it("is continued once by two at a time", async () => {
    const { world } = await interrupted("retry");
    const [first, second] = [await continuation(world), await continuation(world)];
    const results = await Promise.all([first, second].map((given) => codeOf(() => collect(world.holdfast.resume(given)))));
    expect(results).toEqual([undefined, "continuation_in_progress"]);
    expect(world.actors("run")).toHaveLength(2);
  });
});

describe("a run that was stopped", () => {
  it("can be continued, and its own turn is not busy with itself", async () => {
    const at = new Gate();
    const world = await World.open(
      fakeBackend({ script: ({ runId }) => (runId === "run-1" ? at.pass().then(() => ends("done")) : ends("done")) }),
    );
    const run = await world.begin();
    await at.reached;
    expect(await reasons(world)).toEqual(["run_active"]);
    await run.stop();
    at.open();
    await run.end();
    expect(await reasons(world)).toBe("continue");
    await collect(world.holdfast.resume(await continuation(world)));
    expect(world.context("session/session-1").turns).toBe(2);
  });
});

describe("a continuation is parked", () => {
  const world = () =>
    World.open(
      fakeBackend({
        script: async ({ runId }) => {
          if (runId === "run-1") throw new Error("broken");
          return ends("done");
        },
      }),
    );

  it("where the run completed its turn", async () => {
    const given = await World.open(fakeBackend({ script: ends("done") }));
    await (await given.begin()).end();
    expect(await reasons(given)).toEqual(["nothing_to_resume"]);
    expect(await reasons(given, "run-1", { purpose: "handoff" })).toEqual(["not_sealed"]);
    const row = given.reader.actor("run/run-1");
    const forged = {
      purpose: "plain",
      source: { runId: "run-1", seq: row?.seq, hash: row?.hash },
      sessionId: "session-1",
      turnId: "t",
      runId: "r",
      handoffId: null,
      boundary: boundaryDigest(segmentsOf(given.reader, "run-1")),
      tools: [],
      outcomes: {},
    } as Continuation;
    expect(await codeOf(() => collect(given.holdfast.resume(forged)))).toBe("nothing_to_resume");
    expect(await codeOf(() => collect(given.holdfast.resume({ ...forged, purpose: "handoff" })))).toBe("not_sealed");
  });

  it("where the session went on with another turn, which would be missing from the transcript", async () => {
    const given = await world();
    await (await given.begin()).end();
    const check = await continuation(given);
    const gate = given.holdfast.session("session-1");
    await (await gate.send("something else", { runId: "run-2" })).end();
    expect(await reasons(given)).toEqual(["turn_superseded"]);
    const before = given.dump();
    expect(await codeOf(() => collect(given.holdfast.resume(check)))).toBe("turn_superseded");
    expect(given.dump()).toBe(before);
  });

  it("where another turn is under way, and where the session is archived", async () => {
    const at = new Gate();
    const given = await World.open(
      fakeBackend({
        script: async ({ runId }) => {
          if (runId === "run-1") throw new Error("broken");
          await at.pass();
          return ends("done");
        },
      }),
    );
    await (await given.begin()).end();
    const check = await continuation(given);
    const run = await given.holdfast.session("session-1").send("more");
    await at.reached;
    expect(await reasons(given)).toEqual(["session_busy"]);
    expect(await codeOf(() => collect(given.holdfast.resume(check)))).toBe("session_busy");
    at.open();
    await run.end();
    await given.holdfast.session("session-1").archive();
    expect(await reasons(given)).toEqual(["session_archived"]);
    expect(await codeOf(() => collect(given.holdfast.resume(check)))).toBe("session_archived");
  });

  it("where the source's journal is damaged, and nothing is changed", async () => {
    const given = await world();
    await (await given.begin()).end();
    const check = await continuation(given);
    given.tamper("UPDATE journal SET event = replace(event, 'Do the', 'Do no') WHERE actor = 'run/run-1' AND seq = 1");
    const before = given.dump();
    expect(await reasons(given)).toEqual(["journal_damaged"]);
    expect(await reasons(given, "run-1", { purpose: "handoff" })).toEqual(["journal_damaged"]);
    expect(given.dump()).toBe(before);
    // Other sessions work.
    const session = await given.holdfast.createSession({ backend: "assistant" });
    await (await session.send("hello")).end();
    expect(check.runId).not.toBe("run-1");
  });

  it.each([
    ["nothing", undefined],
    ["half of it", { purpose: "plain" }],
    [
      "a number for a run",
      { purpose: "plain", source: { runId: 1, seq: 1, hash: "" }, sessionId: "s", turnId: "t", runId: "r", handoffId: null },
    ],
  ])("and %s is no continuation", async (_, given) => {
    const opened = await world();
    expect(await codeOf(() => collect(opened.holdfast.resume(given as never)))).toBe("argument_invalid");
  });
});

describe("a transcript", () => {
  it("spans turns and runs in order: a handed-off turn, then a plain one", async () => {
    const seen = new Map<string, string[]>();
    const at = new Gate();
    const world = await World.open(
      fakeBackend({
        tools: [reading()],
        script: async (input) => {
          if (input.runId === "run-2" && input.step === 1) await at.pass();
          seen.set(`${input.runId}#${input.step}`, texts([...input.transcript()]));
          if (input.runId === "run-2")
            return {
              calls: [{ name: "read", args: { file: "b" } }],
              report: { text: "to be continued", next: "continue", remainingSteps: 1 },
            };
          return ends(`from ${input.runId}`);
        },
      }),
    );
    await (await world.begin("First")).end();
    const run = await world.holdfast.session("session-1").send("Second", { runId: "run-2" });
    const handoff = await run.requestHandoff({ successorRunId: "run-3" });
    at.open();
    await handoff.ready;
    await handoff.commit();
    await handoff.sealed;
    const check = await world.holdfast.checkContinuation("run-2", { purpose: "handoff" });
    if (check.decision === "continue") await collect(world.holdfast.resume(check.continuation));
    await (await world.holdfast.session("session-1").send("Third", { runId: "run-4" })).end();
    expect(seen.get("run-3#1")).toEqual([
      "run-1 user: First",
      "run-1 assistant: from run-1",
      "run-2 user: Second",
      'run-2 calls 1.1 {"file":"b"}',
      "run-2 tool.settled 1.1",
      "run-2 assistant: to be continued",
    ]);
    expect(seen.get("run-4#1")?.slice(-2)).toEqual(["run-3 assistant: from run-3", "run-4 user: Third"]);
  });
});

describe("closing a runtime in a step", () => {
  it("ends watchers, interrupts the run by the next opening, and the turn can be finished", async () => {
    const at = new Gate();
    let aborted: unknown;
    const world = await World.open(
      fakeBackend({
        composition: fakeComposition(),
        script: async ({ runId, signal }) => {
          if (runId !== "run-1") return ends("done");
          signal.addEventListener("abort", () => {
            aborted = signal.reason;
          });
          return at.pass() as never;
        },
      }),
    );
    const run = await world.begin();
    const watching = collect(run.events());
    await at.reached;
    await world.holdfast.close();
    expect((await watching).at(-1)?.type).toBe("run.dispatched");
    expect(aborted).toMatchObject({ code: "closed" });
    expect(world.state("run/run-1")).toBe("running.stepping");
    expect(await codeOf(() => run.stop())).toBe("closed");
    await world.open();
    expect(world.state("run/run-1")).toBe("failed");
    at.open();
    await collect(world.holdfast.resume(await continuation(world)));
    expect(world.count("run.dispatched")).toBe(2);
    expect(world.holdfast.verify().ok).toBe(true);
  });

  it("leaves no promise of a handoff unhandled", async () => {
    const at = new Gate();
    const world = await World.open(fakeBackend({ script: () => at.pass() as never }));
    const run = await world.begin();
    const handoff = await run.requestHandoff();
    await at.reached;
    await world.holdfast.close();
    expect([await codeOf(() => handoff.ready), await codeOf(() => handoff.sealed)]).toEqual(["closed", "closed"]);
  });
});

describe("a run of which a run before it is gone", () => {
  it("is not continued: the check parks, a check from before is refused, and a new turn fails rather than forget", async () => {
    const script = ({ runId, transcript }: StepInput) => {
      if (runId === "run-1") return ends("first");
      for (const _ of transcript());
      return { calls: [], report: null as never };
    };
    const world = await World.open(fakeBackend({ script }));
    await (await world.begin()).end();
    const session = world.holdfast.session("session-1");
    await (await session.send("Go on", { runId: "run-2" })).end();
    expect(world.state("run/run-2")).toBe("failed");
    const given = await continuation(world, "run-2");
    await world.holdfast.close();
    const engine = await openActors({ root: world.root, machines, start: false });
    await engine.get(run, "run-1")?.delete();
    await engine.close();
    await world.open();
    const before = world.dump();
    expect(await world.holdfast.checkContinuation("run-2")).toEqual({
      decision: "park",
      reasons: [{ code: "run_not_found", message: "there is no run run-1, from which run-2 goes on" }],
    });
    expect(await codeOf(() => collect(world.holdfast.resume(given)))).toBe("run_not_found");
    expect(world.dump()).toBe(before);
    const next = await world.holdfast.session("session-1").send("And now?", { runId: "run-3" });
    expect(await next.end()).toMatchObject({ kind: "failed", error: { code: "run_not_found" } });
  });
});
