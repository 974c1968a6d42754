import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

const EXAMPLES = join(import.meta.dirname, "../docs/examples");
const argv = process.argv;
let root: string;
let lines: string[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "holdfast-example-"));
  lines = [];
  process.argv = [argv[0] as string, "example", join(root, "state")];
  vi.spyOn(console, "log").mockImplementation((...parts: unknown[]) => void lines.push(parts.join(" ")));
});

afterEach(() => {
  process.argv = argv;
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true });
});

/** Lines of an example as the pages show it. */
function linesOf(example: string): number {
  const text = readFileSync(join(EXAMPLES, example), "utf8");
  return (text.split("// ---")[1] ?? "").trim().split("\n").length;
}

type Test = readonly [name: string, body: () => Promise<void>];

/** The tests that a program declares for node:test. */
async function declaredBy(load: () => Promise<unknown>): Promise<Test[]> {
  const tests: Test[] = [];
  const declared = { describe: (_: string, body: () => void) => body(), test: (...one: Test) => void tests.push(one) };
  vi.doMock("node:test", () => ({ ...declared, default: declared }));
  try {
    await load();
  } finally {
    vi.doUnmock("node:test");
  }
  return tests;
}

/** Runs the tests that a program declares, one after the other, and gives their names. */
async function proved(load: () => Promise<unknown>): Promise<string[]> {
  const tests = await declaredBy(load);
  for (const [, body] of tests) await body();
  return tests.map(([name]) => name);
}

/** What the tests of an example say that fail, in a copy of all examples in which one text of one file is another. */
async function failuresOf(example: string, file: string, text: string, other: string): Promise<string[]> {
  const place = join(root, "examples");
  cpSync(EXAMPLES, place, { recursive: true });
  symlinkSync(join(import.meta.dirname, "../node_modules"), join(root, "node_modules"));
  const right = readFileSync(join(place, file), "utf8");
  expect(right.split(text)).toHaveLength(2);
  writeFileSync(join(place, file), right.replace(text, other));
  const failures: string[] = [];
  for (const [name, body] of await declaredBy(() => import(pathToFileURL(join(place, example)).href)))
    await body().catch((error: Error) => void failures.push(`${name}: ${error.message}: ${(error.cause as Error).message}`));
  return failures;
}

describe("the examples in docs", () => {
  it("pay an order once with the engine alone", async () => {
    await import("../docs/examples/actors.ts");
    expect(lines).toEqual([
      "accepted · charged 10 under order/order-17:2:0",
      "1 xstate.init",
      "2 order.pay",
      "3 charge.done",
      "verified: true",
    ]);
  });

  it("carry a trial over a restart and into its next version", async () => {
    await import("../docs/examples/durable-xstate.ts");
    expect(lines).toEqual([
      "due 2026-01-15T00:00:00.000Z",
      "upgrade check: trial/ada migratable",
      'now in {"trying":"fresh"} · can be cancelled: true',
      "reminded Ada",
      "converted: Ada paid 12 (trial/ada:5:1) EUR",
      "1 xstate.init",
      "2 engine.migrated",
      "3 xstate.after.reminder.trial.trying.fresh",
      "4 remind.done",
      "5 xstate.after.trialEnds.trial.trying",
      "6 charge.done",
      "verified: true",
    ]);
    lines.length = 0;
    vi.resetModules();
    vi.spyOn(process, "exit").mockImplementation(() => {
      throw new Error("exit");
    });
    await expect(import("../docs/examples/durable-xstate.ts")).rejects.toThrow("exit");
    expect(lines).toEqual([`ada has ended; remove ${join(root, "state")} to see it again`]);
  });

  it("test a machine without waiting, without a disk, and through a restart", async () => {
    await import("../docs/examples/testing.ts");
    expect(lines).toEqual(["rejected: storage_failed", "charged 2 times under 1 key", "verified: true"]);
  });

  it("take time, ids and chance from the stamp", async () => {
    await import("../docs/examples/ticket.ts");
    expect(lines).toEqual(['{"openedMs":1767225600000,"waitedMs":90000,"answerId":"ticket/seven:2","desk":1}', "verified: true"]);
  });

  it("prove an order with its crash matrix, in under 20 lines", async () => {
    const names = await proved(() => import("../docs/examples/order-proof.ts"));
    expect(names).toEqual([
      "is explored to its end",
      "has a way for each of its events to happen",
      "has paths that cover all of its 3 transitions, and its 0 guards both ways",
      "path 1: order.pay, chargeCard done",
      "path 2: order.pay, chargeCard failed",
      "a failing store on path 1: order.pay, chargeCard done",
      "a failing store on path 2: order.pay, chargeCard failed",
      "tells what was covered: 2 of 2 paths, a crash before, inside and after each commit, a failing store on 2 paths",
    ]);
    expect(lines).toEqual([
      expect.stringMatching(/^order: 3 of 3 transitions on 2 of 2 paths, (\d+) of \1 crashes, \d+ failed transactions on 2 paths$/),
    ]);
    expect(linesOf("order-proof.ts")).toBeLessThan(20);
  });

  it("prove handlers by a crash at each point of their commits and calls", async () => {
    const names = await proved(() => import("../docs/examples/handler-proof.ts"));
    expect(names).toHaveLength(10);
    expect(new Set(names)).toEqual(
      new Set([
        "at least once: a card that is charged again under the same key is charged once",
        "at most once: a letter is never posted twice, and is unsure only where the process died",
      ]),
    );
  });

  // The process that dies there had done the work, and the next one does not know.
  const UNKNOWN = ["commit.before", "commit.inside", "effect.after"];
  it.each([
    ["a card that is charged without a look at its key", "at least once", "handler-proof.ts", "if (!isCharged) ", ""],
    ["a letter that may be posted again", "at most once", "letter.ts", 'delivery: "at_most_once"', 'delivery: "at_least_once"'],
  ])("fail where a handler breaks its promise, and say at which point the process died: %s", async (_, delivery, ...change) => {
    const failures = await failuresOf("handler-proof.ts", ...change);
    expect(failures).toEqual(
      UNKNOWN.map((point) => expect.stringMatching(RegExp(`^${delivery}: .* killed at ${point}, .*(posted 2 times|\\+ {3}10)`, "s"))),
    );
  });

  it("prove by a process that is killed that a charge is made again", async () => {
    // The child is a process of its own, which knows the package by its name only once it is built.
    const source = (path: string) => pathToFileURL(join(import.meta.dirname, "..", path)).href;
    const sources = { "holdfast/actors": source("src/actors.ts"), "holdfast/testing": source("src/testing/index.ts") };
    const hooks = `import { registerHooks } from "node:module";
      const sources = ${JSON.stringify(sources)};
      registerHooks({ resolve: (name, context, next) => next(sources[name] ?? name, context) });`;
    vi.stubEnv("NODE_OPTIONS", `--import=data:text/javascript,${encodeURIComponent(hooks)}`);
    const names = await proved(() => import("../docs/examples/kill-proof.ts"));
    expect(names).toEqual(["a charge whose process was killed with its result is made again, under the same key"]);
  });

  it("prove that a backend keeps its contract, in under 20 lines", async () => {
    const names = await proved(() => import("../docs/examples/backend-proof.ts"));
    expect(names).toContain("comes to its end");
    expect(names).toHaveLength(29);
    expect(linesOf("backend-proof.ts")).toBeLessThan(20);
  });

  it("move a turn from one runtime to the next", async () => {
    await import("../docs/examples/agent.ts");
    expect(lines[0]).toBe("sealed: true sealed");
    expect(lines.filter((line) => line === "run.dispatched")).toHaveLength(1);
    expect(lines.at(-1)).toMatch(/^continued by [0-9a-f-]{36} · verified: true$/);
  });

  it("ask a person, end, and publish once somebody allows it in another process", async () => {
    await import("../docs/examples/approval.ts");
    expect(lines).toEqual([
      "question · Which version? · null",
      'permission · May I call publish? · {"name":"publish","args":{"version":"2.0"}}',
      'decide · {"name":"publish","args":{"version":"2.0"}}',
      "completed",
      ...["message.added", "message.added", "permission.decided"],
      ...["tool.called", "tool.settled", "message.added"],
    ]);
  });

  it("ask a tool what came of a call", async () => {
    const { modelBackend } = await import("../docs/examples/backend.ts");
    const [publish] = modelBackend(async () => ({ text: "" })).tools ?? [];
    const signal = AbortSignal.any([]);
    const call = { runId: "r", callId: "1", cwd: root, signal };
    const bytes = { putBlob: async () => "", getBlob: () => undefined };
    expect(await publish?.query?.({ version: "2.0" }, call)).toMatchObject({ ok: false, error: { code: "not_published" } });
    await publish?.execute({ version: "2.0" }, { ...call, ...bytes });
    expect(await publish?.query?.({ version: "2.0" }, call)).toEqual({ ok: true, result: { version: "2.0" } });
    expect(await publish?.query?.({ version: "2.0" }, { ...call, callId: "2" })).toBeNull();
  });

  it("hand every live run off, and go on with all of them in the next version", async () => {
    await import("../docs/examples/deploy.ts");
    const whole = "2 runs · Write four parts, part 1, part 2, part 3, part 4";
    expect(lines).toEqual(["handed off: [true,true]", "continued: completed", "continued: completed", whole, whole]);
  });
});
