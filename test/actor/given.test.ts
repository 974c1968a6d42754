import { describe, expect, it } from "vitest";
import { type AnyStateMachine, assign, enqueueActions, fromPromise, raise, setup } from "xstate";
import { z } from "zod";
import { Draft } from "../../src/actor/draft.ts";
import { openEngine } from "../../src/actor/engine.ts";
import { notJson } from "../../src/actor/json.ts";
import type { Ground } from "../../src/actor/known.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { simulatedClock } from "../../src/testing/index.ts";
import { rejection } from "./counter.ts";

const open = z.looseObject({});

/** A machine of loose schemas, so that what is given to it reaches it as it is. */
function made(config: object, parts: { actions?: object; actors?: object; delays?: object } = {}): AnyStateMachine {
  const events = { add: open, bad: open, many: open, go: open, later: open };
  return setup({ schemas: { input: open, context: open, events, facts: {} }, ...parts } as never).createMachine({
    id: "thing",
    version: "1",
    context: { log: [] },
    ...config,
  } as never) as never;
}

async function running(machine: AnyStateMachine, options: object = {}) {
  const engine = await openEngine(memoryStore(), { machines: [machine], closeGraceMs: 0, ...options });
  const actor = await engine.create(machine, "x", { input: {} as never });
  const send = (event: object) => actor.send(event as never);
  const context = () => (actor.getSnapshot() as { context: any }).context;
  return { engine, actor, send, context };
}

const log = { log: assign({ log: ({ context, event }: any) => [...context.log, event.by] }) };

describe("what is given", () => {
  it("to send is taken as it was then, whatever becomes of the object", async () => {
    const { engine, send, context } = await running(made({ on: { add: { actions: "log" } } }, { actions: log }));
    const event = { type: "add", by: 1 };
    const first = send(event);
    event.by = 2;
    await Promise.all([first, send(event)]);
    expect(context().log).toEqual([1, 2]);
    await engine.close();
  });

  it("to create is taken as it was then", async () => {
    const machine = made({ context: ({ input }: any) => ({ n: input.n }) });
    const engine = await openEngine(memoryStore(), { machines: [machine] });
    const input = { n: 1 };
    const made1 = engine.create(machine, "x", { input: input as never });
    input.n = 2;
    expect(((await made1).getSnapshot() as any).context).toEqual({ n: 1 });
    await engine.close();
  });

  it("by a handler stays the handler's own, and is what a fold sees", async () => {
    const kept = { hits: 0, zero: -0 };
    const load = fromPromise(async () => kept);
    const keep = assign({ log: ({ event }: any) => event.output });
    const states = { a: { invoke: { src: "load", onDone: { target: "b", actions: "keep" } } }, b: {} };
    const { engine, actor, context } = await running(made({ initial: "a", states }, { actors: { load }, actions: { keep } }));
    await actor.waitFor((snapshot: any) => snapshot.value === "b");
    kept.hits++;
    expect([kept.hits, Object.is(context().log.zero, 0), engine.verify().faults]).toEqual([1, true, []]);
    await engine.close();
  });

  it.each([
    ["the match of a regular expression", /(?<w>\w+)/.exec("hello")],
    ["an array with a name of its own", Object.assign([1], { name: 2 })],
    ["an array of a class of its own", new (class extends Array<number> {})(1)],
    ["an array with a hole", new Array(2)],
  ])("is refused where JSON would drop a part of it: %s", (_, value) => {
    expect(notJson({ value })).toMatch(/^\$\.value/);
  });

  it("frozen at its surface only cannot be changed by an event that fails", async () => {
    const actions = {
      set: assign({ log: () => Object.freeze({ list: [] }) }),
      spoil: assign(({ context }: any) => {
        context.log.list.push(1);
        throw new Error("no");
      }),
    };
    const { engine, send, context } = await running(made({ on: { go: { actions: "set" }, bad: { actions: "spoil" } } }, { actions }));
    await send({ type: "go" });
    expect(await rejection(send({ type: "bad" }))).toMatchObject({ code: "machine_threw" });
    expect([context().log.list, engine.verify().faults]).toEqual([[], []]);
    await engine.close();
  });
});

describe("a great number", () => {
  const to = (n: number) =>
    enqueueActions(({ enqueue }: any) => {
      for (let index = 0; index < n; index++) enqueue({ type: "deliver", params: { to: `thing/none-${index}`, event: { type: "add" } } });
    });
  const telling = (n: number) => made({ on: { many: { actions: "tell" } } }, { actions: { tell: to(n), deliver: () => {} } });

  it("of deliveries in one step is refused, and nothing of the step happens", async () => {
    const { engine, actor, send } = await running(telling(10_001));
    expect(await rejection(send({ type: "many" }))).toMatchObject({ code: "action_invalid" });
    expect([actor.row().seq, engine.deadLetters()]).toEqual([1, []]);
    await engine.close();
  });

  it("of dead letters is taken over whole from one step to the group", () => {
    const draft = new Draft({} as Ground);
    const fork = draft.fork();
    for (let seq = 0; seq < 200_000; seq++)
      fork.deadLetters.push({ receiver: "a/a", sender: "b/b", seq, event: "{}", reason: "actor_final", atMs: 1 });
    draft.merge(fork);
    expect(draft.deadLetters).toHaveLength(200_000);
  });

  it("of timers set in one tick is waited for, and every event is answered", async () => {
    const tick = raise({ type: "later" } as never, { delay: "soon" as never });
    const each = enqueueActions(({ enqueue }: any) => {
      for (let index = 0; index < 1000; index++) enqueue("tick");
    });
    const machine = made({ on: { many: { actions: "each" } } }, { actions: { each, tick }, delays: { soon: 1000 } });
    const { engine } = await running(machine, { clock: simulatedClock() });
    const actors = await Promise.all(
      Array.from({ length: 130 }, (_, index) => engine.create(machine, `y${index}`, { input: {} as never })),
    );
    const answers = await Promise.all(actors.map((actor) => actor.send({ type: "many" } as never)));
    expect(answers.filter(({ kind }) => kind === "accepted")).toHaveLength(130);
    await engine.close();
  });
});

describe("an actor", () => {
  it("that invokes promise logic can be stopped and deleted", async () => {
    const never = fromPromise(() => new Promise(() => {}));
    const machine = made({ initial: "a", states: { a: { invoke: { src: "never", id: "k" } } } }, { actors: { never } });
    const { engine, actor } = await running(machine);
    await actor.stop();
    expect([actor.row().status, engine.effects(), engine.verify().faults]).toEqual(["final", [], []]);
    await actor.delete();
    expect(engine.list()).toEqual([]);
    await engine.close();
  });

  it("may have a delay that is called as something that every object has", async () => {
    const machine = made({ initial: "a", states: { a: { after: { constructor: "b" } }, b: {} } }, { delays: { constructor: 5000 } });
    const clock = simulatedClock();
    const { engine, actor } = await running(machine, { clock });
    expect(engine.timers()[0]?.policy).toBe("absolute");
    clock.advance(5000);
    expect((await actor.waitFor((snapshot: any) => snapshot.value === "b")).status).toBe("active");
    await engine.close();
  });
});
