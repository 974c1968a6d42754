import { describe, expect, it } from "vitest";
import { machines, session } from "../../machines/index.ts";
import { COPIED_TURNS } from "../../machines/session-schema.ts";
import { openActors } from "../../src/actors.ts";
import { CopiedNames } from "../../src/agent/copied-name.ts";
import { fakeBackend, type StepInput } from "../../src/index.ts";
import { seal, talk, talker } from "./conversation.ts";
import { codeOf, Gate, World } from "./world.ts";

const ends = (text: string) => ({ report: { text, next: "end", stopReason: "end_turn" } }) as const;
/** Levels of a tool's arguments that its copy can hold. */
const LEVELS = 94;
const PENDING = "branch_runtime_fact_rewrite_unsupported";

/** A session whose first turn has ended and whose second is at work, until its gate is opened. */
async function working(second: (input: StepInput) => Promise<unknown> = async () => {}) {
  const gate = new Gate();
  const script = async (input: StepInput) => {
    if (input.runId !== "run-2") return ends("done");
    await gate.pass();
    await second(input);
    return { report: { text: "more", next: "continue" as const } };
  };
  const world = await World.open(fakeBackend({ script }));
  await (await world.begin()).end();
  const run = await world.holdfast.session("session-1").send("And now?", { runId: "run-2", turnId: "turn-2" });
  await gate.reached;
  return { world, run, gate };
}

/** The code with which all turns are refused, while nothing is written, and the first one alone can be copied. */
async function refusal(world: World): Promise<string | undefined> {
  const dump = world.dump();
  const code = await codeOf(() => world.holdfast.copySession("session-1"));
  expect(await codeOf(() => world.holdfast.copySession("session-1", { through: "turn-2" }))).toBe(code);
  expect(world.dump()).toBe(dump);
  const copy = await world.holdfast.copySession("session-1", { through: "turn-1" });
  expect(copy.getSnapshot().context.turns).toBe(1);
  expect(world.holdfast.verify().faults).toEqual([]);
  return code;
}

describe("a turn that is under way is not copied, and one before it is", () => {
  it("while it is in a step, also where a handoff is requested and not held", async () => {
    const { world, run, gate } = await working();
    expect(await refusal(world)).toBe("run_active");
    await run.requestHandoff({ id: "handoff-1", successorRunId: "run-3" });
    expect(await refusal(world)).toBe("run_active");
    gate.open();
  });

  it("while its handoff is held, paused or sealed; and it is copied once it was stopped", async () => {
    const { world, run, gate } = await working();
    const handoff = await run.requestHandoff({ id: "handoff-1", successorRunId: "run-3" });
    gate.open();
    await handoff.ready;
    expect(await refusal(world)).toBe(PENDING);
    world.probe = (point, { entries = [] }) => {
      if (point === "commit.inside" && entries.some(({ facts }) => facts.includes("run.sealed"))) throw new Error("disk full");
    };
    await handoff.commit();
    expect(await codeOf(() => handoff.sealed)).toBe("seal_not_durable");
    expect(world.state("run/run-2")).toBe("paused");
    expect(await refusal(world)).toBe(PENDING);
    world.probe = undefined;
    await world.holdfast.recover();
    await run.end();
    expect(world.state("run/run-2")).toBe("sealed");
    expect(await refusal(world)).toBe(PENDING);
    await run.stop();
    const copy = await world.holdfast.copySession("session-1");
    const last = copy.getSnapshot().context.lastRunId;
    expect(world.context(`run/${last}`)).toMatchObject({
      source: { runIds: ["run-2", "run-3"] },
      outcome: { kind: "cancelled", by: "user" },
    });
    expect(world.holdfast.verify().faults).toEqual([]);
  });

  it("and is copied where it ended while it was held, for nothing is pending then", async () => {
    const { world, run, gate } = await working();
    const handoff = await run.requestHandoff({ id: "handoff-1", successorRunId: "run-3" });
    gate.open();
    await handoff.ready;
    await run.stop();
    await run.end();
    const copy = await world.holdfast.copySession("session-1");
    expect(copy.getSnapshot().context.turns).toBe(2);
  });

  it("the pending handoff is what is told, also of a run that is damaged besides", async () => {
    const asked = new Gate();
    const world = await World.open(talker([], asked));
    await seal(world.holdfast, world.root, asked);
    world.tamper("UPDATE journal SET event = replace(event, 'Note', 'Vote') WHERE actor = 'run/run-1' AND seq = 1");
    expect(await codeOf(() => world.holdfast.copySession("session-1"))).toBe(PENDING);
  });
});

describe("nothing is written where", () => {
  it.each<[string, string, Parameters<World["holdfast"]["copySession"]>]>([
    ["there is no such session", "session_not_found", ["session-9"]],
    ["an id cannot be one", "input_invalid", [" "]],
    ["there is no such turn", "turn_not_found", ["session-1", { through: "turn-9" }]],
    ["the turn is a number", "argument_invalid", ["session-1", { through: 1 as never }]],
    ["the name is too long", "input_invalid", ["session-1", { name: "x".repeat(257) }]],
    ["the id is the source's own", "actor_exists", ["session-1", { id: "session-1" }]],
  ])("%s: %s", async (_, code, given) => {
    const world = await World.open(fakeBackend({ script: ends("done") }));
    await (await world.begin()).end();
    const dump = world.dump();
    expect(await codeOf(() => world.holdfast.copySession(...given))).toBe(code);
    expect(world.dump()).toBe(dump);
  });

  it("the session has no turn: nothing_to_copy", async () => {
    const world = await World.open(fakeBackend({ script: ends("done") }));
    await world.holdfast.createSession({ backend: "assistant", id: "session-1" });
    expect(await codeOf(() => world.holdfast.copySession("session-1"))).toBe("nothing_to_copy");
  });

  it.each([
    ["an entry was changed", "journal_damaged", "UPDATE journal SET event = replace(event, 'second', 'third') WHERE actor = 'run/run-2'"],
    ["an entry is gone", "journal_damaged", "DELETE FROM journal WHERE actor = 'run/run-2' AND seq = 4"],
    ["a run is gone", "journal_damaged", "DELETE FROM journal WHERE actor = 'run/run-1'"],
    [
      "the session's journal was changed",
      "journal_damaged",
      "UPDATE journal SET facts = '[]' WHERE actor = 'session/session-1' AND seq = 2",
    ],
    ["a snapshot cannot be read", "snapshot_damaged", "UPDATE actors SET snapshot = '{' WHERE address = 'run/run-1'"],
    [
      "a snapshot says another end",
      "snapshot_damaged",
      `UPDATE actors SET snapshot = replace(snapshot, '"outcome":{"kind":"completed","stopReason":"end_turn"}', '"outcome":{"kind":"completed","stopReason":"other"}') WHERE address = 'run/run-2'`,
    ],
  ])("%s: %s", async (_, code, sql) => {
    const asked = new Gate();
    const world = await World.open(talker([], asked));
    await talk(world, asked);
    expect(world.tamper(sql)).toBeGreaterThan(0);
    const dump = world.dump();
    expect(await codeOf(() => world.holdfast.copySession("session-1"))).toBe(code);
    expect(world.dump()).toBe(dump);
  });
});

describe("the bounds of a copy", () => {
  it(`are ${COPIED_TURNS} turns`, async () => {
    const world = await World.open(fakeBackend({ script: ends("done") }));
    await world.holdfast.close();
    const turns = Array.from({ length: COPIED_TURNS }, (_, index) => ({
      ...{ turnId: `turn-${index}`, runId: `run-${index}`, from: { turnId: "t", runIds: ["r"] }, origin: { kind: "user" as const } },
      ...{ facts: [], outcome: { kind: "cancelled" as const, by: "user" as const } },
    }));
    const configuration = { backend: "assistant", cwd: world.root, permissionMode: "ask" as const };
    const input = { sessionId: "session-1", name: null, configuration, copied: { sessionId: "s", turns } };
    await using engine = await openActors({ root: world.root, machines, cascadeLimit: COPIED_TURNS + 1, start: false });
    await engine.create(session, "session-1", { input });
    await engine.close();
    await world.open();
    await (await world.holdfast.session("session-1").send("One more")).end();
    expect(await codeOf(() => world.holdfast.copySession("session-1"))).toBe("copy_too_large");
    expect(world.actors("session")).toHaveLength(1);
    const copy = await world.holdfast.copySession("session-1", { through: `turn-${COPIED_TURNS - 1}` });
    expect(copy.getSnapshot().context.turns).toBe(COPIED_TURNS);
  });

  it("are the characters of one entry", async () => {
    const text = "x".repeat(1_048_576);
    const world = await World.open(fakeBackend({ script: ends(text) }));
    await (await world.begin(text)).end();
    for (let turn = 2; turn <= 8; turn++) await (await world.holdfast.session("session-1").send(text, { turnId: `turn-${turn}` })).end();
    const actors = world.actors().length;
    expect(await codeOf(() => world.holdfast.copySession("session-1"))).toBe("copy_too_large");
    expect(world.actors()).toHaveLength(actors);
    await world.holdfast.copySession("session-1", { through: "turn-7" });
    expect(world.holdfast.verify().faults).toEqual([]);
  }, 60_000);

  it("are the levels of one value, and the transitions that the engine allows", async () => {
    const nested = (levels: number): any => (levels === 0 ? 1 : [nested(levels - 1)]);
    const copied = async (levels: number, turns = 1, cascadeLimit = 1000) => {
      const script = () => ({ calls: [{ name: "none", args: nested(levels) }], ...ends("done") });
      const world = await World.open(fakeBackend({ script }), { cascadeLimit });
      await (await world.begin()).end();
      for (let turn = 2; turn <= turns; turn++) await (await world.holdfast.session("session-1").send("On")).end();
      return codeOf(() => world.holdfast.copySession("session-1"));
    };
    expect([await copied(LEVELS), await copied(LEVELS + 1)]).toEqual([undefined, "copy_too_large"]);
    // A session and one run, and no other.
    expect([await copied(1, 1, 2), await copied(1, 2, 2)]).toEqual([undefined, "copy_too_large"]);
  });
});

describe("the names of a copy", () => {
  const called = (callId: string) => ({ type: "tool.called", callId, name: "t", args: null, reconcile: null }) as const;
  const decided = (interactionId: string) =>
    ({ type: "permission.decided", interactionId, question: "?", allow: true, note: null }) as const;
  const named = (names: CopiedNames, run: string, callId: string) => names.rewritten(run, called(callId)) as { callId: string };

  it("stay apart where a program called its calls as a copy would, and fit where they were as long as an id may be", () => {
    const names = new CopiedNames();
    names.addTurn("new", ["a", "b"]);
    expect(named(names, "a", "2/1.1").callId).toBe("2/1.1");
    expect(named(names, "b", "1.1").callId).toBe("2/1.1/2");
    expect(named(names, "b", "1.1").callId).toBe("2/1.1/2");
    expect(named(names, "b", "x".repeat(256)).callId).toMatch(/^2\/[0-9a-f]{64}$/);
  });

  it("are of the run that asked, also where its successor was answered, and dots are no harm", () => {
    const names = new CopiedNames();
    names.addTurn("new", ["a.1", "b"]);
    const id = (run: string, interactionId: string) =>
      (names.rewritten(run, decided(interactionId)) as { interactionId: string }).interactionId;
    expect([id("b", "a.1.may.I"), id("b", "b.may.I"), id("b", "gone.I")]).toEqual(["new.may.I", "new.2/may.I", "new.2/I"]);
  });

  it("of a run that is none of the session's are damage", () => {
    const names = new CopiedNames();
    names.addTurn("new", ["a"]);
    const fact = { type: "tool.reconciled", of: "b", callId: "1.1", name: "t", by: "query", outcome: { ok: true, result: 1 } } as const;
    expect(() => names.rewritten("a", fact)).toThrow(expect.objectContaining({ code: "journal_damaged" }));
  });
});
