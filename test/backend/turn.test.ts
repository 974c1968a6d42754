import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import {
  type Backend,
  fakeBackend,
  fakeComposition,
  type OpenHoldfastOptions,
  type Run,
  type Tool,
  type TurnBackendOptions,
  type TurnInput,
  turnBackend,
} from "../../src/index.ts";
import { simulatedClock } from "../../src/testing/index.ts";
import { codeOf, collect, type Fact, Gate, World } from "../agent/world.ts";

type Send = TurnBackendOptions["send"];

const ids = { id: "handoff-1", successorRunId: "successor-run", claimId: "claim-1" };
const complete = { type: "complete", stopReason: "end_turn" } as const;
const said = (text: string) => ({ type: "text", text }) as const;
const quiet = new AbortController().signal;

const note: Tool<{ thing: string }> = {
  name: "note",
  description: "Notes a thing down.",
  parameters: z.strictObject({ thing: z.string() }),
  execute: async ({ thing }) => ({ noted: thing }),
};

function driving(send: Send, rest: Partial<TurnBackendOptions> = {}): Backend {
  return turnBackend({ prepare: async () => fakeComposition(), tools: [note], send, ...rest });
}

const opened = (send: Send, rest: Partial<TurnBackendOptions> = {}, options: Partial<OpenHoldfastOptions> = {}) =>
  World.open(driving(send, rest), options);

/** Everything that was on its way has come. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** The assistant's texts, in order, from the events that hold them. */
const texts = (world: World, run = "run-1"): string[] =>
  world.rows(`run/${run}`).flatMap((row) => {
    const { type, output } = JSON.parse(row.event);
    return type === "step.done" && output.text !== null ? [output.text] : [];
  });

const ended = (world: World, run = "run-1"): Fact | undefined => world.facts(`run/${run}`).find((fact) => fact.type === "run.ended");
const failure = async (run: Run): Promise<unknown> => {
  const end = await run.end();
  return end.kind === "failed" ? end.error.code : end.kind;
};

/** What the flush came to, as it stands in the journal. */
const flushed = (world: World): unknown => {
  const event = world
    .rows("run/run-1")
    .map((row) => JSON.parse(row.event))
    .find(({ type }) => /^flush/.test(type));
  return event.error?.code ?? event.type;
};

/** A turn that says "first", stands at a boundary with 2 steps left, and then does what the test says; with what it saw. */
function standing(after: (decision: string, input: TurnInput) => AsyncIterable<unknown>, execution?: AbortSignal) {
  const seen = { decision: "", input: undefined as TurnInput | undefined, at: new Gate(), decided: new Gate(), over: new Gate() };
  const send = async function* (input: TurnInput) {
    seen.input = input;
    try {
      yield said("first");
      await seen.at.pass();
      seen.decision = await input.handoffBoundary(execution ?? input.signal, 2);
      void seen.decided.pass();
      yield* after(seen.decision, input) as AsyncIterable<typeof complete>;
    } finally {
      void seen.over.pass();
    }
  };
  return { seen, send: send as Send };
}

/** Its run, held. */
async function held(world: World, at: Gate) {
  const run = await world.begin();
  await at.reached;
  const handoff = await run.requestHandoff(ids);
  at.open();
  expect(await handoff.ready).toBe(true);
  return { run, handoff };
}

async function resumed(world: World) {
  const check = await world.holdfast.checkContinuation("run-1", { purpose: "handoff" });
  if (check.decision === "park") throw new Error(check.reasons.map(({ code }) => code).join());
  return collect(world.holdfast.resume(check.continuation));
}

async function* goesOn() {
  yield said("second");
  yield complete;
}

async function* stops() {}

const warnings: unknown[] = [];
vi.spyOn(process, "emitWarning").mockImplementation((warning) => void warnings.push(warning));
afterEach(() => {
  expect(warnings.splice(0)).toEqual([]);
});

describe("a turn", () => {
  it("that reaches no boundary is one step", async () => {
    const world = await opened(async function* ({ text }) {
      yield said(`asked: ${text}; `);
      yield said("done");
      yield complete;
    });
    const run = await world.begin("What?");
    expect(await run.end()).toEqual({ kind: "completed", stopReason: "end_turn" });
    expect(texts(world)).toEqual(["asked: What?; done"]);
  });

  it("is told what a step is told, and the steps left when it begins", async () => {
    let given: TurnInput | undefined;
    const world = await opened(async function* (input) {
      given = input;
      yield complete;
    });
    await (await world.begin("What?", { maxSteps: 7 })).end();
    expect(given).toMatchObject({
      sessionId: "session-1",
      turnId: "turn-1",
      runId: "run-1",
      rootRunId: "run-1",
      cwd: world.root,
      maxSteps: 7,
      text: "What?",
      headAnchor: null,
      continuation: null,
    });
    expect(given).not.toHaveProperty("step");
    expect([...(given?.transcript() ?? [])].map(({ fact }) => fact)).toEqual([{ type: "message.added", role: "user", text: "What?" }]);
  });

  it("goes on over a boundary at once where no handoff is requested, as its next step", async () => {
    const decisions: string[] = [];
    const world = await opened(async function* (input) {
      for (const text of ["first", "second"]) {
        yield said(text);
        decisions.push(await input.handoffBoundary(input.signal, null));
      }
      yield said("third");
      yield complete;
    });
    await (await world.begin()).end();
    expect(decisions).toEqual(["continue", "continue"]);
    expect(texts(world)).toEqual(["first", "second", "third"]);
  });

  it("may reach a boundary before it says anything", async () => {
    const world = await opened(async function* (input) {
      await input.handoffBoundary(input.signal, 5);
      yield* goesOn();
    });
    await (await world.begin()).end();
    expect(texts(world)).toEqual(["second"]);
  });

  it("shows watchers its partial output, which is stored nowhere", async () => {
    const world = await opened(async function* () {
      yield { type: "partial", output: "fir" };
      yield said("first");
      yield complete;
    });
    const run = await world.begin();
    const events = await collect(run.events());
    expect(events.filter((event) => event.type === "partial").map(({ output }) => output)).toEqual(["fir"]);
    expect(world.dump()).not.toContain('"fir"');
  });

  it("calls tools in the step that is under way", async () => {
    const world = await opened(async function* (input) {
      await input.callTool("note", { thing: "a" });
      await input.handoffBoundary(input.signal, null);
      // Not waited for: the boundary comes after its result all the same.
      void input.callTool("note", { thing: "b" });
      await input.handoffBoundary(input.signal, null);
      yield complete;
    });
    await (await world.begin()).end();
    expect(
      world
        .facts("run/run-1")
        .filter((fact) => /^tool/.test(fact.type))
        .map(({ type, callId }) => `${type} ${callId}`),
    ).toEqual(["tool.called 1.1", "tool.settled 1.1", "tool.called 2.1", "tool.settled 2.1"]);
  });

  it("ends with its last step: at zero steps left it is released from the boundary, and is over", async () => {
    const { seen, send } = standing(goesOn);
    const world = await opened(async function* (input) {
      yield* send({ ...input, handoffBoundary: (signal) => input.handoffBoundary(signal, 0) });
    });
    seen.at.open();
    expect(await (await world.begin()).end()).toEqual({ kind: "completed", stopReason: "step_limit" });
    await seen.over.reached;
    expect([seen.decision, seen.input?.signal.aborted, texts(world)]).toEqual(["continue", true, ["first"]]);
  });

  it("does not mix with another one of the same backend", async () => {
    const gates = [new Gate(), new Gate()];
    const world = await opened(async function* (input) {
      const gate = gates[Number(input.text)] as Gate;
      await gate.pass();
      await input.callTool("note", { thing: input.text });
      yield said(`first of ${input.text}`);
      await input.handoffBoundary(input.signal, null);
      yield said(`second of ${input.text}`);
      yield complete;
    });
    const runs = await Promise.all(
      ["0", "1"].map(async (text) => {
        const session = await world.holdfast.createSession({ backend: "assistant", id: `session-${text}` });
        return session.send(text, { runId: `run-${text}` });
      }),
    );
    await Promise.all(gates.map((gate) => gate.reached));
    for (const gate of gates) gate.open();
    await Promise.all(runs.map((run) => run.end()));
    for (const text of ["0", "1"]) {
      expect(texts(world, `run-${text}`)).toEqual([`first of ${text}`, `second of ${text}`]);
      expect(world.rows(`run/run-${text}`).filter(({ event }) => JSON.parse(event).args?.thing === text)).toHaveLength(1);
    }
  });
});

describe("a turn that is held", () => {
  it("goes on where the handoff is cancelled, in the same run", async () => {
    const { seen, send } = standing(goesOn);
    const world = await opened(send);
    const { run, handoff } = await held(world, seen.at);
    expect(await handoff.cancel()).toBe(true);
    expect(await run.end()).toEqual({ kind: "completed", stopReason: "end_turn" });
    expect([seen.decision, texts(world), world.count("run.sealed")]).toEqual(["continue", ["first", "second"], 0]);
  });

  it("ends where it is committed, and its successor has the steps left and the user's text", async () => {
    const inputs: TurnInput[] = [];
    const { seen, send } = standing(stops);
    const world = await opened(async function* (input) {
      inputs.push(input);
      if (!input.continuation) return yield* send(input);
      yield said("third");
      yield complete;
    });
    const { run, handoff } = await held(world, seen.at);
    expect(await handoff.preview()).toMatchObject({ remainingSteps: 2, successorRunId: "successor-run" });
    expect(await handoff.commit()).toBe(true);
    expect(await handoff.sealed).toBe(true);
    expect([seen.decision, seen.input?.signal.aborted, (await run.end()).kind]).toEqual(["pause", false, "sealed"]);
    const events = await resumed(world);
    expect(events.at(-1)).toMatchObject({ type: "run.ended", kind: "completed" });
    expect(inputs[1]).toMatchObject({
      runId: "successor-run",
      rootRunId: "run-1",
      turnId: "turn-1",
      maxSteps: 2,
      text: "",
      headAnchor: { runId: "run-1", turnId: "turn-1", text: "Do the long job" },
      continuation: { purpose: "handoff", sourceRunId: "run-1", denied: false },
    });
    expect([texts(world), texts(world, "successor-run"), world.count("run.dispatched")]).toEqual([["first"], ["third"], 2]);
  });

  it("is waited for before the seal is written, and what drains after it too", async () => {
    const last = new Gate();
    const order: string[] = [];
    const { seen, send } = standing(async function* () {
      await last.pass();
      order.push("turn");
      yield* stops();
    });
    const world = await opened(send, { flush: async () => void order.push("flush") });
    const { handoff } = await held(world, seen.at);
    await handoff.commit();
    await last.reached;
    expect(world.count("run.sealed")).toBe(0);
    last.open();
    expect(await handoff.sealed).toBe(true);
    expect(order).toEqual(["turn", "flush"]);
  });

  it.each([
    ["its own signal", undefined],
    ["another one", quiet],
  ])("is released by a stop, waiting by %s: aborted, told to continue, and returned", async (_, execution) => {
    const { seen, send } = standing(goesOn, execution);
    const world = await opened(send);
    const { run, handoff } = await held(world, seen.at);
    await run.stop();
    expect(await run.end()).toEqual({ kind: "cancelled", by: "user" });
    await seen.over.reached;
    expect([await handoff.sealed, seen.decision, seen.input?.signal.aborted, texts(world)]).toEqual([false, "continue", true, ["first"]]);
  });

  it("is released by a stop that comes after the commit and before the seal", async () => {
    const last = new Gate();
    const { seen, send } = standing(async function* (_, input) {
      await last.pass();
      yield { type: "complete", stopReason: input.signal.aborted ? "user_stop" : "end_turn" };
    });
    const world = await opened(send);
    const { run, handoff } = await held(world, seen.at);
    await handoff.commit();
    await last.reached;
    await run.stop();
    last.open();
    expect(await run.end()).toEqual({ kind: "cancelled", by: "user" });
    await seen.over.reached;
    expect([await handoff.sealed, seen.decision, world.count("run.sealed")]).toEqual([false, "pause", 0]);
    expect(world.dump()).not.toContain("user_stop");
  });

  it("is released by the close of the runtime, and its run is continued by the next one", async () => {
    const { seen, send } = standing(goesOn);
    const world = await opened(send);
    await held(world, seen.at);
    await world.holdfast.close();
    await seen.over.reached;
    expect([seen.decision, seen.input?.signal.aborted]).toEqual(["continue", true]);
    await world.open();
    expect(ended(world)).toMatchObject({ kind: "failed", error: { code: "interrupted_at_boundary" } });
  });

  it("is released where its run is set aside", async () => {
    const { seen, send } = standing(goesOn);
    const world = await opened(send, {}, { cacheLimit: 1 });
    const { handoff } = await held(world, seen.at);
    // The next actor takes the run's place in the cache, so that the damage is seen.
    await world.holdfast.createSession({ backend: "assistant", id: "session-2" });
    world.tamper("UPDATE actors SET snapshot = '{' WHERE address = 'run/run-1'");
    expect(await codeOf(() => handoff.cancel())).toBe("actor_quarantined");
    await seen.over.reached;
    expect([seen.decision, seen.input?.signal.aborted]).toEqual(["continue", true]);
  });

  it("is warned of where it throws while it is released, but for the abort", async () => {
    for (const [error, expected] of [
      [new DOMException("aborted", "AbortError"), []],
      [new Error("not closed"), ["not closed"]],
    ] as const) {
      const { seen, send } = standing(() => {
        throw error;
      });
      const world = await opened(send);
      const { run } = await held(world, seen.at);
      await run.stop();
      await run.end();
      await seen.over.reached;
      await settled();
      expect(warnings.splice(0).map((warning) => (warning as Error).message)).toEqual(expected);
    }
  });

  it("is returned by its iterator, where that can end its own wait", async () => {
    const returned = new Gate();
    const world = await opened((input) => ({
      [Symbol.asyncIterator]: () => {
        let isAsked = false;
        return {
          async next() {
            if (!isAsked) {
              isAsked = true;
              await input.handoffBoundary(input.signal, null);
            }
            await returned.reached;
            return { done: true, value: undefined };
          },
          async return() {
            void returned.pass();
            return { done: true, value: undefined };
          },
        };
      },
    }));
    const run = await world.begin();
    const handoff = await run.requestHandoff(ids);
    await handoff.ready;
    await run.stop();
    await returned.reached;
    expect((await run.end()).kind).toBe("cancelled");
  });
});

describe("the execution's signal", () => {
  it("that is aborted on arrival makes a boundary none: the step goes on", async () => {
    const execution = new AbortController();
    execution.abort();
    const { seen, send } = standing(goesOn, execution.signal);
    const world = await opened(send);
    const run = await world.begin();
    await seen.at.reached;
    const handoff = await run.requestHandoff(ids);
    seen.at.open();
    await run.end();
    expect([await handoff.ready, seen.decision, texts(world)]).toEqual([false, "continue", ["firstsecond"]]);
  });

  it("releases a turn that is held; what it does then belongs to the step that a cancellation asks for", async () => {
    const execution = new AbortController();
    const { seen, send } = standing(async function* (_, input) {
      await input.callTool("note", { thing: "late" });
      yield* goesOn();
    }, execution.signal);
    const world = await opened(send);
    const { run, handoff } = await held(world, seen.at);
    execution.abort();
    await seen.decided.reached;
    expect(seen.decision).toBe("continue");
    expect(await handoff.preview()).toMatchObject({ remainingSteps: 2 });
    expect([texts(world), world.count("tool.called")]).toEqual([["first"], 0]);
    await handoff.cancel();
    expect((await run.end()).kind).toBe("completed");
    expect(texts(world)).toEqual(["first", "second"]);
    expect(world.facts("run/run-1").find((fact) => fact.type === "tool.called")).toMatchObject({ callId: "2.1" });
  });

  it("releases a turn that is held; what it does then is dropped where the handoff is committed", async () => {
    const execution = new AbortController();
    const { seen, send } = standing(goesOn, execution.signal);
    const world = await opened(send);
    const { handoff } = await held(world, seen.at);
    execution.abort();
    expect(await handoff.commit()).toBe(true);
    expect(await handoff.sealed).toBe(true);
    await seen.over.reached;
    expect([seen.decision, seen.input?.signal.aborted, texts(world)]).toEqual(["continue", true, ["first"]]);
    expect(flushed(world)).toBe("flush.done");
    expect(world.dump()).not.toContain("end_turn");
  });

  it("releases a turn that is held; its next boundary is the end of the step that a cancellation asks for", async () => {
    const execution = new AbortController();
    const arrived = new Gate();
    const { seen, send } = standing(async function* (_, input) {
      const again = input.handoffBoundary(quiet, 1);
      await arrived.pass();
      expect(await again).toBe("continue");
      yield* goesOn();
    }, execution.signal);
    const world = await opened(send);
    const { run, handoff } = await held(world, seen.at);
    execution.abort();
    await arrived.reached;
    arrived.open();
    await handoff.cancel();
    expect((await run.end()).kind).toBe("completed");
    const steps = world
      .rows("run/run-1")
      .map(({ event }) => JSON.parse(event))
      .filter(({ type }) => type === "step.done");
    expect(steps.map(({ output }) => [output.text, output.remainingSteps])).toEqual([
      ["first", 2],
      [null, 1],
      ["second", null],
    ]);
  });
});

describe("a turn that is paused", () => {
  it.each([
    ["`complete`", complete],
    ["text", said("second")],
  ])("may not go on: %s after it fails the run, reaches no journal, and nothing is sealed", async (_, event) => {
    const { seen, send } = standing(async function* () {
      yield event;
      yield event;
    });
    const world = await opened(send);
    const { handoff } = await held(world, seen.at);
    await handoff.commit();
    expect(await handoff.sealed).toBe(false);
    await seen.over.reached;
    expect([world.state("run/run-1"), world.state("handoff/handoff-1"), texts(world)]).toEqual(["failed", "failed", ["first"]]);
    expect(ended(world)).toMatchObject({ kind: "failed", error: { code: "turn_invalid" } });
    expect(world.dump()).not.toMatch(/end_turn|second/);
  });

  it("may still give partial output, which nobody sees", async () => {
    const { seen, send } = standing(async function* () {
      yield { type: "partial", output: "late" };
    });
    const world = await opened(send);
    const { handoff } = await held(world, seen.at);
    await handoff.commit();
    expect([await handoff.sealed, flushed(world)]).toEqual([true, "flush.done"]);
  });

  it("fails the run where it throws, and nothing is sealed", async () => {
    const { seen, send } = standing(() => {
      throw new Error("lost the line");
    });
    const world = await opened(send);
    const { handoff } = await held(world, seen.at);
    await handoff.commit();
    expect([await handoff.sealed, world.state("run/run-1")]).toEqual([false, "failed"]);
    expect(ended(world)).toMatchObject({ kind: "failed", error: { code: "effect_failed", message: "lost the line" } });
  });

  it("is waited for 10 seconds, then sealed without it and released", async () => {
    const clock = simulatedClock();
    const last = new Gate();
    const { seen, send } = standing(async function* (_, input) {
      input.signal.addEventListener("abort", () => last.open());
      await last.pass();
      yield complete;
    });
    const world = await opened(send, {}, { clock });
    const { handoff } = await held(world, seen.at);
    await handoff.commit();
    await last.reached;
    clock.advance(10_000);
    expect([await handoff.sealed, flushed(world)]).toEqual([true, "effect_timeout"]);
    await seen.over.reached;
    expect(seen.input?.signal.aborted).toBe(true);
  });

  it("calls no tool and reaches no further boundary", async () => {
    let came: unknown[] = [];
    const { seen, send } = standing(async function* (_, input) {
      came = [await codeOf(() => input.callTool("note", { thing: "late" })), await input.handoffBoundary(quiet, 1)];
      yield* stops();
    });
    const world = await opened(send);
    const { handoff } = await held(world, seen.at);
    await handoff.commit();
    expect([await handoff.sealed, came, world.count("tool.called")]).toEqual([true, ["effect_gone", "pause"], 0]);
  });
});

describe("a turn that is stopped within a step", () => {
  it("is aborted, and the text that it gave is kept", async () => {
    const under = new Gate();
    const world = await opened(async function* (input) {
      yield said("half");
      input.signal.addEventListener("abort", () => under.open());
      await under.pass();
      input.signal.throwIfAborted();
    });
    const run = await world.begin();
    await under.reached;
    await run.stop();
    expect(await run.end()).toEqual({ kind: "cancelled", by: "user" });
    expect(texts(world)).toEqual(["half"]);
  });

  it("is left behind by the close of the runtime", async () => {
    const [under, over] = [new Gate(), new Gate()];
    const world = await opened(async function* (input) {
      try {
        yield said("half");
        input.signal.addEventListener("abort", () => under.open());
        await under.pass();
        yield complete;
      } finally {
        void over.pass();
      }
    });
    await world.begin();
    await under.reached;
    await world.reopen();
    await over.reached;
    expect([ended(world)?.error.code, texts(world)]).toEqual(["interrupted", []]);
  });
});

describe("a turn that breaks its contract", () => {
  it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "2", undefined])(
    "fails with %s remaining steps, and is released",
    async (given) => {
      let thrown: unknown;
      const over = new Gate();
      const world = await opened(async function* (input) {
        yield said("first");
        thrown = await codeOf(() => input.handoffBoundary(quiet, given as number));
        input.signal.addEventListener("abort", () => {});
        try {
          yield* goesOn();
        } finally {
          expect(input.signal.aborted).toBe(true);
          void over.pass();
        }
      });
      const run = await world.begin();
      expect(await failure(run)).toBe("step_report_invalid");
      await over.reached;
      expect([thrown, texts(world)]).toEqual(["step_report_invalid", []]);
    },
  );

  const breaches: Record<string, [code: string, send: (input: TurnInput) => AsyncIterable<any>]> = {
    "ends without `complete`": ["turn_unfinished", stops],
    throws: [
      "effect_failed",
      async function* (input) {
        await input.handoffBoundary(quiet, null);
        yield said("second");
        throw new Error("lost the line");
      },
    ],
    "completes twice": [
      "turn_invalid",
      async function* () {
        yield complete;
        yield complete;
      },
    ],
    "goes on after `complete`": [
      "turn_invalid",
      async function* () {
        yield complete;
        yield said("more");
      },
    ],
    "reaches a boundary after `complete`": [
      "turn_invalid",
      async function* (input) {
        yield complete;
        await input.handoffBoundary(quiet, null);
      },
    ],
    "reaches two boundaries at once": [
      "turn_invalid",
      async function* (input) {
        yield said("first");
        await Promise.all([input.handoffBoundary(quiet, null), input.handoffBoundary(quiet, null)]);
        yield complete;
      },
    ],
    "tells something else": [
      "turn_invalid",
      async function* () {
        yield { type: "error", message: "?" };
      },
    ],
    "completes for no reason": [
      "turn_invalid",
      async function* () {
        yield { type: "complete", stopReason: "" };
      },
    ],
    "has less than no step left at once": [
      "step_report_invalid",
      async function* (input) {
        await input.handoffBoundary(quiet, -1);
        yield complete;
      },
    ],
    "is not iterable": ["turn_invalid", () => ({}) as AsyncIterable<never>],
    "cannot begin": [
      "effect_failed",
      () => {
        throw new Error("no line");
      },
    ],
  };

  it.each(Object.entries(breaches))("fails its run where it %s", async (_, [code, send]) => {
    const world = await opened(send);
    expect(await failure(await world.begin())).toBe(code);
    await settled();
  });

  it("has no tool once it is complete", async () => {
    let late: TurnInput | undefined;
    const world = await opened(async function* (input) {
      late = input;
      yield complete;
    });
    await (await world.begin()).end();
    expect(await codeOf(() => late?.callTool("note", { thing: "late" }))).toBe("effect_gone");
  });

  it("cannot be shared by two roots whose runs have the same id", async () => {
    const { seen, send } = standing(goesOn);
    const backend = driving(send);
    const [one, other] = [await World.open(backend), await World.open(backend)];
    await one.begin();
    await seen.at.reached;
    expect(await failure(await other.begin())).toBe("turn_invalid");
  });

  it("is refused without `send`", async () => {
    expect(await codeOf(() => turnBackend({} as TurnBackendOptions))).toBe("argument_invalid");
  });
});

describe("a turn that this process did not begin", () => {
  it("fails at its next step: a run that outlived its process as another backend's", async () => {
    const waits = { next: "wait", interaction: { id: "question-1", question: "May I?" } } as const;
    const world = await World.open(fakeBackend({ script: { report: waits } }));
    const run = await world.begin();
    for await (const event of run.events()) if (event.type === "run.waiting") break;
    world.backends.assistant = driving(goesOn);
    await world.reopen();
    const again = world.holdfast.run("run-1");
    await again.answer("run-1.question-1", "yes");
    expect(await failure(again)).toBe("turn_lost");
  });
});

/**
 * A backend as it is written for a runtime that gives it whole turns: it stops by its own controller, and says at the end what became
 * of it.
 */
describe("a backend that owns its turns", () => {
  it.each(["commit", "cancel", "stop"] as const)("has the outcome of a %s", async (decision) => {
    const [entered, reach, release] = [new Gate(), new Gate(), new Gate()];
    const inputs: TurnInput[] = [];
    const world = await opened(async function* (input) {
      inputs.push(input);
      const execution = new AbortController();
      input.signal.addEventListener("abort", () => execution.abort());
      if (!input.continuation) {
        void entered.pass();
        await reach.pass();
        const result = await input.handoffBoundary(execution.signal, 2);
        await release.pass();
        if (result === "pause" && !execution.signal.aborted) return;
      }
      yield { type: "complete", stopReason: execution.signal.aborted ? "user_stop" : "end_turn" };
    });
    const run = await world.begin("continue work", { origin: { kind: "goal", goalId: "goal-1" } });
    await entered.reached;
    const handoff = await run.requestHandoff(ids);
    reach.open();
    expect(await handoff.ready).toBe(true);
    expect(ended(world)).toBeUndefined();
    const preview = await handoff.preview();
    if (decision === "cancel") expect(await handoff.cancel()).toBe(true);
    else expect(await handoff.commit()).toBe(true);
    if (decision === "stop") await run.stop();
    release.open();
    expect(await handoff.sealed).toBe(decision === "commit");
    if (decision !== "commit") {
      expect((await run.end()).kind).toBe(decision === "stop" ? "cancelled" : "completed");
      expect([world.count("run.sealed"), inputs.length]).toEqual([0, 1]);
      return;
    }
    expect(await run.end()).toEqual({ kind: "sealed", seal: { ...preview, remainingSteps: 2 } });
    expect(world.count("run.ended")).toBe(0);
    await resumed(world);
    expect(world.facts("run/successor-run").at(-1)).toMatchObject({ type: "run.ended", kind: "completed" });
    expect(inputs[1]).toMatchObject({
      maxSteps: 2,
      headAnchor: { runId: "run-1", text: "continue work" },
      continuation: { denied: false },
    });
    expect([world.count("run.ended"), world.count("run.dispatched"), inputs.length]).toEqual([1, 2, 2]);
  });
});
