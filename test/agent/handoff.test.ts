import { describe, expect, it } from "vitest";
import { type FakeBackendOptions, fakeBackend, type Handoff } from "../../src/index.ts";
import { ends, goesOn, plot } from "./way.ts";
import { codeOf, Gate, World } from "./world.ts";

/** A handoff that was requested in its run's first step, which stands still until it is let go on; so does the second. */
async function requested(options: Partial<FakeBackendOptions> = {}, first: object = goesOn) {
  const [step, next] = [new Gate(), new Gate()];
  const script = plot({ "run-1#1": first }, { "run-1#1": step, "run-1#2": next });
  const world = await World.open(fakeBackend({ script, ...options }), { cacheLimit: 1 });
  const run = await world.begin();
  await step.reached;
  const handoff = await run.requestHandoff({ successorRunId: "run-2" });
  return { world, run, handoff, step, next };
}

async function held(options: Partial<FakeBackendOptions> = {}) {
  const way = await requested(options);
  way.step.open();
  expect(await way.handoff.ready).toBe(true);
  return way;
}

/** What a decision answers: true, false, or the code with which it fails. */
const answer = async (handoff: Handoff, decision: "commit" | "cancel") => {
  let decided: boolean | undefined;
  const code = await codeOf(async () => {
    decided = await handoff[decision]();
  });
  return code ?? decided;
};
const answers = async (handoff: Handoff) => [await answer(handoff, "commit"), await answer(handoff, "cancel")];

describe("commit and cancel", () => {
  it("answer false and true where the run is not held yet, and false after", async () => {
    const { world, handoff } = await requested();
    expect(await answers(handoff)).toEqual([false, true]);
    expect(world.state(`handoff/${handoff.id}`)).toBe("cancelled");
    expect(await answers(handoff)).toEqual([false, false]);
  });

  it("answer true where the run is held: whichever comes first, and the other false", async () => {
    const way = await held();
    expect([await answer(way.handoff, "cancel"), await answer(way.handoff, "commit"), await answer(way.handoff, "cancel")]).toEqual([true, false, false]); // biome-ignore format: one row says it
    const other = await held({ flush: () => new Gate().pass() });
    expect([...(await answers(other.handoff)), await answer(other.handoff, "commit")]).toEqual([true, false, false]);
    expect(other.world.state("run/run-1")).toBe("paused");
  });

  it("answer false where the turn is sealed", async () => {
    const { handoff } = await held();
    await handoff.commit();
    expect(await handoff.sealed).toBe(true);
    expect(await answers(handoff)).toEqual([false, false]);
  });

  it("answer false where the run ended before it was held, or was stopped", async () => {
    const over = await requested({}, ends());
    over.step.open();
    await over.run.end();
    expect([await over.handoff.ready, ...(await answers(over.handoff))]).toEqual([false, false, false]);
    const stopped = await held();
    await stopped.run.stop();
    expect(await answers(stopped.handoff)).toEqual([false, false]);
  });

  it("answer false for a handoff that was withdrawn, also where another holds the run", async () => {
    const { run, handoff, step } = await requested();
    await handoff.cancel();
    const other = await run.requestHandoff({ successorRunId: "run-3" });
    step.open();
    await other.ready;
    expect([...(await answers(handoff)), await answer(other, "cancel")]).toEqual([false, false, true]);
  });

  it("answer composition_not_durable and true where the run has declared nothing", async () => {
    const { handoff } = await held({ composition: null });
    expect(await answers(handoff)).toEqual(["composition_not_durable", true]);
  });

  it("answer with its code where the run is set aside", async () => {
    const { world, handoff } = await held();
    await world.holdfast.createSession({ backend: "assistant", id: "session-2" });
    world.tamper("UPDATE actors SET snapshot = '{' WHERE address = 'run/run-1'");
    expect(await answers(handoff)).toEqual(["actor_quarantined", "actor_quarantined"]);
  });

  it("answer with its code where the runtime is closed", async () => {
    const { world, handoff } = await held();
    await world.holdfast.close();
    expect(await answers(handoff)).toEqual(["closed", "closed"]);
  });
});
