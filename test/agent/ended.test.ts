import { afterEach, describe, expect, it, vi } from "vitest";
import { Feed } from "../../src/actor/feed.ts";
import { type Backend, type EndedInput, fakeBackend, type Script, type StepInput } from "../../src/index.ts";
import { codeOf, Gate, World } from "./world.ts";

const goesOn = { report: { next: "continue", remainingSteps: 2 } } as const;
const ends = { report: { next: "end", stopReason: "end_turn" } } as const;
const run1 = { sessionId: "session-1", turnId: "turn-1", runId: "run-1" };

/** A scripted backend that keeps which of its runs it was told are over. */
function telling(script: Script) {
  const told: EndedInput[] = [];
  const over = new Gate();
  const backend: Backend = Object.assign(fakeBackend({ script }), {
    ended: (input: EndedInput) => {
      told.push(input);
      void over.pass();
    },
  });
  return { told, over, backend };
}

async function held(world: World) {
  const run = await world.begin();
  const handoff = await run.requestHandoff({ successorRunId: "successor-run" });
  await handoff.ready;
  return { run, handoff };
}

afterEach(() => void vi.restoreAllMocks());

describe("a backend", () => {
  it("is told once that a run of it has ended, by one watch that is gone then", async () => {
    const { told, over, backend } = telling(({ step }: StepInput) => (step < 4 ? goesOn : ends));
    const subscribe = vi.spyOn(Feed.prototype, "subscribe");
    const world = await World.open(backend);
    await world.begin();
    await over.reached;
    expect(told).toEqual([run1]);
    expect(subscribe).toHaveBeenCalledOnce();
    expect((subscribe.mock.contexts[0] as Feed).watched()).toBe(0);
  });

  it("is told of a run that failed before its first step", async () => {
    const { told, over, backend } = telling(ends);
    const world = await World.open(Object.assign(backend, { prepare: () => Promise.reject(new Error("no line")) }));
    await world.begin();
    await over.reached;
    expect(told).toEqual([run1]);
  });

  it("is told of a run that was stopped while it was held", async () => {
    const { told, over, backend } = telling(goesOn);
    const { run } = await held(await World.open(backend));
    expect(told).toEqual([]);
    await run.stop();
    await over.reached;
    expect(told).toEqual([run1]);
  });

  it("is told of a run that was sealed", async () => {
    const { told, over, backend } = telling(goesOn);
    const { handoff } = await held(await World.open(backend));
    await handoff.commit();
    await over.reached;
    expect([told, await handoff.sealed]).toEqual([[run1], true]);
  });

  it("is told of a run that was set aside", async () => {
    const { told, over, backend } = telling(goesOn);
    const world = await World.open(backend, { cacheLimit: 1 });
    const { handoff } = await held(world);
    await world.holdfast.createSession({ backend: "assistant", id: "session-2" });
    world.tamper("UPDATE actors SET snapshot = '{' WHERE address = 'run/run-1'");
    expect(await codeOf(() => handoff.cancel())).toBe("actor_quarantined");
    await over.reached;
    expect(told).toEqual([run1]);
  });

  it("is told of its live runs where the runtime is closed, before `close` resolves", async () => {
    const { told, backend } = telling(goesOn);
    const world = await World.open(backend);
    await held(world);
    await world.holdfast.close();
    expect(told).toEqual([run1]);
  });

  it("that throws when it is told is a warning of the process", async () => {
    const warned = new Gate();
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => void warned.pass());
    const world = await World.open(Object.assign(fakeBackend({ script: ends }), { ended: () => Promise.reject(new Error("not now")) }));
    expect((await (await world.begin()).end()).kind).toBe("completed");
    await warned.reached;
    expect(warn.mock.calls).toEqual([[new Error("not now")]]);
  });
});
