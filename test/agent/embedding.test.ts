import { describe, expect, it } from "vitest";
import { type Composition, fakeBackend, fakeComposition, openHoldfast } from "../../src/index.ts";
import { asks, checked, codes, ends, goOn, plot, seal, waits } from "./way.ts";
import { codeOf, collect, temporary, World } from "./world.ts";

const HANDOFF = { purpose: "handoff" } as const;
const hash = (digit: string) => `sha256:${digit.repeat(64)}`;

/** A sealed turn whose successor will be composed with `changes`. */
async function sealed(changes: Partial<Composition>, driftPolicy: object) {
  const composition = ({ runId }: { runId: string }) => fakeComposition(runId === "run-1" ? {} : changes);
  const world = await World.open(fakeBackend({ composition, script: plot({ "run-1#1": asks({ id: "go", question: "Go on?" }) }) }), {
    driftPolicy,
  });
  const run = await world.begin();
  await waits(run);
  await seal(run);
  await world.holdfast.interaction("run-1.go").answer("yes");
  return world;
}

describe("the drift policy", () => {
  it("lets a turn go on where a difference is allowed, and the difference is stated", async () => {
    const world = await sealed({ promptHash: hash("1") }, { prompt: "allow" });
    const events = await goOn(world, "run-1", HANDOFF);
    const drift = [{ field: "prompt", source: hash("0"), own: hash("1"), policy: "allow" }];
    expect(events.filter(({ type }) => type === "composition.drifted")).toMatchObject([{ drift }]);
    expect(events.at(-1)).toMatchObject({ kind: "completed" });
    expect(world.facts("run/run-2").filter(({ type }) => type === "composition.drifted")).toEqual([{ type: "composition.drifted", drift }]);
  });

  it("ends it where one is refused, also one that matters to nobody else", async () => {
    const world = await sealed({ composerRevision: "2" }, { composer_revision: "refuse" });
    const failure = await collect(world.holdfast.resume(await checked(world, "run-1", HANDOFF))).catch((error) => error);
    const drift = [{ field: "composer_revision", source: "1", own: "2", policy: "refuse" }];
    expect(failure).toMatchObject({ code: "composition_drift", details: { run: "run-2", drift } });
    expect(world.count("composition.drifted")).toBe(0);
    expect(world.context("run/run-2").outcome.drift).toEqual(drift);
  });

  it("names what is allowed beside what is refused, and ends the turn for the latter", async () => {
    const world = await sealed({ promptHash: hash("1"), toolsHash: hash("2") }, { prompt: "allow" });
    const failure = await collect(world.holdfast.resume(await checked(world, "run-1", HANDOFF))).catch((error) => error);
    expect(failure).toMatchObject({ code: "composition_drift", message: expect.not.stringContaining("prompt") });
    expect(failure.details.drift.map(({ field, policy }: Record<string, string>) => `${field} ${policy}`)).toEqual([
      "prompt allow",
      "tools refuse",
    ]);
  });
});

describe("an option that does not fit", () => {
  it.each([
    [{ driftPolicy: { promt: "allow" } }, "driftPolicy.promt"],
    [{ driftPolicy: { prompt: "maybe" } }, "driftPolicy.prompt"],
    [{ driftPolicy: { constructor: "allow" } }, "driftPolicy.constructor"],
    [{ driftPolicy: null }, "driftPolicy"],
    [{ driftPolicy: "allow" }, "driftPolicy"],
    [{ continuations: "no" }, "continuations"],
    [{ inspect: {} }, "inspect"],
    [{ denials: [] }, "denials"],
  ])("is refused when the root is opened, by its path: %j", async (option, path) => {
    const root = temporary();
    const failure = await openHoldfast({ root, backends: {}, ...(option as object) }).catch((error) => error);
    expect(failure).toMatchObject({ code: "argument_invalid", details: { path } });
    // And the root is free again.
    await (await openHoldfast({ root, backends: {} })).close();
  });
});

describe("a program that continues no ended runs", () => {
  it("parks them, and takes no continuation that another program checked", async () => {
    const options = { continuations: true };
    const broken = () => Promise.reject(new Error("broken"));
    const world = await World.open(fakeBackend({ script: plot({ "run-1#1": broken }) }), options);
    await (await world.begin()).end();
    const continuation = await checked(world);
    options.continuations = false;
    await world.reopen();
    const before = world.dump();
    expect(await codes(world)).toEqual(["continuation_disabled"]);
    expect(await codeOf(() => collect(world.holdfast.resume(continuation)))).toBe("continuation_disabled");
    expect(world.dump()).toBe(before);
  });

  it("continues handed off turns all the same", async () => {
    const options = { continuations: false };
    const world = await World.open(
      fakeBackend({ script: plot({ "run-1#1": asks({ id: "go", question: "Go on?" }), "run-2#1": ends() }) }),
      options,
    );
    const run = await world.begin();
    await waits(run);
    await seal(run);
    await world.holdfast.interaction("run-1.go").answer("yes");
    expect(await codes(world)).toEqual(["sealed_for_successor"]);
    expect((await goOn(world, "run-1", HANDOFF)).at(-1)).toMatchObject({ kind: "completed" });
  });
});
