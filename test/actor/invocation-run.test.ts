import { describe, expect, it } from "vitest";
import { type AnyStateMachine, assign, fromPromise } from "xstate";
import { z } from "zod";
import type { Engine } from "../../src/actor/engine.ts";
import type { Store } from "../../src/actor/store.ts";
import { simulatedClock } from "../../src/testing/index.ts";
import { journal, open, place, rejection, STORES } from "./counter.ts";
import { flushed, held } from "./held.ts";
import { nothing, thing } from "./thing.ts";

const lasting = { retryable: false };
const note = assign({ log: ({ context, event: { stamp: _, ...event } }: any) => [...(context.log ?? []), event] } as never);
const noted = (actor: { getSnapshot(): any }): any[] => actor.getSnapshot().context.log ?? [];

/** Promise logic whose promises wait until the test settles them. */
function logic() {
  const load = held();
  return { ...load, actor: fromPromise(({ input, signal }: any) => load.handler({ params: input, signal } as never)) };
}

/** It invokes `load` in its first state, and can leave it, enter it again, and count. */
function loader(load: unknown, invoke: object = {}, schemas: object = {}): AnyStateMachine {
  return thing(
    {
      id: "loader",
      initial: "loading",
      context: { n: 3 },
      on: { more: { actions: assign({ n: ({ context }: any) => context.n + 1 } as never) } },
      states: {
        loading: {
          invoke: {
            src: "load",
            id: "loading",
            input: ({ context }: any) => ({ n: context.n }),
            onDone: { target: "loaded", actions: note },
            onError: { target: "failed", actions: note },
            ...invoke,
          },
          on: { go: "loaded", again: { target: "loading", reenter: true } },
        },
        loaded: { on: { again: "loading" } },
        failed: {},
      },
    },
    { actors: { load }, schemas: { events: { go: nothing, more: nothing, again: nothing }, ...schemas } },
  );
}

async function run(store: Store, machine: AnyStateMachine, effects: object = {}) {
  const clock = simulatedClock();
  const engine = await open(store, { machines: [machine], clock, effects: { ...effects } });
  return { engine, clock, actor: await engine.create(machine, "a", { input: {} }) };
}

const until = (actor: Awaited<ReturnType<typeof run>>["actor"], state: unknown) =>
  actor.waitFor((snapshot) => snapshot.matches(state as never));
const faults = (engine: Engine) => engine.verify().faults;

describe.each(STORES)("an invoked promise (%s)", (kind) => {
  it("is an effect of the commit that enters its state, and gives XState's own done event", async () => {
    const load = logic();
    const { engine, actor } = await run(place(kind).store, loader(load.actor));
    expect(engine.effects()).toMatchObject([
      { key: "loader/a:1:0", name: "load", child: "loading", params: '{"n":3}', scope: "loader.loading", state: "open" },
    ]);
    (await load.called(1)).resolve({ text: "hello" });
    await until(actor, "loaded");
    expect(noted(actor)).toEqual([
      { type: "xstate.done.actor.loading", output: { text: "hello" }, actorId: "loading", effect: "loader/a:1:0" },
    ]);
    expect(journal(engine, "loader/a").at(-1)?.cause).toEqual({ kind: "result", effect: "loader/a:1:0" });
    expect([engine.effects(), faults(engine)]).toEqual([[], []]);
  });

  it("that rejects gives XState's own error event at once, as XState does", async () => {
    const load = logic();
    const { engine, actor } = await run(place(kind).store, loader(load.actor));
    (await load.called(1)).reject(new Error("no"));
    await until(actor, "failed");
    const error = { code: "effect_failed", message: "no" };
    expect(noted(actor)).toEqual([{ type: "xstate.error.actor.loading", error, actorId: "loading", effect: "loader/a:1:0" }]);
    expect([load.calls.length, engine.effects(), faults(engine)]).toEqual([1, [], []]);
  });

  it("has the limits that schemas.effects gives its logic", async () => {
    const load = logic();
    const limits = { params: z.object({ n: z.int() }), delivery: "at_least_once", attempts: 3 };
    const { clock, actor } = await run(place(kind).store, loader(load.actor, {}, { effects: { load: limits } }));
    for (const [nth, wait] of [
      [1, 100],
      [2, 200],
    ] as const) {
      // biome-ignore format: one row says it
      (await load.called(nth)).reject(new Error("no"));
      await clock.due(wait);
      clock.advance(wait);
    }
    (await load.called(3)).reject(new Error("no more"));
    await until(actor, "failed");
    expect(noted(actor)[0].error.message).toBe("no more");
  });

  it("that gives nothing has the output null, and one that gives what is not plain JSON has failed", async () => {
    const { actor } = await run(place(kind).store, loader(fromPromise(async () => undefined)));
    await until(actor, "loaded");
    expect(noted(actor)[0].output).toBe(null);
    const other = await run(place(kind).store, loader(fromPromise(async () => new Date(0))));
    await until(other.actor, "failed");
    expect(noted(other.actor)[0].error.code).toBe("effect_result_invalid");
  });

  it("without onError is listed as exhausted where it fails, its actor stays healthy, and a person settles it", async () => {
    const load = logic();
    const { engine, actor } = await run(place(kind).store, loader(load.actor, { onError: undefined }));
    (await load.called(1)).reject(Object.assign(new Error("never"), lasting));
    await flushed();
    expect(engine.effects()).toMatchObject([{ state: "exhausted", error: '{"code":"effect_failed","message":"never"}' }]);
    expect(await actor.send({ type: "more" })).toMatchObject({ kind: "accepted" });
    expect([actor.row().quarantine, actor.getSnapshot().value]).toEqual([null, "loading"]);
    expect(await rejection(engine.resolve("loader/a:1:0", { error: { code: "c", message: "m" } }))).toMatchObject({
      code: "effect_result_invalid",
    });
    await engine.retry("loader/a:1:0");
    (await load.called(2)).reject(Object.assign(new Error("never"), lasting));
    await flushed();
    await engine.resolve("loader/a:1:0", { output: "by hand" });
    expect([actor.getSnapshot().value, noted(actor)[0].output, faults(engine)]).toEqual(["loaded", "by hand", []]);
  });

  it("that was started under another declaration is listed as unknown where its machine has no event for that", async () => {
    const { store } = place(kind);
    const machine = loader(logic().actor);
    const first = await open(store, { machines: [machine], start: false });
    await first.create(machine, "a", { input: {} });
    await first.close();
    // As it is while a handler works on it that is called at most once.
    store.write(store.epoch(), (writer) => {
      const row = writer.effect("loader/a:1:0");
      if (row) writer.putEffect({ ...row, state: "started" });
    });
    const engine = await open(store, { machines: [machine] });
    expect([engine.effects().map(({ state }) => state), engine.list({ quarantined: true })]).toEqual([["unknown"], []]);
    await engine.resolve("loader/a:1:0", { output: "by hand" });
    expect(engine.get(machine, "a")?.matches("loaded" as never)).toBe(true);
  });

  it("is told to stop when its state is left, and what it gives then is dropped", async () => {
    const load = logic();
    const { engine, actor } = await run(place(kind).store, loader(load.actor));
    const { call, resolve } = await load.called(1);
    await actor.send({ type: "go" });
    expect([call.signal.aborted, engine.effects()]).toEqual([true, []]);
    resolve("late");
    await flushed();
    expect([actor.row().seq, noted(actor), faults(engine)]).toEqual([2, [], []]);
  });

  it("ends where its actor is stopped", async () => {
    const load = logic();
    const { engine, actor } = await run(place(kind).store, loader(load.actor));
    const { call } = await load.called(1);
    await actor.stop();
    expect([actor.row().status, call.signal.aborted, engine.effects(), faults(engine)]).toEqual(["final", true, [], []]);
  });

  it.each(["again", "go"])(
    "is a new request where its state is entered again (by %s), and the first one's result is dropped",
    async (type) => {
      const load = logic();
      const { engine, actor } = await run(place(kind).store, loader(load.actor));
      const first = await load.called(1);
      for (const event of ["more", type, ...(type === "go" ? ["again"] : [])]) await actor.send({ type: event });
      const second = await load.called(2);
      expect([first.call.signal.aborted, second.call.signal.aborted, second.call.params]).toEqual([true, false, { n: 4 }]);
      first.resolve("first");
      await flushed();
      expect(actor.getSnapshot().value).toBe("loading");
      second.resolve("second");
      await until(actor, "loaded");
      expect([noted(actor).map(({ output }) => output), faults(engine)]).toEqual([["second"], []]);
    },
  );

  it("runs again in the next process, and its actor goes on from there", async () => {
    const { store } = place(kind);
    const load = logic();
    const machine = loader(load.actor);
    const first = await run(store, machine);
    await first.actor.send({ type: "more" });
    const { call } = await load.called(1);
    await first.engine.close();
    expect(call.signal.aborted).toBe(true);
    const { actor, engine } = await run(store, machine);
    const again = await load.called(2);
    // As it was asked for, not as it would be asked for now.
    expect([again.call.params, actor.getSnapshot().value]).toEqual([{ n: 3 }, "loading"]);
    again.resolve("second");
    await until(actor, "loaded");
    expect([actor.getSnapshot().context.n, noted(actor).map(({ output }) => output), faults(engine)]).toEqual([4, ["second"], []]);
  });

  it("is replaced by a handler of its name, which gets the key that is the same in every process", async () => {
    const { store } = place(kind);
    const load = held();
    const never = fromPromise(async () => {
      throw new Error("the logic was run");
    });
    const first = await run(store, loader(never), { load: load.handler });
    const { call } = await load.called(1);
    await first.engine.close();
    const { actor } = await run(store, loader(never), { load: load.handler });
    const again = await load.called(2);
    expect([call.key, again.call.key, again.call.params]).toEqual(["loader/a:1:0", "loader/a:1:0", { n: 3 }]);
    again.resolve("by handler");
    await until(actor, "loaded");
    expect(noted(actor)[0].output).toBe("by handler");
  });

  it("beside others, of the same logic too, has its own input and its own outcome", async () => {
    const load = logic();
    const ids = ["a", "b", "c"];
    const part = (id: string) => ({ src: "load", id, input: { id }, onDone: { actions: note }, onError: { actions: note } });
    const machine = thing(
      {
        id: "many",
        type: "parallel",
        states: { left: { invoke: ids.slice(0, 2).map(part) }, right: { initial: "in", states: { in: { invoke: part("c") } } } },
      },
      { actors: { load: load.actor } },
    );
    const { engine, actor } = await run(place(kind).store, machine);
    await load.called(3);
    const call = (id: string) => load.calls.find(({ call: { params } }) => params.id === id);
    call("b")?.resolve("B");
    call("c")?.reject(Object.assign(new Error("C"), lasting));
    await actor.waitFor(() => noted(actor).length === 2);
    call("a")?.resolve("A");
    await actor.waitFor(() => noted(actor).length === 3);
    const told = noted(actor).map(({ type, actorId, output, error }) => [type, actorId, output ?? error.message]);
    expect(told.slice(0, 2).sort()).toEqual([
      ["xstate.done.actor.b", "b", "B"],
      ["xstate.error.actor.c", "c", "C"],
    ]);
    expect(told[2]).toEqual(["xstate.done.actor.a", "a", "A"]);
    expect([engine.effects(), faults(engine)]).toEqual([[], []]);
  });

  it("is a child of its snapshot that does no harm, and comes back from JSON as it was", async () => {
    const load = logic();
    const machine = loader(load.actor);
    const { engine, actor } = await run(place(kind).store, machine);
    await load.called(1);
    const snapshot = actor.getSnapshot();
    const child = snapshot.children.loading as any;
    expect([Object.keys(snapshot.children), child.id, child.getSnapshot().status]).toEqual([["loading"], "loading", "active"]);
    child.send({ type: "go" });
    child.subscribe(() => {}).unsubscribe();
    expect(JSON.parse(JSON.stringify(snapshot))).toMatchObject({ value: "loading", context: { n: 3 }, children: { loading: {} } });
    await flushed();
    expect([load.calls.length, actor.row().seq, engine.effects().length]).toEqual([1, 1, 1]);
    const stored = JSON.parse(actor.row().snapshot);
    expect(machine.getPersistedSnapshot(actor.getSnapshot())).toEqual(stored);
    await actor.send({ type: "go" });
    expect(JSON.parse(actor.row().snapshot).children).toEqual({});
  });
});
