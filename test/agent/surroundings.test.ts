import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { inspectSurroundings } from "../../src/agent/surroundings.ts";
import { fakeBackend, type OpenHoldfastOptions, type Surroundings } from "../../src/index.ts";
import { checked, codes, ends, forged, found, goesOn, goOn, plot, reading, seal } from "./way.ts";
import { codeOf, collect, Gate, temporary, World } from "./world.ts";

const place = { sessionId: "session-1", backend: "assistant" };
const HERE: Surroundings = { workspace: "here", backgroundSettled: true, tools: ["read"] };
const calls = [{ name: "read", args: "a" }];

/** A turn whose run called `read`, and is sealed, or failed; what `inspect` sees is what `seen` says. */
async function turn(purpose: "handoff" | "plain", options: Partial<OpenHoldfastOptions> = {}, seen: { now: unknown } = { now: HERE }) {
  const at = new Gate();
  const backend = fakeBackend({
    tools: [reading()],
    script: plot(
      {
        "run-1#1": { calls, ...goesOn },
        "run-1#2": () => {
          throw new Error("broken");
        },
      },
      purpose === "handoff" ? { "run-1#1": at } : {},
    ),
  });
  const inspect = () => {
    if (seen.now instanceof Error) throw seen.now;
    return seen.now as Surroundings;
  };
  const world = new World({ assistant: backend, other: backend }, { inspect, ...options });
  await world.open();
  const run = await world.begin();
  if (purpose === "handoff") await seal(run, "run-2", at);
  else await run.end();
  return { world, seen, asked: purpose === "handoff" ? ({ purpose } as const) : {} };
}

/** The code with which a continuation is refused, where nothing of the root was changed by that. */
async function refused(world: World, continuation: Parameters<World["holdfast"]["resume"]>[0]) {
  const before = world.dump();
  const code = await codeOf(() => collect(world.holdfast.resume(continuation)));
  expect(world.dump()).toBe(before);
  return code;
}

describe("without an inspect of the program's own", () => {
  it("the workspace is the directory's real path, nothing is in the background, and the tools are the backend's, sorted", async () => {
    const directory = temporary();
    symlinkSync(directory, join(directory, "link"));
    const backend = { tools: [reading({ name: "write" }), reading(), reading()], step: async () => ends().report };
    const seen = await inspectSurroundings({ ...place, cwd: join(directory, "link") }, backend);
    expect(seen).toEqual({ workspace: directory, backgroundSettled: true, tools: ["read", "write"] });
  });

  it("a directory that is gone has no identity, and a backend without tools has none", async () => {
    const seen = await inspectSurroundings({ ...place, cwd: join(temporary(), "gone") }, undefined);
    expect(seen).toEqual({ workspace: null, backgroundSettled: true, tools: [] });
  });

  it("a turn whose directory was moved away is parked until it is back, also where a link stands in its place", async () => {
    const world = await World.open(fakeBackend({ script: plot({ "run-1#1": () => Promise.reject(new Error("broken")) }) }));
    const [directory, moved] = [join(world.root, "work"), join(world.root, "moved")];
    mkdirSync(directory);
    const session = await world.holdfast.createSession({ backend: "assistant", cwd: directory });
    await (await session.send("Go", { runId: "run-1" })).end();
    renameSync(directory, moved);
    expect(await found(world)).toMatchObject([{ code: "workspace_changed", details: { source: directory, now: null } }]);
    symlinkSync(moved, directory);
    expect(await found(world)).toMatchObject([{ code: "workspace_changed", details: { source: directory, now: moved } }]);
    rmSync(directory);
    renameSync(moved, directory);
    expect(await codes(world)).toBe("continue");
  });
});

describe("an inspect of the program's own", () => {
  it("is given the session, its backend and its directory, before a run's first step and before each continuation", async () => {
    const given: unknown[] = [];
    const { world, asked } = await turn("handoff", {
      inspect: (input) => {
        given.push(input);
        return HERE;
      },
    });
    const input = { ...place, cwd: world.root };
    expect(given).toEqual([input]);
    const continuation = await checked(world, "run-1", asked);
    await collect(world.holdfast.resume(continuation));
    expect(given).toEqual([input, input, input, input]);
  });

  it("may name tools in any order, and twice", async () => {
    const seen = { now: { ...HERE, tools: ["write", "read", "read"] } as unknown };
    const { world } = await turn("plain", {}, seen);
    const continuation = await checked(world);
    expect(continuation.tools).toEqual(["read", "write"]);
    seen.now = { ...HERE, tools: ["read", "write"] };
    expect((await collect(world.holdfast.resume(continuation))).at(-1)).toMatchObject({ kind: "completed" });
  });

  it.each([
    ["nothing", undefined, ""],
    ["no workspace", { backgroundSettled: true, tools: [] }, "workspace"],
    ["an empty workspace", { ...HERE, workspace: "" }, "workspace"],
    ["a field too many", { ...HERE, more: 1 }, ""],
    ["a tool that is no name", { ...HERE, tools: ["read", 1] }, "tools.1"],
    ["too many tools", { ...HERE, tools: Array.from({ length: 1025 }, (_, index) => `tool-${index}`) }, "tools"],
  ])("that gives %s gives nothing to go by, and the field is named", async (_, now, path) => {
    const failure = await inspectSurroundings({ ...place, cwd: "." }, undefined, () => now as never).catch((error) => error);
    expect(failure).toMatchObject({ code: "surroundings_unreadable", retryable: true });
    expect(failure.details.path).toMatch(path);
  });
});

const CHANGES = [
  ["workspace_changed", { ...HERE, workspace: "elsewhere" }, { source: "here", now: "elsewhere" }],
  ["workspace_changed", { ...HERE, workspace: null }, { source: "here", now: null }],
  ["background_pending", { ...HERE, backgroundSettled: false }, undefined],
  ["tool_set_changed", { ...HERE, tools: ["write"] }, { missing: ["read"], checked: null, now: ["write"] }],
  ["surroundings_unreadable", new Error("no light"), { cause: "no light" }],
  ["surroundings_unreadable", "dark", undefined],
] as const;

it("a tool that the model only imagined is missed by nobody", async () => {
  const at = new Gate();
  const imagines = { calls: [{ name: "imagined", args: {} }], report: { next: "continue" } } as const;
  const world = await World.open(fakeBackend({ script: plot({ "run-1#1": imagines }, { "run-1#1": at }) }));
  await seal(await world.begin(), "run-2", at);
  expect(await codes(world, "run-1", { purpose: "handoff" })).toBe("continue");
});

describe.each(["handoff", "plain"] as const)("a turn that is to be continued (%s)", (purpose) => {
  it.each(CHANGES)(
    "parks with %s where that is seen (%j), and is refused with it where it comes after the check",
    async (code, now, about) => {
      const { world, seen, asked } = await turn(purpose);
      const continuation = await checked(world, "run-1", asked);
      seen.now = now;
      const before = world.dump();
      const reasons = await found(world, "run-1", asked);
      expect(reasons).toMatchObject([{ code, message: expect.stringMatching(/\w/) }]);
      expect((reasons as readonly { details?: unknown }[])[0]?.details).toEqual(about);
      expect(world.dump()).toBe(before);
      expect(await refused(world, continuation)).toBe(code);
      seen.now = HERE;
      expect((await collect(world.holdfast.resume(continuation))).at(-1)).toMatchObject({ kind: "completed" });
      expect(world.holdfast.verify().faults).toEqual([]);
    },
  );

  it("is refused with tool_set_changed where there is a tool that the check did not see", async () => {
    const { world, seen, asked } = await turn(purpose);
    const continuation = await checked(world, "run-1", asked);
    seen.now = { ...HERE, tools: ["read", "write"] };
    expect(await codes(world, "run-1", asked)).toBe("continue");
    expect(await refused(world, continuation)).toBe("tool_set_changed");
    expect((await goOn(world, "run-1", asked)).at(-1)).toMatchObject({ kind: "completed" });
  });

  it("parks with workspace_unknown where nobody could tell in which place it worked", async () => {
    const { world, seen, asked } = await turn(purpose, {}, { now: new Error("no light") });
    seen.now = HERE;
    expect(world.context("run/run-1").workspace).toBe(null);
    expect(await codes(world, "run-1", asked)).toEqual(["workspace_unknown"]);
    expect(await refused(world, forged(world, purpose, ["read"]))).toBe("workspace_unknown");
  });

  it("parks with everything that speaks against it", async () => {
    const { world, seen, asked } = await turn(purpose);
    seen.now = { workspace: null, backgroundSettled: false, tools: [] };
    expect(await codes(world, "run-1", asked)).toEqual(["workspace_changed", "background_pending", "tool_set_changed"]);
  });
});

describe("a turn that failed before its dispatch and worked elsewhere in an earlier run", () => {
  it("is held against the place where it worked, and not against the one where it is", async () => {
    const seen: { now: unknown } = { now: HERE };
    let prepared = 0;
    const backend = fakeBackend({
      composition: () => {
        if (++prepared === 2) throw new Error("no composer");
        return null;
      },
      script: plot({ "run-1#1": () => Promise.reject(new Error("broken")) }),
    });
    const world = await World.open(backend, { inspect: () => seen.now as Surroundings });
    await (await world.begin()).end();
    const continuation = await checked(world);
    expect(await codeOf(() => collect(world.holdfast.resume(continuation)))).toBe("effect_failed");
    seen.now = { ...HERE, workspace: "elsewhere" };
    expect(await codes(world, continuation.runId)).toEqual(["workspace_changed"]);
    seen.now = HERE;
    expect((await goOn(world, continuation.runId)).at(-1)).toMatchObject({ kind: "completed" });
  });
});

describe("a session that is configured while its turn is sealed", () => {
  it.each([[{ cwd: "/" }], [{ permissionMode: "explore" }], [{ backend: "other" }]] as const)(
    "%j parks the turn and has its resume refused, until it is configured back",
    async (changes) => {
      const { world, asked } = await turn("handoff");
      const continuation = await checked(world, "run-1", asked);
      const session = world.holdfast.session("session-1");
      const source = world.context("run/run-1").configuration;
      await session.configure(changes);
      expect(await found(world, "run-1", asked)).toMatchObject([
        { code: "configuration_changed", details: { source, now: { ...source, ...changes } } },
      ]);
      expect(await refused(world, continuation)).toBe("configuration_changed");
      const failure = await collect(world.holdfast.resume(continuation)).catch((error) => error);
      expect(failure.details.reasons).toEqual(await found(world, "run-1", asked));
      await session.configure(source);
      expect((await collect(world.holdfast.resume(continuation))).at(-1)).toMatchObject({ kind: "completed" });
    },
  );

  it("is seen also where that happens in the middle of the resume", async () => {
    let meanwhile = async () => {};
    const { world, asked } = await turn("handoff", { denials: () => meanwhile().then(() => false) });
    const continuation = await checked(world, "run-1", asked);
    meanwhile = () => world.holdfast.session("session-1").configure({ permissionMode: "bypass" });
    expect(await codeOf(() => collect(world.holdfast.resume(continuation)))).toBe("source_identity_changed");
    expect([world.state(`handoff/${continuation.handoffId}`), world.actors("run").length]).toEqual(["sealed", 1]);
  });
});

describe("a session that is configured after its turn failed", () => {
  it("begins the continuation as it is configured then, in the place that was inspected", async () => {
    let meanwhile = async () => {};
    const { world } = await turn("plain", { denials: () => meanwhile().then(() => false) });
    const session = world.holdfast.session("session-1");
    await session.configure({ permissionMode: "explore" });
    const continuation = await checked(world);
    meanwhile = () => session.configure({ cwd: "/" });
    // Else the run would be in a place that nobody looked at.
    expect(await codeOf(() => collect(world.holdfast.resume(continuation)))).toBe("source_identity_changed");
    meanwhile = async () => {};
    await collect(world.holdfast.resume(continuation));
    expect(world.context(`run/${continuation.runId}`).configuration).toEqual({ backend: "assistant", cwd: "/", permissionMode: "explore" });
  });
});
