import { describe, expect, it } from "vitest";
import { fakeBackend, type StepInput, type TranscriptEntry } from "../../src/index.ts";
import { asks, begun, ends, goesOn, goOn, plot, reading, seal, waits } from "./way.ts";
import { codeOf, Gate, World } from "./world.ts";

const HANDOFF = { purpose: "handoff" } as const;
const NAME = asks({ id: "name", question: "Your name?" });
const WRITE = asks({ id: "write", question: "May I write?", kind: "permission", subject: { path: "/etc", mode: 0o644 } });
const ASKED = { question: "run-1.name", permission: "run-1.write" } as const;
type Kind = keyof typeof ASKED;

/** A world whose first run asks in its first step; `seen` is the transcript of each step after that. */
async function asking(kind: Kind = "question", { acts = {}, gates = {}, flush }: Given = {}) {
  const seen: TranscriptEntry[][] = [];
  const play = plot({ "run-1#1": kind === "question" ? NAME : WRITE, ...acts }, gates);
  const script = (input: StepInput) => {
    seen.push([...input.transcript()]);
    return play(input);
  };
  const world = await World.open(fakeBackend({ script, tools: [reading()], ...(flush ? { flush } : {}) }));
  const run = await world.begin();
  await waits(run);
  const id = ASKED[kind];
  const hash = () => world.context(`interaction/${id}`).hash as string;
  const say = (yes = true) => {
    const asked = world.holdfast.interaction(id);
    return kind === "question" ? asked.answer(yes ? "Ada" : "Bob") : asked.decide(yes, { hash: hash(), note: "so be it" });
  };
  return { world, run, seen, id, hash, say, address: `interaction/${id}` };
}

interface Given {
  readonly acts?: Parameters<typeof plot>[0];
  readonly gates?: Record<string, Gate>;
  readonly flush?: () => Promise<void>;
}

/** What the answers came to in all runs together: each is stated once, whoever was told. */
function told(world: World, kind: Kind) {
  const users = world.count("message.added", (fact) => fact.from === "answer");
  return kind === "question" ? [users, world.count("permission.decided")] : [world.count("permission.decided"), users];
}

/** The last step's transcript has the answer as its last fact, and the root is whole. */
function heard({ world, seen }: { world: World; seen: TranscriptEntry[][] }, kind: Kind) {
  expect(seen.at(-1)?.at(-1)?.fact).toMatchObject(
    kind === "question"
      ? { type: "message.added", role: "user", text: "Ada" }
      : { type: "permission.decided", interactionId: "run-1.write", question: "May I write?", allow: true, note: "so be it" },
  );
  expect(told(world, kind)).toEqual([1, 0]);
  expect(world.count("run.dispatched")).toBe(world.actors("run").length);
  expect(world.reader.deadLetters({}, { limit: 10 })).toEqual([]);
  expect(world.holdfast.verify().faults).toEqual([]);
}

describe("a question", () => {
  it("is durable before anybody is shown it", async () => {
    const world = await World.open(fakeBackend({ script: plot({ "run-1#1": WRITE }) }));
    const run = await world.begin();
    for await (const event of run.events()) {
      if (event.type !== "run.waiting") continue;
      const { id, kind, question, subject, hash } = event;
      expect(world.state("interaction/run-1.write")).toBe("awaited");
      expect(world.context("interaction/run-1.write")).toMatchObject({
        id,
        kind,
        question,
        subject,
        hash,
        runId: "run-1",
        turnId: "turn-1",
      });
      break;
    }
    expect(world.facts("interaction/run-1.write").map(({ type }) => type)).toEqual(["interaction.asked"]);
  });

  it("that could not be made durable is shown to nobody", async () => {
    const world = new World({ assistant: fakeBackend({ script: plot({ "run-1#1": NAME }) }) });
    await world.open();
    world.probe = (point, { entries = [] }) => {
      if (point === "commit.inside" && entries.some(({ facts }) => facts.includes('"run.waiting"'))) throw new Error("disk full");
    };
    const run = await world.begin();
    const shown: string[] = [];
    await codeOf(async () => {
      for await (const { type } of run.events()) shown.push(type);
    });
    expect(shown).not.toContain("run.waiting");
    expect(world.reader.actor("interaction/run-1.name")).toBeUndefined();
    expect(await codeOf(() => world.holdfast.interaction("run-1.name"))).toBe("interaction_not_found");
  });

  it.each(["question", "permission"] as const)("of kind %s is answered once: equal answers are one, another is refused", async (kind) => {
    const at = new Gate();
    const { world, run, id, say } = await asking(kind, { gates: { "run-1#2": at } });
    await Promise.all([say(), say()]);
    expect(await codeOf(() => say(false))).toBe("interaction_answered");
    await at.reached;
    await say();
    expect(await codeOf(() => say(false))).toBe("interaction_answered");
    at.open();
    await run.end();
    await say();
    expect(await codeOf(() => say(false))).toBe("interaction_answered");
    expect(world.holdfast.interaction(id).getSnapshot().context.answer).toMatchObject(
      kind === "question" ? { text: "Ada" } : { allow: true },
    );
    expect(told(world, kind)).toEqual([1, 0]);
  });

  it("has the first of two different answers, whoever gives it", async () => {
    const { world, run } = await asking();
    const given = await Promise.all(["Ada", "Bob"].map((name) => codeOf(() => run.answer("run-1.name", name))));
    expect(given).toEqual([undefined, "interaction_answered"]);
    await run.end();
    expect(world.context("interaction/run-1.name").answer).toEqual({ kind: "text", text: "Ada" });
  });

  it.each([
    [
      "of another kind",
      (world: World) => world.holdfast.interaction("run-1.name").decide(true, { hash: world.context("interaction/run-1.name").hash }),
      "answer_unfit",
    ],
    [
      "bound to something else",
      (world: World) => world.holdfast.interaction("run-1.name").answer("Ada", { hash: "0".repeat(64) }),
      "interaction_changed",
    ],
    ["bound to no hash", (world: World) => world.holdfast.interaction("run-1.name").answer("Ada", { hash: "it" }), "event_invalid"],
    ["that is no text", (world: World) => world.holdfast.interaction("run-1.name").answer(1 as never), "event_invalid"],
    ["that is too long", (world: World) => world.holdfast.interaction("run-1.name").answer("x".repeat(1_048_577)), "event_invalid"],
    [
      "without a hash, to a permission",
      (world: World) => world.holdfast.interaction("run-1.name").decide(true, undefined as never),
      "argument_invalid",
    ],
    ["to what nobody asked", (world: World) => world.holdfast.run("run-1").answer("run-1.age", "7"), "interaction_not_open"],
  ] as const)("takes no answer %s, and nothing is written", async (_, answer, code) => {
    const { world } = await asking();
    const before = world.dump();
    expect(await codeOf(() => answer(world))).toBe(code);
    expect(world.dump()).toBe(before);
  });

  it("of kind permission takes no text", async () => {
    const { world, run, id } = await asking("permission");
    const before = world.dump();
    expect(await codeOf(() => run.answer(id, "yes"))).toBe("answer_unfit");
    expect(world.dump()).toBe(before);
  });

  it("of one turn is none of another's", async () => {
    const { world } = await asking();
    const session = await world.holdfast.createSession({ backend: "assistant" });
    const other = await session.send("And here?");
    expect(await codeOf(() => other.answer("run-1.name", "Ada"))).toBe("interaction_not_open");
    expect(await codeOf(() => other.decide("run-1.name", true, { hash: "0".repeat(64) }))).toBe("interaction_not_open");
  });

  it("is bound by its hash to kind, words and subject, and to nothing else", async () => {
    const hashes = new Set<string>();
    for (const changes of [{}, { question: "May I?" }, { subject: { path: "/" } }, { kind: "question" as const }]) {
      const { hash } = await asking("permission", { acts: { "run-1#1": asks({ ...WRITE.report.interaction, ...changes }) } });
      hashes.add(hash());
    }
    expect(hashes.size).toBe(4);
    // The order of what is asked about says nothing.
    const turned = await asking("permission", {
      acts: { "run-1#1": asks({ ...WRITE.report.interaction, subject: { mode: 0o644, path: "/etc" } }) },
    });
    expect(hashes).toContain(turned.hash());
  });

  it("that is asked twice under one name fails its run", async () => {
    const { run, say } = await asking("question", { acts: { "run-1#2": NAME } });
    await say();
    expect(await run.end()).toMatchObject({ kind: "failed", error: { code: "interaction_repeated" } });
  });

  it("may be followed by another under another name", async () => {
    const { world, run, say } = await asking("question", { acts: { "run-1#2": asks({ id: "age", question: "Your age?" }) } });
    await say();
    for await (const event of run.events()) if (event.type === "run.waiting" && event.id === "run-1.age") break;
    await run.answer("run-1.age", "36");
    await run.end();
    expect(told(world, "question")).toEqual([2, 0]);
  });

  it.each([
    ["a name that is too long", { id: "x".repeat(65) }],
    ["no name", { id: "" }],
    ["a name with a control character", { id: "a\nb" }],
    ["words that are too long", { question: "x".repeat(65_537) }],
    ["an unknown kind", { kind: "order" }],
    ["a subject that is too large", { subject: "x".repeat(65_536) }],
  ])("with %s is no report that fits", async (_, changes) => {
    const backend = fakeBackend({ script: plot({ "run-1#1": asks({ id: "name", question: "Your name?", ...changes } as never) }) });
    const world = await World.open(backend);
    expect(await (await world.begin()).end()).toMatchObject({ kind: "failed", error: { code: "step_report_invalid" } });
    expect(world.actors("interaction")).toEqual([]);
  });

  it("has room for the longest name in the run with the longest id, and a longer id is refused", async () => {
    const runId = "r".repeat(160);
    const asked = asks({ id: "n".repeat(64), question: "Your name?" });
    const world = await World.open(fakeBackend({ script: plot({ [`${runId}#1`]: asked }) }));
    const run = await world.begin("Go", { runId });
    await waits(run);
    await run.answer(`${runId}.${"n".repeat(64)}`, "Ada");
    await run.end();
    const before = world.dump();
    expect(await codeOf(() => world.holdfast.session("session-1").send("Go", { runId: `${runId}r` }))).toBe("event_invalid");
    expect(world.dump()).toBe(before);
  });
});

describe.each(["question", "permission"] as const)("a %s survives", (kind) => {
  it("a restart before its answer", async () => {
    const way = await asking(kind);
    await way.world.reopen();
    await way.say();
    expect(await way.world.holdfast.run("run-1").end()).toMatchObject({ kind: "completed" });
    heard(way, kind);
  });

  it("a restart after its answer, which waits for the successor", async () => {
    const way = await asking(kind);
    await seal(way.run);
    await way.say();
    await way.world.reopen();
    expect(way.world.state(way.address)).toBe("kept");
    await goOn(way.world, "run-1", HANDOFF);
    heard(way, kind);
  });

  it("a handoff that was requested before it was asked", async () => {
    const [at, world] = [new Gate(), new World({})];
    const seen: TranscriptEntry[][] = [];
    const play = plot({ "run-1#1": kind === "question" ? NAME : WRITE }, { "run-1#1": at });
    world.backends.assistant = fakeBackend({
      script: (input) => {
        seen.push([...input.transcript()]);
        return play(input);
      },
    });
    await world.open();
    const run = await world.begin();
    await seal(run, "run-2", at);
    const successor = await begun(world, "run-1", HANDOFF, "run.waiting");
    const asked = world.holdfast.interaction(ASKED[kind]);
    await (kind === "question" ? asked.answer("Ada") : asked.decide(true, { hash: asked.getSnapshot().context.hash, note: "so be it" }));
    await successor.end();
    heard({ world, seen }, kind);
  });

  it("a handoff, answered while it is held", async () => {
    const way = await asking(kind);
    const handoff = await way.run.requestHandoff({ successorRunId: "run-2" });
    expect(await handoff.ready).toBe(true);
    await way.say();
    expect([way.world.state(way.address), told(way.world, kind)]).toEqual(["kept", [0, 0]]);
    await handoff.commit();
    await handoff.sealed;
    await goOn(way.world, "run-1", HANDOFF);
    heard(way, kind);
  });

  it("a handoff, answered while it is paused", async () => {
    const at = new Gate();
    const way = await asking(kind, { flush: () => at.pass() });
    const handoff = await way.run.requestHandoff({ successorRunId: "run-2" });
    await handoff.commit();
    await at.reached;
    expect(way.world.state("run/run-1")).toBe("paused");
    await way.say();
    at.open();
    await handoff.sealed;
    expect(way.world.context("run/run-1").preview.interaction.id).toBe(way.id);
    await goOn(way.world, "run-1", HANDOFF);
    heard(way, kind);
  });

  it("a handoff, answered while it is sealed", async () => {
    const way = await asking(kind);
    await seal(way.run);
    await way.say();
    await goOn(way.world, "run-1", HANDOFF);
    heard(way, kind);
  });

  it("a handoff, answered when the successor waits, by its own handle or by that of the run that asked", async () => {
    const way = await asking(kind);
    await seal(way.run);
    const successor = await begun(way.world, "run-1", HANDOFF, "run.waiting");
    expect(way.world.context(way.address).listener).toBe("run-2");
    if (kind === "question") await successor.answer(way.id, "Ada");
    else await way.run.decide(way.id, true, { hash: way.hash(), note: "so be it" });
    await successor.end();
    heard(way, kind);
  });

  it("two handoffs in a row, the second before the successor has stepped", async () => {
    const way = await asking(kind);
    await seal(way.run);
    const successor = await begun(way.world, "run-1", HANDOFF, "run.waiting");
    await seal(successor, "run-3");
    await way.say();
    await goOn(way.world, "run-2", HANDOFF);
    expect(way.seen.at(-1)?.at(-1)?.fact.type).toBe(kind === "question" ? "message.added" : "permission.decided");
    expect([told(way.world, kind), way.world.count("run.dispatched")]).toEqual([[1, 0], 2]);
    // The first handoff is over too, though its successor took no step.
    expect(way.world.actors("handoff").map(({ state }) => state)).toEqual(["resumed", "resumed"]);
    expect(way.world.reader.deadLetters({}, { limit: 10 })).toEqual([]);
    expect(way.world.holdfast.verify().faults).toEqual([]);
  });

  it.each(["before", "after"] as const)("a handoff that is cancelled, answered %s that: the run itself goes on", async (when) => {
    const way = await asking(kind);
    const handoff = await way.run.requestHandoff();
    await handoff.ready;
    if (when === "before") await way.say();
    expect(await handoff.cancel()).toBe(true);
    if (when === "after") await way.say();
    expect(await way.run.end()).toMatchObject({ kind: "completed" });
    heard(way, kind);
  });
});

describe("a stop of the turn closes its question", () => {
  const held = async ({ run }: Awaited<ReturnType<typeof asking>>) => {
    const handoff = await run.requestHandoff({ successorRunId: "run-2" });
    await handoff.ready;
    return handoff;
  };
  const STAGES = {
    waiting: async () => {},
    held,
    sealed: ({ run }: Awaited<ReturnType<typeof asking>>) => seal(run),
    resumed: async ({ run, world }: Awaited<ReturnType<typeof asking>>) => {
      await seal(run);
      await begun(world, "run-1", HANDOFF, "run.waiting");
    },
  };

  it.each(Object.keys(STAGES) as (keyof typeof STAGES)[])("while the turn is %s: no answer is taken, and none is heard", async (stage) => {
    const way = await asking();
    await STAGES[stage](way);
    await way.run.stop();
    const { turn } = way.world.context("session/session-1");
    if (turn) await way.world.holdfast.run(turn.runId).end();
    expect(way.world.state(way.address)).toBe("closed");
    expect(await codeOf(() => way.say())).toBe("interaction_closed");
    expect(told(way.world, "question")).toEqual([0, 0]);
    expect(way.world.state("session/session-1")).toBe("idle");
    expect(way.world.reader.deadLetters({}, { limit: 10 })).toEqual([]);
    expect(way.world.holdfast.verify().faults).toEqual([]);
  });

  it("while it is paused, too", async () => {
    const at = new Gate();
    const way = await asking("question", { flush: () => at.pass() });
    await (await held(way)).commit();
    await at.reached;
    await way.run.stop();
    await way.run.end();
    at.open();
    expect(way.world.state(way.address)).toBe("closed");
    expect(await codeOf(() => way.say())).toBe("interaction_closed");
  });

  it("also where it was answered and nobody had heard it: the answer stands, and says nothing", async () => {
    const way = await asking();
    await seal(way.run);
    await way.say();
    await way.run.stop();
    await way.world.holdfast.run("run-2").end();
    expect([way.world.state(way.address), told(way.world, "question")]).toEqual(["closed", [0, 0]]);
    await way.say();
    expect(await codeOf(() => way.say(false))).toBe("interaction_answered");
  });
});

describe("a run that has more to do after an answer", () => {
  it("goes on from it, and its next handoff asks nothing", async () => {
    const at = new Gate();
    const way = await asking("question", { acts: { "run-1#2": goesOn, "run-2#1": ends() }, gates: { "run-1#2": at } });
    await way.say();
    await seal(way.run, "run-2", at);
    expect(way.world.context("run/run-1").preview.interaction).toBe(null);
    await goOn(way.world, "run-1", HANDOFF);
    expect(told(way.world, "question")).toEqual([1, 0]);
  });
});
