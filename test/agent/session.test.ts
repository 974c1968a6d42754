import { describe, expect, it } from "vitest";
import { fakeBackend, HoldfastError, openHoldfast } from "../../src/index.ts";
import { codeOf, Gate, World } from "./world.ts";

const ends = { report: { text: "done", next: "end", stopReason: "end_turn" } } as const;

describe("creating a session", () => {
  it("with the id and options of an existing one gives that one", async () => {
    const world = await World.open(fakeBackend({ script: ends }));
    const options = { backend: "assistant", cwd: world.root, id: "session-1", name: "First" };
    const [first, second] = [await world.holdfast.createSession(options), await world.holdfast.createSession(options)];
    await world.reopen();
    const third = await world.holdfast.createSession(options);
    expect([first.id, second.id, third.id]).toEqual(["session-1", "session-1", "session-1"]);
    expect(world.rows("session/session-1")).toHaveLength(1);
  });

  it("with the id of another one is refused", async () => {
    const world = await World.open(fakeBackend({ script: ends }));
    await world.holdfast.createSession({ backend: "assistant", id: "session-1" });
    expect(await codeOf(() => world.holdfast.createSession({ backend: "assistant", id: "session-1", name: "Other" }))).toBe("actor_exists");
  });

  it.each([
    ["an unknown backend", { backend: "nobody" }, "backend_unknown"],
    ["a backend that only the prototype has", { backend: "toString" }, "backend_unknown"],
    ["an id with a control character", { id: "a\nb" }, "input_invalid"],
    ["an empty id", { id: "" }, "input_invalid"],
    ["a name that is too long", { name: "n".repeat(257) }, "input_invalid"],
    ["an unknown permission mode", { permissionMode: "root" as never }, "input_invalid"],
  ])("with %s is refused and writes nothing", async (_, options, code) => {
    const world = await World.open(fakeBackend({ script: ends }));
    expect(await codeOf(() => world.holdfast.createSession({ backend: "assistant", ...options }))).toBe(code);
    expect(world.actors()).toEqual([]);
  });
});

describe("sending", () => {
  it("with a key begins one turn, however often it is sent, also after a restart and after the session was archived", async () => {
    const world = await World.open(fakeBackend({ script: ends }));
    const session = await world.holdfast.createSession({ backend: "assistant", id: "session-1" });
    const [first, second] = await Promise.all([session.send("x", { key: "k" }), session.send("x", { key: "k" })]);
    await first.end();
    await world.reopen();
    const third = await world.holdfast.session("session-1").send("x", { key: "k" });
    await world.holdfast.session("session-1").archive();
    const fourth = await world.holdfast.session("session-1").send("x", { key: "k" });
    expect(new Set([first.id, second.id, third.id, fourth.id]).size).toBe(1);
    expect(world.count("run.dispatched")).toBe(1);
    expect(await codeOf(() => world.holdfast.session("session-1").send("y", { key: "k" }))).toBe("idempotency_conflict");
  });

  it("while a turn is under way is refused as busy, and again allowed after it", async () => {
    const gate = new Gate();
    const world = await World.open(fakeBackend({ script: () => gate.pass().then(() => ends) }));
    const run = await world.begin();
    const session = world.holdfast.session("session-1");
    expect(await codeOf(() => session.send("another"))).toBe("session_busy");
    expect(await codeOf(() => session.archive())).toBe("session_busy");
    expect(session.currentRun()?.id).toBe("run-1");
    gate.open();
    await run.end();
    expect(session.currentRun()).toBeUndefined();
    await (await session.send("another")).end();
    expect(world.context("session/session-1")).toMatchObject({ turns: 2, turn: null });
    expect(world.actors("run")).toHaveLength(2);
  });

  it("to an archived session is refused", async () => {
    const world = await World.open(fakeBackend({ script: ends }));
    const session = await world.holdfast.createSession({ backend: "assistant" });
    await session.archive();
    await session.archive();
    expect(await codeOf(() => session.send("x"))).toBe("session_archived");
  });

  it.each([
    ["the id of another run", { runId: "run-1" }, "identity_taken"],
    ["the id of another turn", { turnId: "turn-1" }, "identity_taken"],
    ["an id with outer blanks", { runId: " run" }, "event_invalid"],
    ["no step at all", { maxSteps: 0 }, "event_invalid"],
    ["half a step", { maxSteps: 1.5 }, "event_invalid"],
    ["a goal without an id", { origin: { kind: "goal", goalId: "" } }, "event_invalid"],
  ] as const)("with %s is refused and writes nothing", async (_, options, code) => {
    const world = await World.open(fakeBackend({ script: ends }));
    await (await world.begin()).end();
    const before = world.dump();
    expect(await codeOf(() => world.holdfast.session("session-1").send("x", options))).toBe(code);
    expect(world.dump()).toBe(before);
  });

  it("more than a mebibyte is refused, a mebibyte is not", async () => {
    const world = await World.open(fakeBackend({ script: ends }));
    const session = await world.holdfast.createSession({ backend: "assistant" });
    expect(await codeOf(() => session.send("x".repeat(1_048_577)))).toBe("event_invalid");
    await (await session.send("x".repeat(1_048_576))).end();
  });

  it("to a session whose backend this program lacks fails the run and says so", async () => {
    const world = await World.open(fakeBackend({ script: ends }));
    await world.holdfast.createSession({ backend: "assistant", id: "session-1" });
    delete world.backends.assistant;
    const run = await world.holdfast.session("session-1").send("x");
    expect(await run.end()).toMatchObject({ kind: "failed", error: { code: "backend_unknown" } });
    expect(world.count("run.dispatched")).toBe(0);
  });
});

describe("what is not there", () => {
  it("is refused by name", async () => {
    const world = await World.open(fakeBackend({ script: ends }));
    expect(await codeOf(() => world.holdfast.session("nobody"))).toBe("session_not_found");
    expect(await codeOf(() => world.holdfast.run("nobody"))).toBe("run_not_found");
    expect(await world.holdfast.checkContinuation("nobody")).toMatchObject({ decision: "park", reasons: [{ code: "run_not_found" }] });
    expect(await codeOf(() => world.holdfast.receipt("nobody"))).toBe("run_not_found");
  });

  it("stays refused for a second owner in the same process", async () => {
    const world = await World.open(fakeBackend({ script: ends }));
    await expect(openHoldfast({ root: world.root, backends: {} })).rejects.toThrow(HoldfastError);
    expect(await codeOf(() => openHoldfast({ root: world.root, backends: {} }))).toBe("root_owned");
  });
});
