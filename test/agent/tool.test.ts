import { describe, expect, it } from "vitest";
import { z } from "zod";
import { inflated } from "../../src/actor/journal.ts";
import { TOOL_ARGUMENT_BYTES } from "../../src/agent/tool.ts";
import { fakeBackend, type StepInput, type Tool, type ToolContext, type ToolOutcome } from "../../src/index.ts";
import { codeOf, Gate, World } from "./world.ts";

const ends = { next: "end", stopReason: "end_turn" } as const;

function tool(execute: (args: any, context: ToolContext) => unknown, changes: Partial<Tool> = {}): Tool {
  return {
    name: "tool",
    description: "Does a thing.",
    parameters: z.strictObject({ n: z.number().optional() }),
    execute: async (...given) => execute(...given) as never,
    ...changes,
  };
}

/** A world whose only step does `work`, with its tools. */
async function stepping(tools: readonly Tool<any>[], work: (input: StepInput, world: World) => Promise<unknown>) {
  const world: World = new World({ assistant: { tools, step: (input) => work(input, world).then(() => ends) } });
  await world.open();
  return { world, run: await world.begin() };
}

const outcomes = (world: World) =>
  world
    .rows("run/run-1")
    .flatMap((row) => (row.facts.includes('"tool.settled"') ? [JSON.parse(inflated(world.reader, row).event).outcome as ToolOutcome] : []));

describe("a tool call", () => {
  it("is durable before its tool runs, and its result before the backend sees it", async () => {
    const seen: string[][] = [];
    const look = (world: World) =>
      seen.push(
        world
          .facts("run/run-1")
          .map((fact) => fact.type)
          .filter((type) => type.startsWith("tool.")),
      );
    let at: World | undefined;
    const { run, world } = await stepping(
      [
        tool(() => {
          look(at as World);
          return "result";
        }),
      ],
      async ({ callTool }, given) => {
        at = given;
        expect(await callTool("tool", { n: 1 })).toEqual({ ok: true, result: "result" });
        look(given);
      },
    );
    expect(await run.end()).toMatchObject({ kind: "completed" });
    expect(seen).toEqual([["tool.called"], ["tool.called", "tool.settled"]]);
    const [called, settled] = world.rows("run/run-1").filter((row) => row.facts.includes('"tool.'));
    expect(JSON.parse(called?.event ?? "")).toEqual({ type: "tool.call", callId: "1.1", name: "tool", args: { n: 1 }, reconcile: null });
    expect(JSON.parse(settled?.event ?? "")).toEqual({ type: "tool.settle", callId: "1.1", outcome: { ok: true, result: "result" } });
  });

  it("does not run its tool where it could not be made durable", async () => {
    let ran = 0;
    const { run, world } = await stepping([tool(() => ran++)], async ({ callTool }, given) => {
      given.probe = (point, { entries = [] }) => {
        if (point === "commit.inside" && entries.some((entry) => entry.facts.includes('"tool.called"'))) throw new Error("disk full");
      };
      expect(await codeOf(() => callTool("tool", {}))).toBe("storage_failed");
    });
    expect(await run.end()).toMatchObject({ kind: "completed" });
    expect([ran, world.count("tool.called"), world.count("tool.settled")]).toEqual([0, 0, 0]);
  });

  it("whose result could not be made durable is never seen by the backend, and fails the run as unsettled", async () => {
    const { run, world } = await stepping([tool(() => "result")], async ({ callTool }, given) => {
      given.probe = (point, { entries = [] }) => {
        if (point === "commit.inside" && entries.some((entry) => entry.facts.includes('"tool.settled"'))) throw new Error("disk full");
      };
      expect(await codeOf(() => callTool("tool", {}))).toBe("storage_failed");
    });
    expect(await run.end()).toMatchObject({ kind: "failed", error: { code: "tool_unsettled" } });
    expect(world.facts("run/run-1").filter((fact) => fact.type === "tool.unknown")).toHaveLength(1);
  });

  it.each<[string, Tool | undefined, unknown, string]>([
    ["of an unknown tool", undefined, {}, "tool_unknown"],
    ["with arguments that do not fit", tool(() => 1), { n: "one" }, "tool_arguments_invalid"],
    [
      "whose tool throws",
      tool(() => {
        throw new Error("broken");
      }),
      {},
      "tool_failed",
    ],
    [
      "whose tool throws something else",
      tool(() => {
        // biome-ignore lint/style/useThrowOnlyError: a tool may throw anything
        throw "broken";
      }),
      {},
      "tool_failed",
    ],
    ["whose result is too large", tool(() => "x".repeat(65_535)), {}, "tool_result_invalid"],
    ["whose result is nothing", tool(() => undefined), {}, "tool_result_invalid"],
    ["whose result is no plain JSON", tool(() => ({ at: new Date(0) })), {}, "tool_result_invalid"],
    ["whose result is ill-formed text", tool(() => "\udc00"), {}, "tool_result_invalid"],
  ])("%s gives the model an outcome that says so, and the run goes on", async (_, given, args, code) => {
    let outcome: ToolOutcome | undefined;
    const { run, world } = await stepping(given ? [given] : [], async ({ callTool }) => {
      outcome = await callTool("tool", args as never);
    });
    expect(await run.end()).toMatchObject({ kind: "completed" });
    expect(outcome).toMatchObject({ ok: false, error: { code } });
    expect(outcomes(world)).toEqual([outcome]);
  });

  it("may have a result of 64 KiB", async () => {
    const { run, world } = await stepping([tool(() => "x".repeat(65_534))], ({ callTool }) => callTool("tool", {}));
    await run.end();
    expect(outcomes(world)).toMatchObject([{ ok: true }]);
  });

  it("with arguments that are no plain JSON is refused before anything is written", async () => {
    const { run, world } = await stepping([tool(() => 1)], async ({ callTool }) => {
      expect(await codeOf(() => callTool("tool", { n: Number.NaN }))).toBe("argument_invalid");
    });
    await run.end();
    expect(world.count("tool.called")).toBe(0);
  });

  it("may be made in parallel with others; each has its own outcome", async () => {
    const both = new Gate();
    let running = 0;
    const parallel = tool(async ({ n }) => {
      if (++running === 8) both.open();
      await both.pass();
      return n;
    });
    const { run, world } = await stepping([parallel], async ({ callTool }) => {
      const made = await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((n) => callTool("tool", { n })));
      expect(made.map((outcome) => outcome.ok && outcome.result)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    });
    expect(await run.end()).toMatchObject({ kind: "completed" });
    expect([world.count("tool.called"), world.count("tool.settled")]).toEqual([8, 8]);
  });

  it("beyond 256 open ones is refused, and the others are unharmed", async () => {
    const full = new Gate();
    const { run, world } = await stepping([tool(() => full.pass().then(() => 1))], async ({ callTool }) => {
      const made = Array.from({ length: 257 }, () =>
        callTool("tool", {}).then(
          () => "ok",
          (error) => error.code,
        ),
      );
      expect(await Promise.race(made)).toBe("too_many_calls");
      full.open();
      expect((await Promise.all(made)).filter((answer) => answer === "ok")).toHaveLength(256);
    });
    expect(await run.end()).toMatchObject({ kind: "completed" });
    expect(world.count("tool.settled")).toBe(256);
  });

  it("under an id that the run has used is refused: while the first is open, after it, and in a later step", async () => {
    const at = new Gate();
    let step = 0;
    const codes: unknown[] = [];
    const world: World = new World({
      assistant: {
        tools: [tool(async ({ n }) => (n === 1 ? at.pass().then(() => 1) : 2))],
        step: async ({ callTool }) => {
          if (++step === 2) {
            codes.push(await codeOf(() => callTool("tool", {}, { callId: "mine" })));
            expect(await callTool("tool", {}, { callId: "another" })).toMatchObject({ ok: true });
            return ends;
          }
          const first = callTool("tool", { n: 1 }, { callId: "mine" });
          await at.reached;
          codes.push(await codeOf(() => callTool("tool", {}, { callId: "mine" })));
          at.open();
          await first;
          codes.push(await codeOf(() => callTool("tool", {}, { callId: "mine" })));
          return { next: "continue" };
        },
      },
    });
    await world.open();
    const run = await world.begin();
    expect(await run.end()).toMatchObject({ kind: "completed" });
    expect(codes).toEqual(["call_repeated", "call_repeated", "call_repeated"]);
    expect(world.count("tool.called", (fact) => fact.callId === "mine")).toBe(1);
  });

  it("with arguments of a mebibyte is made, and with more is refused before its first commit", async () => {
    const refused: unknown[] = [];
    const { run, world } = await stepping([tool(() => 1)], async ({ callTool }) => {
      // The JSON text has 8 characters besides the text itself.
      for (const length of [TOOL_ARGUMENT_BYTES - 8, TOOL_ARGUMENT_BYTES - 7])
        refused.push(await codeOf(() => callTool("tool", { x: "a".repeat(length) })));
    });
    expect(await run.end()).toMatchObject({ kind: "completed" });
    expect([refused, world.count("tool.called")]).toEqual([[undefined, "argument_invalid"], 1]);
  });

  it("after a stop is refused, and its tool does not run", async () => {
    let ran = 0;
    const at = new Gate();
    let refused: unknown;
    const { run, world } = await stepping([tool(() => ran++)], async ({ callTool, signal }) => {
      const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      at.pass();
      await stopped;
      refused = await codeOf(() => callTool("tool", {}));
    });
    await at.reached;
    await run.stop();
    expect(await run.end()).toMatchObject({ kind: "cancelled" });
    expect([refused, ran, world.count("tool.called")]).toEqual(["effect_gone", 0, 0]);
  });

  it("that the backend did not wait for is settled before the boundary", async () => {
    const at = new Gate();
    const world: World = new World({
      assistant: fakeBackend({
        tools: [tool(() => at.pass().then(() => "late"))],
        script: ({ callTool }) => {
          // A backend that forgets one call, and makes another when that one is done.
          void callTool("tool", {}).then(() => callTool("tool", {}));
          return { report: { next: "continue", remainingSteps: 1 } };
        },
      }),
    });
    await world.open();
    const run = await world.begin();
    const handoff = await run.requestHandoff();
    await at.reached;
    expect(world.state("run/run-1")).toBe("running.stepping");
    at.open();
    expect(await handoff.ready).toBe(true);
    const types = world.facts("run/run-1").map((fact) => fact.type);
    expect(types.filter((type) => type === "tool.called")).toHaveLength(types.filter((type) => type === "tool.settled").length);
    expect(types.lastIndexOf("tool.settled")).toBeLessThan(types.indexOf("handoff.held"));
    expect(world.context("run/run-1").openCalls).toEqual([]);
  });

  it("after its step has ended is refused", async () => {
    const later: (() => Promise<unknown>)[] = [];
    const { run, world } = await stepping([tool(() => 1)], async ({ callTool }) => void later.push(() => callTool("tool", {})));
    await run.end();
    expect(await codeOf(() => later[0]?.())).toBe("effect_gone");
    expect(world.count("tool.called")).toBe(0);
  });

  it("that is rejected and not waited for ends nothing", async () => {
    const { run } = await stepping([tool(() => 1)], async ({ callTool }) => {
      void callTool("tool", { n: Number.NaN });
      void callTool("tool", {}, { callId: "" });
    });
    expect(await run.end()).toMatchObject({ kind: "completed" });
  });

  it("gives its tool the run, its id, the directory and blobs that are durable", async () => {
    let given: ToolContext | undefined;
    let digest = "";
    const { run, world } = await stepping(
      [
        tool(async (_, context) => {
          given = context;
          digest = await context.putBlob(Buffer.from("body"));
          return Buffer.from(context.getBlob(digest) ?? []).toString();
        }),
      ],
      ({ callTool }) => callTool("tool", {}, { callId: "mine" }),
    );
    await run.end();
    expect(given).toMatchObject({ runId: "run-1", callId: "mine", cwd: world.root });
    expect(outcomes(world)).toEqual([{ ok: true, result: "body" }]);
    expect(Buffer.from(world.reader.blob(digest) ?? []).toString()).toBe("body");
  });
});

describe("a tool's T2", () => {
  it("is there where its error is cut in the middle of a character", async () => {
    const long = `${"x".repeat(1999)}\u{1f600}`;
    const failing = tool(() => {
      throw new Error(long);
    });
    const { run, world } = await stepping([failing], (input) => input.callTool("tool", {}));
    expect(await run.end()).toMatchObject({ kind: "completed" });
    expect(outcomes(world)).toMatchObject([{ ok: false, error: { code: "tool_failed" } }]);
  });

  it("is there where more blobs are asked for at once than one call may store", async () => {
    const storing = tool(async (_, { putBlob }) => {
      const asked = Array.from({ length: 65 }, (_, index) => putBlob(Buffer.from(`${index}`)));
      return (await Promise.allSettled(asked)).filter((blob) => blob.status === "rejected").length;
    });
    const { run, world } = await stepping([storing], (input) => input.callTool("tool", {}));
    expect(await run.end()).toMatchObject({ kind: "completed" });
    expect(outcomes(world)).toEqual([{ ok: true, result: 1 }]);
    expect(world.holdfast.verify().faults).toEqual([]);
  });
});
