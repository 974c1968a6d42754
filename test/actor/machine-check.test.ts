import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { fromPromise, raise } from "xstate";
import { z } from "zod";
import { openEngine } from "../../src/actor/engine.ts";
import { HoldfastError } from "../../src/actor/error.ts";
import { checkMachine } from "../../src/actor/machine-check.ts";
import { register } from "../../src/actor/registration.ts";
import { stateName } from "../../src/actor/transition.ts";
import { simulatedClock } from "../../src/testing/simulated-clock.ts";
import { journal, place, rejection } from "./counter.ts";
import { FAILING, REFUSED, SUPPORTED } from "./feature.ts";
import { inState, thing } from "./thing.ts";

const page = readFileSync(new URL("../../docs/guides/supported.md", import.meta.url), "utf8");
const effects = { job: async () => null };

describe("a machine runs unchanged, and is after a restart as it was, that has", () => {
  it.each(SUPPORTED)("$feature", async ({ machine, input = {}, steps, state, context, facts }) => {
    const clock = simulatedClock();
    const { store } = place();
    const engine = await openEngine(store, { machines: [machine], effects, clock, closeGraceMs: 0 });
    onTestFinished(() => engine.close());
    const actor = await engine.create(machine, "a", { input: input as never });
    for (const step of steps) {
      if ("ignored" in step) expect(await actor.send(step.ignored as never)).toMatchObject({ kind: "ignored" });
      else if ("type" in step) expect(await actor.send(step as never)).toMatchObject({ kind: "accepted" });
      else if (step.ms > 0) {
        await clock.due(step.ms);
        clock.advance(step.ms);
      }
    }
    const matches = (snapshot: { value: unknown; context: unknown }) =>
      stateName(snapshot.value) === state && JSON.stringify(snapshot.context) === JSON.stringify(context ?? {});
    await actor.waitFor(matches as never);
    if (facts) expect(journal(engine, "thing/a").flatMap((entry) => entry.facts)).toEqual(facts);
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
    const next = await openEngine(store, { machines: [machine], effects, clock });
    onTestFinished(() => next.close());
    expect(matches((next.get(machine, "a") as typeof actor).getSnapshot())).toBe(true);
  });
});

describe("a machine is refused, with the place and the way to write it instead, that has", () => {
  it.each(REFUSED)("$feature", ({ machine, path }) => {
    const problems = checkMachine(machine);
    expect(problems[0]).toMatchObject({ path, problem: expect.stringMatching(/^\S.+/), remedy: expect.stringMatching(/^\S.+/) });
    expect(new Set(problems.map((problem) => problem.remedy)).size).toBe(1);
  });
});

describe("a macrostep fails with a code, and writes nothing, where a function of the machine makes", () => {
  it.each(FAILING)("$feature", async ({ machine, code, says }) => {
    expect(checkMachine(machine)).toEqual([]);
    const engine = await openEngine(place().store, { machines: [machine], closeGraceMs: 0 });
    onTestFinished(() => engine.close());
    const actor = await engine.create(machine, "a", { input: {} as never });
    expect(await rejection(actor.send({ type: "go" } as never))).toMatchObject({ code, message: expect.stringContaining(says) });
    expect(actor.row().seq).toBe(1);
  });

  it("a child in its first context", async () => {
    const machine = thing(
      { context: ({ spawn }: any) => ({ child: spawn("child") }) },
      { actors: { child: { getInitialSnapshot: () => ({}) } } },
    );
    const engine = await openEngine(place().store, { machines: [machine], closeGraceMs: 0 });
    onTestFinished(() => engine.close());
    expect(await rejection(engine.create(machine, "a", { input: {} as never }))).toMatchObject({ code: "action_invalid" });
  });
});

describe("docs/guides/supported.md", () => {
  it("has a row for each feature, and no other", () => {
    const row = (...cells: string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
    const rows = [
      ...SUPPORTED.map(({ feature, note = "" }) => row(feature, "yes", note)),
      ...REFUSED.map(({ feature, machine }) => row(feature, "no", checkMachine(machine)[0]?.remedy ?? "")),
      ...FAILING.map(({ feature, code, instead }) => row(feature, `[\`${code}\`](../errors/${code}.md)`, instead)),
    ];
    const found = page.split("\n").filter((line) => /^\| .* \| (yes|no|\[`\w+`\]\(.*\)) \|/.test(line));
    expect(found).toEqual(rows);
  });
});

const load = fromPromise(async () => 1);
const parts = {
  actors: { load, deliver: load },
  delays: { soon: 5, late: 9 },
  schemas: { effects: { load: { params: z.object({ n: z.optional(z.number()) }).nullable(), delivery: "at_least_once" } } },
};
/** A machine with this state, and one that invokes what is declared. */
const besides = (one: object) => thing({ initial: "one", states: { one, two: { invoke: { id: "own", src: "load" } } } }, parts);
const later = (event: unknown, delay: string, id?: string) => raise(event as never, { delay, ...(id ? { id } : {}) } as never);

describe("a machine has no problem that", () => {
  it.each<[string, object]>([
    ["takes every event", { on: { "*": "two" } }],
    ["takes every event whose type begins alike", { on: { "step.*": "two", "lost.*": "two" } }],
    ["takes XState's own events", { on: { "xstate.done.actor.kid": "two" } }],
    ["ends with an output that a function makes", { output: () => new Date(0) }],
    ["invokes with an input that fits", { invoke: { src: "load", input: { n: 1 } } }],
    ["invokes without an input where null fits", { invoke: { src: "load" } }],
    ["invokes with an input that only a function knows", { invoke: { src: "load", input: () => new Date(0) } }],
    ["sets one timer twice, with one delay", { entry: later({ type: "go" }, "soon", "it"), exit: later({ type: "go" }, "soon", "it") }],
  ])("%s", (_, state) => {
    expect(checkMachine(besides(state))).toEqual([]);
  });
});

it("an id is as long as 64 letters, digits and dashes", () => {
  expect(checkMachine(thing({ id: "a-1".padEnd(64, "x") }))).toEqual([]);
});

describe("a machine has one problem, where it stands, that", () => {
  it.each<[string, object, string, string]>([
    ["has a wildcard in the middle", { on: { "step.*.on": "two" } }, "on.step.*.on", "wildcard"],
    ["has a wildcard within a word", { on: { "step*": "two" } }, "on.step*", "wildcard"],
    ["has two wildcards", { on: { "step.*.*": "two" } }, "on.step.*.*", "wildcard"],
    ["has a wildcard at its beginning", { on: { "*.on": "two" } }, "on.*.on", "wildcard"],
    ["takes an event that ends like XState's", { on: { "own.xstate.": "two" } }, "on.own.xstate.", "schemas.events"],
    ["takes an event that is called as what every object has", { on: { constructor: "two" } }, "on.constructor", "schemas.events"],
    ["invokes what is called as an action of the engine", { invoke: { src: "deliver" } }, "invoke", "action of the engine"],
    ["invokes what is no text, and has no text", { invoke: { src: Object.create(null) } }, "invoke", "without a name"],
    ["invokes under an id that is no text", { invoke: { src: "load", id: 5 } }, "invoke", "child id"],
    ["invokes with what is not plain JSON", { invoke: { src: "load", input: { at: new Date(0) } } }, "invoke", "$.at"],
    ["invokes with what does not fit", { invoke: { src: "load", input: { n: "1" } } }, "invoke", "does not fit"],
    [
      "sets one timer twice, with two delays",
      { entry: later({ type: "go" }, "soon", "it"), exit: later({ type: "go" }, "late", "it") },
      "exit",
      "the timer it",
    ],
    ["sets a timer of an event that nobody declares", { entry: later({ type: "lost" }, "soon") }, "entry", "lost"],
  ])("%s", (_, state, path, says) => {
    expect(checkMachine(besides(state))).toMatchObject([{ path: `thing.one.${path}`, problem: expect.stringContaining(says) }]);
  });

  it.each(["", "a/b", "1a", "-a", "a_b", "aB", "a\n", "x".repeat(65)])("has the id %j", (id) => {
    expect(checkMachine(thing({ id }))).toMatchObject([{ path: "id" }]);
  });

  it("has no version, or one that cannot be compared", () => {
    const [none, odd] = [undefined, "v1"].map((version) => checkMachine(thing({ version })));
    expect([none, odd]).toMatchObject([
      [{ path: "version", problem: expect.stringContaining("missing") }],
      [{ path: "version", problem: expect.not.stringContaining("missing") }],
    ]);
  });
});

describe("all problems of a machine", () => {
  const bad = () =>
    thing(
      {
        id: "Thing",
        version: "v1",
        initial: "a",
        states: { a: { entry: ["lost", () => {}], on: { og: "b" } }, b: { after: { 10: "a" } } },
      },
      { schemas: { input: undefined, delays: { soon: "sometimes" } } },
    );

  it("are found at once, in the machine's order", () => {
    expect(checkMachine(bad()).map(({ path }) => path)).toEqual([
      "id",
      "version",
      "schemas.input",
      "schemas.delays.soon",
      "schemas.delays.soon",
      "Thing.a.on.og",
      "Thing.a.entry",
      "Thing.a.entry",
      "Thing.b.after.10",
    ]);
  });

  it("are counted by the error of registration, which names the first", () => {
    try {
      register(bad());
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(HoldfastError);
      expect(error).toMatchObject({ code: "machine_invalid", details: { path: "id", problems: 9, remedy: expect.any(String) } });
      expect((error as Error).message).toContain("and 8 more");
    }
  });

  it("are none in a machine that can be registered", () => {
    expect(checkMachine(inState({ on: { go: "two" } }))).toEqual([]);
  });
});
