import { describe, expect, it } from "vitest";
import { z } from "zod";
import { reconcile } from "../../src/agent/reconcile.ts";
import { fakeBackend, type StepInput, type Tool, type ToolOutcome, type TranscriptEntry } from "../../src/index.ts";
import { checked, codes, ends, forged, found, goOn, reading } from "./way.ts";
import { codeOf, collect, Gate, World } from "./world.ts";

const never = new Promise<never>(() => {});
const WENT: ToolOutcome = { ok: true, result: { sent: 1 } };
const FAILED: ToolOutcome = { ok: false, error: { code: "not_sent", message: "it was not sent" } };

interface Given {
  /** Name of the call's id in its run. */
  readonly callId?: string;
  /** What runs after the first do. */
  readonly then?: (input: StepInput) => Promise<unknown> | unknown;
}

/** A run that was cut off in the middle of the call `1.1` of the tool `send`. */
async function cutOff(tool: Partial<Tool<any>>, { callId, then = () => ends() }: Given = {}) {
  const at = new Gate();
  const tools = [reading({ name: "send", parameters: z.strictObject({ to: z.string() }), execute: () => at.pass() as never, ...tool })];
  const seen: TranscriptEntry[][] = [];
  const backend = fakeBackend({
    tools,
    script: async (input) => {
      if (input.runId === "run-1") {
        void input.callTool("send", { to: "you" }, callId === undefined ? {} : { callId });
        return never;
      }
      seen.push([...input.transcript()]);
      return (await then(input)) as never;
    },
  });
  const world = new World({ assistant: backend });
  await world.open();
  await world.begin();
  await at.reached;
  await world.reopen();
  return { world, tools, seen };
}

const call = { runId: "run-1", callId: "1.1", name: "send", args: { to: "you" } };
const reconciled = (seen: readonly TranscriptEntry[] = []) => seen.filter(({ fact }) => fact.type === "tool.reconciled");

describe("a call that was cut off, whose tool declares", () => {
  it("nothing, keeps everybody from going on, and the reason says which call it is", async () => {
    const { world } = await cutOff({});
    expect(await found(world)).toEqual([
      { code: "tools_unknown", message: "no outcome is known of send (1.1)", details: { calls: [{ ...call, reconcile: null }] } },
    ]);
  });

  it("retry, is left as it is: the model may call again", async () => {
    const { world, seen } = await cutOff({ reconcile: "retry" });
    await goOn(world);
    expect(seen[0]?.map(({ fact }) => fact.type)).toEqual(["message.added", "tool.called", "tool.unknown"]);
  });

  it.each([WENT, FAILED])("query, is settled by what its tool says: %j", async (outcome) => {
    const asked: unknown[] = [];
    const query: Tool["query"] = async (args, context) => {
      asked.push([args, context]);
      return outcome;
    };
    const { world, seen } = await cutOff({ reconcile: "query", query });
    const events = await goOn(world);
    const own = { args: { to: "you" }, context: { runId: "run-1", callId: "1.1", cwd: world.root, signal: expect.any(AbortSignal) } };
    // Once for the check, and once for what the machines are told.
    expect(asked).toEqual(Array(2).fill([own.args, own.context]));
    const by = { of: "run-1", callId: "1.1", name: "send", by: "query" };
    expect(reconciled(seen[0]).map(({ fact }) => fact)).toEqual([{ type: "tool.reconciled", ...by, outcome }]);
    expect(events.filter(({ type }) => type === "tool.reconciled")).toMatchObject([by]);
    expect(world.holdfast.verify().faults).toEqual([]);
  });

  it.each([
    ["its tool cannot tell", { reconcile: "query", query: async () => null }],
    ["its tool has no query", { reconcile: "query" }],
  ] as const)("query, parks where %s", async (_, tool) => {
    const { world } = await cutOff(tool);
    expect(await found(world)).toMatchObject([{ code: "tools_unknown", details: { calls: [{ ...call, reconcile: "query" }] } }]);
    const before = world.dump();
    expect(await codeOf(() => collect(world.holdfast.resume(forged(world, "plain", ["send"]))))).toBe("tools_unknown");
    expect(world.dump()).toBe(before);
  });

  it("query, parks where its tool is not there", async () => {
    const { world, tools } = await cutOff({ reconcile: "query", query: async () => WENT });
    tools.length = 0;
    expect(await codes(world)).toEqual(["tool_set_changed", "tools_unknown"]);
  });

  it.each([
    ["throws", () => Promise.reject(new Error("no line")), "no line"],
    ["gives something that is no outcome", async () => ({ ok: true, outcome: 1 }), "no outcome"],
    ["gives what is no JSON", async () => ({ ok: true, result: Number.NaN }), "no outcome"],
    ["gives more than a result may be", async () => ({ ok: true, result: "x".repeat(65_536) }), "65536"],
  ] as const)("query, parks with reconcile_failed where its tool %s, and a resume is refused with it", async (_, query, message) => {
    const answers: Tool["query"][] = [async () => WENT];
    const { world, seen } = await cutOff({ reconcile: "query", query: (...given) => answers.at(-1)?.(...given) as never });
    const continuation = await checked(world);
    answers.push(query as never);
    const before = world.dump();
    expect(await found(world)).toMatchObject([{ code: "reconcile_failed", message: expect.stringContaining(message) }]);
    expect(await codeOf(() => collect(world.holdfast.resume(continuation)))).toBe("reconcile_failed");
    expect(world.dump()).toBe(before);
    answers.pop();
    await collect(world.holdfast.resume(continuation));
    expect(reconciled(seen[0])).toHaveLength(1);
  });

  it("ask, parks until a person says what came of it, and that is what the model reads", async () => {
    const { world, seen } = await cutOff({ reconcile: "ask" });
    expect(await found(world)).toMatchObject([{ code: "tools_unknown", details: { calls: [{ ...call, reconcile: "ask" }] } }]);
    const continuation = await checked(world, "run-1", { outcomes: { "1.1": FAILED } });
    expect(continuation.outcomes).toEqual({ "1.1": FAILED });
    await collect(world.holdfast.resume(continuation));
    expect(reconciled(seen[0]).map(({ fact }) => fact)).toEqual([
      { type: "tool.reconciled", of: "run-1", callId: "1.1", name: "send", by: "person", outcome: FAILED },
    ]);
  });

  it("ask, parks where nobody said anything of a call that is named like a method", async () => {
    const { world } = await cutOff({ reconcile: "ask" }, { callId: "constructor" });
    expect(await codes(world)).toEqual(["tools_unknown"]);
    expect(await codes(world, "run-1", { outcomes: { constructor: WENT } })).toBe("continue");
  });
});

describe("what a person says came of a call", () => {
  it.each([
    ["of another call", { "1.2": WENT }, "outcomes.1.2"],
    ["that is no outcome", { "1.1": { ok: true } }, "outcomes.1.1"],
    ["that has too much", { "1.1": { ...WENT, more: 1 } }, "outcomes.1.1"],
    ["that is no JSON", { "1.1": { ok: true, result: 1n } }, "outcomes.1.1"],
    ["that is larger than a result may be", { "1.1": { ok: true, result: "x".repeat(65_536) } }, "outcomes.1.1"],
    ["in no object", null, "outcomes"],
    ["in a list", [WENT], "outcomes"],
    ["in a text", "1.1", "outcomes"],
  ])("is refused where it is %s", async (_, outcomes, path) => {
    const { world } = await cutOff({ reconcile: "ask" });
    const failure = await world.holdfast.checkContinuation("run-1", { outcomes: outcomes as never }).catch((error) => error);
    expect(failure).toMatchObject({ code: "argument_invalid", details: { path } });
    const continuation = { ...forged(world, "plain", ["send"]), outcomes: outcomes as never };
    const before = world.dump();
    expect(await codeOf(() => collect(world.holdfast.resume(continuation)))).toBe("argument_invalid");
    expect(world.dump()).toBe(before);
  });

  it("is refused where the tool declares that it can tell itself, and under a seal", async () => {
    const { world } = await cutOff({ reconcile: "query", query: async () => WENT });
    const check = (options: object) => codeOf(() => world.holdfast.checkContinuation("run-1", options));
    expect(await check({ outcomes: { "1.1": WENT } })).toBe("argument_invalid");
    // Nothing is unsettled at a boundary, so nothing can be said there; that it is no sealed run weighs more.
    expect(await codes(world, "run-1", { purpose: "handoff", outcomes: { "1.1": WENT } })).toEqual(["not_sealed"]);
  });
});

describe("a call that was settled once", () => {
  it("is not asked about again by a second continuation, whose transcript has it once", async () => {
    let queries = 0;
    const query = async () => {
      queries++;
      return WENT;
    };
    const runs: string[] = [];
    const then = ({ runId }: StepInput) => {
      runs.push(runId);
      if (runs.length === 1) throw new Error("broken");
      return ends();
    };
    const { world, seen } = await cutOff({ reconcile: "query", query }, { then });
    const second = (await goOn(world))[0]?.runId;
    expect(queries).toBe(2);
    const events = await goOn(world, second);
    expect(queries).toBe(2);
    expect(events.at(-1)).toMatchObject({ kind: "completed" });
    expect(reconciled(seen[1])).toEqual(reconciled(seen[0]));
    expect(reconciled(seen[1])).toMatchObject([{ runId: second, fact: { of: "run-1", outcome: WENT } }]);
  });
});

describe("a tool that is asked what came of its call", () => {
  it("and does not answer in time counts as one that could not", async () => {
    const tools = [reading({ name: "send", query: () => never })];
    const asking = reconcile(
      { tools, step: () => never },
      [{ ...call, reconcile: "query" }],
      {},
      { cwd: "/", signal: AbortSignal.abort() },
    );
    expect(await codeOf(() => asking)).toBe("reconcile_failed");
  });
});
