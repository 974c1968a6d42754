import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { effect } from "../../machines/action.ts";
import type { Probe } from "../../src/actor/commit.ts";
import type { Engine } from "../../src/actor/engine.ts";
import { Outbox } from "../../src/actor/outbox.ts";
import { register } from "../../src/actor/registration.ts";
import type { Work } from "../../src/actor/work.ts";
import { faultPoints, simulatedClock } from "../../src/testing/index.ts";
import { effectRow } from "../../src/testing/store-row.ts";
import { open, place, STORES } from "./counter.ts";
import { flushed, held } from "./held.ts";
import { nothing, thing } from "./thing.ts";

/** It asks for one effect, of which so many may run at once. */
const workers = (id: string, limits: object) =>
  thing(
    {
      id,
      initial: "idle",
      states: {
        idle: { on: { go: "working" } },
        working: {
          entry: { type: "work", params: {} },
          on: {
            more: "idle",
            stop: { actions: { type: "abortEffect", params: { effect: "work" } } },
            "work.done": "idle",
            "work.failed": "failed",
            "work.aborted": "aborted",
          },
        },
        failed: {},
        aborted: {},
      },
    },
    {
      schemas: {
        events: {
          ...{ go: nothing, more: nothing, stop: nothing, "work.done": z.looseObject({}), "work.failed": z.looseObject({}) },
          "work.aborted": z.looseObject({}),
        },
        effects: {
          work: {
            params: nothing,
            done: "work.done",
            failed: "work.failed",
            aborted: "work.aborted",
            delivery: "at_least_once",
            ...limits,
          },
        },
      },
      actions: { work: effect<object>() },
    },
  );

const two = workers("two", { concurrency: 2 });

async function busy(engine: Engine, machine: ReturnType<typeof workers>, ids: readonly string[]) {
  const actors = await Promise.all(ids.map((id) => engine.create(machine, id, { input: {} })));
  await Promise.all(actors.map((actor) => actor.send({ type: "go" })));
  return actors;
}

describe("an outbox", () => {
  // First, for only the first effect of a process has to wait for the code that handles it.
  it("that closes while the code of its first effect is still being loaded starts no handler", async () => {
    const { store } = place();
    const work = held();
    const engine = await open(store, { machines: [two], effects: { work: work.handler } });
    await busy(engine, two, ["a"]);
    await engine.close();
    await import("../../src/actor/handling.ts");
    await flushed();
    expect([work.calls.length, store.effect("two/a:2:0")?.state]).toEqual([0, "open"]);
  });
});

describe("an outbox without its engine", () => {
  /** It knows the machine `two`; what it submits is noted. */
  function alone(probe: Probe = () => {}) {
    const work = held();
    const known = register(two);
    const effects = new Map([...known.effects, ...[...known.effects.values()].map((schema) => ["lone", schema] as const)]);
    const registration = { ...known, effects, handlers: { work: work.handler, other: work.handler } };
    const submitted: Work[] = [];
    const outbox = new Outbox({
      clock: simulatedClock(),
      probe,
      registration: (actor) => (actor.startsWith("two/") ? registration : undefined),
      submit: async (asked) => {
        submitted.push(asked);
        return { kind: "ignored" };
      },
      progress: () => {},
      lost: () => {},
    });
    return { outbox, work, submitted };
  }
  const row = (key: string, more: object = {}) => effectRow(key, { actor: "two/a", name: "work", ...more });

  it("begins nothing before it is opened, nor once it was closed, also where it is opened then", async () => {
    const { outbox, work } = alone();
    outbox.start(row("early"));
    outbox.open();
    await flushed();
    await outbox.close(0);
    outbox.start(row("late"));
    outbox.open();
    outbox.start(row("last"));
    await flushed();
    expect([work.calls.length, outbox.isRunning("last")]).toEqual([0, false]);
  });

  it.each([
    ["of a machine that it does not know", { actor: "none/a" }],
    ["that its machine does not know", { name: "other" }],
    ["for which there is no handler", { name: "lone" }],
  ])("begins nothing for an effect %s", async (_, more) => {
    const { outbox, work, submitted } = alone();
    outbox.open();
    outbox.start(row("k", more));
    await flushed();
    expect([outbox.isRunning("k"), work.calls, submitted]).toEqual([false, [], []]);
  });

  it("begins an effect once, however often it is asked for", async () => {
    const { outbox, work } = alone();
    outbox.open();
    for (const _ of [1, 2]) outbox.start(row("k"));
    await work.called(1);
    outbox.start(row("k"));
    await flushed();
    expect(work.calls.length).toBe(1);
  });

  it("begins an effect anew that was opened again: its former handler is interrupted and not heard", async () => {
    const { outbox, work, submitted } = alone();
    outbox.open();
    outbox.start(row("k"));
    const first = await work.called(1);
    outbox.restart(row("k"));
    const second = await work.called(2);
    expect([first.call.signal.aborted, second.call.signal.aborted]).toEqual([true, false]);
    first.resolve(null);
    await flushed();
    expect([outbox.isRunning("k"), submitted]).toEqual([true, []]);
    second.resolve(null);
    await flushed();
    expect([outbox.isRunning("k"), submitted.length]).toEqual([false, 1]);
  });

  it("begins no handler of an effect that ends before its work has begun", async () => {
    const { outbox, work } = alone();
    outbox.open();
    outbox.start(row("k"));
    outbox.end("k");
    await flushed();
    expect(work.calls.length).toBe(0);
  });

  it("tells a handler that is asked to stop as it begins", async () => {
    const { outbox, work } = alone((point) => point === "effect.before" && outbox.abort("k"));
    outbox.open();
    outbox.start(row("k"));
    expect((await work.called(1)).call.signal).toMatchObject({ aborted: true, reason: { code: "effect_gone" } });
  });

  it("knows at once that an effect has ended", async () => {
    const { outbox, work } = alone();
    outbox.open();
    outbox.start(row("k"));
    await work.called(1);
    outbox.end("k");
    expect(outbox.isRunning("k")).toBe(false);
  });

  /** It is closing with a handler at work, and a second to wait for it. */
  async function closing() {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { outbox, work } = alone();
    outbox.open();
    outbox.start(row("k"));
    const { call, resolve } = await work.called(1);
    const closed = { is: false };
    void outbox.close(1000).then(() => {
      closed.is = true;
    });
    await flushed();
    expect([call.signal.aborted, closed.is]).toEqual([true, false]);
    return { closed, resolve };
  }

  it("is closed when its last handler has returned, and waits for nothing more", async () => {
    const { closed, resolve } = await closing();
    resolve(null);
    await flushed();
    expect([closed.is, vi.getTimerCount()]).toEqual([true, 0]);
  });

  it("is closed after its grace, whoever is still at work", async () => {
    const { closed } = await closing();
    vi.advanceTimersByTime(999);
    await flushed();
    expect(closed.is).toBe(false);
    vi.advanceTimersByTime(1);
    await flushed();
    expect(closed.is).toBe(true);
  });
});

describe.each(STORES)("the code that handles effects, where it cannot be loaded (%s)", (kind) => {
  const HANDLING = "../../src/actor/handling.ts";
  function unloadable() {
    vi.doMock(HANDLING, () => {
      throw new Error("too many open files");
    });
    onTestFinished(() => vi.doUnmock(HANDLING));
  }

  it("is said to be lost, and the effects stay open for recover(), each in its turn", async () => {
    unloadable();
    const one = workers("one", { concurrency: 1 });
    const work = held();
    const engine = await open(place(kind).store, { machines: [one], effects: { work: work.handler } });
    const lost: unknown[] = [];
    for (const id of ["a", "b"]) engine.feed.subscribe(`one/${id}`, (signal) => void (signal.kind === "lost" && lost.push(signal.effect)));
    const [a, b] = await busy(engine, one, ["a", "b"]);
    await expect.poll(() => lost).toEqual(["work", "work"]);
    expect(engine.effects().map(({ state }) => state)).toEqual(["open", "open"]);
    vi.doUnmock(HANDLING);
    await engine.recover();
    (await work.called(1)).resolve(null);
    await a?.waitFor((snapshot) => snapshot.matches("idle"));
    (await work.called(2)).resolve(null);
    await b?.waitFor((snapshot) => snapshot.matches("idle"));
  });

  it("is said to be lost also for one that is asked to stop while it waits for its turn", async () => {
    const one = workers("one", { concurrency: 1 });
    const work = held();
    const engine = await open(place(kind).store, { machines: [one], effects: { work: work.handler } });
    const [a, b] = await busy(engine, one, ["a", "b"]);
    const first = await work.called(1);
    const lost: unknown[] = [];
    engine.feed.subscribe("one/b", (signal) => void (signal.kind === "lost" && lost.push(signal.effect)));
    unloadable();
    await b?.send({ type: "stop" });
    await expect.poll(() => lost).toEqual(["work"]);
    vi.doUnmock(HANDLING);
    first.resolve(null);
    await a?.waitFor((snapshot) => snapshot.matches("idle"));
    await engine.recover();
    expect((await work.called(2)).call.actor).toBe("one/b");
  });
});

describe.each(STORES)("a limit on handlers at once (%s)", (kind) => {
  it("is never exceeded, and the next starts when one ends, in the order of the requests", async () => {
    const work = held();
    const engine = await open(place(kind).store, { machines: [two], effects: { work: work.handler }, clock: simulatedClock() });
    await busy(engine, two, ["a", "b", "c", "d", "e"]);
    for (let ended = 0; ended < 5; ended++) {
      await work.called(Math.min(ended + 2, 5));
      await flushed();
      expect(work.calls.length).toBe(Math.min(ended + 2, 5));
      // By a result, by a failure for good, and by a result again.
      if (ended % 2 === 0) work.calls[ended]?.resolve(null);
      else work.calls[ended]?.reject(Object.assign(new Error("no"), { retryable: false }));
    }
    expect(work.calls.map(({ call }) => call.actor)).toEqual(["a", "b", "c", "d", "e"].map((id) => `two/${id}`));
    await flushed();
    expect(engine.effects()).toEqual([]);
  });

  it("is held also while a handler waits for its next try", async () => {
    const clock = simulatedClock();
    const work = held();
    const engine = await open(place(kind).store, { machines: [two], effects: { work: work.handler }, clock });
    await busy(engine, two, ["a", "b", "c"]);
    await work.called(2);
    for (const { reject } of work.calls) reject(new Error("once"));
    await flushed();
    expect(work.calls.length).toBe(2);
    clock.advance(100);
    await work.called(4);
    expect(work.calls.map(({ call }) => [call.actor, call.attempt])).toEqual([["two/a", 1], ["two/b", 1], ["two/a", 2], ["two/b", 2]]); // biome-ignore format: one row says it
  });

  it("lets the next start in the place of one whose state is left, though its handler takes no notice", async () => {
    const work = held();
    const engine = await open(place(kind).store, { machines: [two], effects: { work: work.handler } });
    const [a] = await busy(engine, two, ["a", "b", "c"]);
    await work.called(2);
    await a?.send({ type: "more" });
    expect((await work.called(3)).call.actor).toBe("two/c");
  });

  it("does not start what was cancelled while it waited", async () => {
    const work = held();
    const engine = await open(place(kind).store, { machines: [two], effects: { work: work.handler } });
    const [, , c, d] = await busy(engine, two, ["a", "b", "c", "d", "e"]);
    await work.called(2);
    await c?.send({ type: "more" });
    await d?.stop();
    work.calls[0]?.resolve(null);
    work.calls[1]?.resolve(null);
    expect((await work.called(3)).call.actor).toBe("two/e");
    await flushed();
    expect(work.calls.length).toBe(3);
  });

  it("lets one that waits and is asked to stop say so at once, without its turn", async () => {
    const work = held();
    const engine = await open(place(kind).store, { machines: [two], effects: { work: work.handler } });
    const [, , c] = await busy(engine, two, ["a", "b", "c", "d"]);
    await work.called(2);
    await c?.send({ type: "stop" });
    await c?.waitFor((snapshot) => snapshot.matches("aborted"));
    expect(work.calls.length).toBe(2);
    for (const { resolve } of work.calls) resolve(null);
    expect((await work.called(3)).call.actor).toBe("two/d");
    await flushed();
    expect([work.calls.length, engine.effects().length]).toEqual([3, 1]);
  });

  it("is each machine's own, also where two give an effect the same name", async () => {
    const work = held();
    const one = workers("one", { concurrency: 1 });
    const engine = await open(place(kind).store, { machines: [one, two], effects: { work: work.handler } });
    await busy(engine, one, ["a", "b", "c"]);
    await busy(engine, two, ["a", "b", "c"]);
    await work.called(3);
    await flushed();
    expect(work.calls.map(({ call }) => call.actor).sort()).toEqual(["one/a", "two/a", "two/b"]);
  });
});

describe.each(STORES)("an actor that is set aside (%s)", (kind) => {
  it("has its handler interrupted, and what that still gives or sends is dropped", async () => {
    const work = held();
    const engine = await open(place(kind).store, { machines: [two], effects: { work: work.handler } });
    const [a] = await busy(engine, two, ["a", "b"]);
    const [own, other] = [await work.called(1), await work.called(2)];
    await engine.setAside("two/a", "test", "damaged");
    expect([own.call.signal.aborted, other.call.signal.aborted]).toEqual([true, false]);
    expect(own.call.signal.reason).toMatchObject({ code: "effect_gone" });
    expect(await own.call.send({ type: "more" })).toMatchObject({ kind: "refused", code: "actor_quarantined" });
    own.resolve(null);
    await flushed();
    expect([a?.row().seq, engine.effects({ actor: "two/a" }).map(({ state }) => state)]).toEqual([2, ["open"]]);
  });

  it("gives its place to the next, and does not take its turn where it waits", async () => {
    const work = held();
    const engine = await open(place(kind).store, { machines: [two], effects: { work: work.handler } });
    await busy(engine, two, ["a", "b", "c", "d"]);
    await work.called(2);
    await engine.setAside("two/c", "test", "damaged");
    await engine.setAside("two/a", "test", "damaged");
    await work.called(3);
    work.calls[1]?.resolve(null);
    await flushed();
    expect(work.calls.map(({ call }) => call.actor)).toEqual(["two/a", "two/b", "two/d"]);
  });

  it("has its handler started anew when it comes back", async () => {
    const work = held();
    const engine = await open(place(kind).store, { machines: [two], effects: { work: work.handler } });
    const [a] = await busy(engine, two, ["a"]);
    const first = await work.called(1);
    await engine.setAside("two/a", "test", "damaged");
    await engine.release("two/a");
    await work.called(2);
    expect(work.calls.map(({ call }) => call.key)).toEqual(["two/a:2:0", "two/a:2:0"]);
    first.resolve(null);
    await flushed();
    expect(a?.getSnapshot().value).toBe("working");
    work.calls[1]?.resolve(null);
    await a?.waitFor((snapshot) => snapshot.matches("idle"));
  });
});

describe("the waits between tries", () => {
  it.each<[string, object, number[]]>([
    ["a factor and a limit", { attempts: 5, backoffMs: 100, backoffFactor: 3, backoffLimitMs: 500 }, [100, 300, 500, 500]],
    ["a factor of 1", { attempts: 4, backoffMs: 50, backoffFactor: 1 }, [50, 50, 50]],
    ["a first wait over the limit", { attempts: 3, backoffMs: 9000, backoffLimitMs: 1000 }, [1000, 1000]],
    ["nothing said", { attempts: 12 }, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000]],
  ])("are exact, with %s", async (_, limits, waits) => {
    const machine = workers("tried", limits);
    const clock = simulatedClock();
    const work = held();
    const engine = await open(place().store, { machines: [machine], effects: { work: work.handler }, clock });
    const [actor] = await busy(engine, machine, ["a"]);
    for (const [index, wait] of waits.entries()) {
      (await work.called(index + 1)).reject(new Error("no"));
      await clock.due(wait);
      clock.advance(wait - 1);
      await flushed();
      expect(work.calls.length).toBe(index + 1);
      clock.advance(1);
    }
    (await work.called(waits.length + 1)).reject(new Error("no"));
    await actor?.waitFor((snapshot) => snapshot.matches("failed"));
    expect(work.calls.length).toBe(waits.length + 1);
  });
});

it.each(STORES)("an effect that its actor asks for again, after it left and came back, is started anew (%s)", async (kind) => {
  const work = held();
  const points = faultPoints();
  const engine = await open(place(kind).store, { machines: [two], effects: { work: work.handler }, probe: points.probe });
  const [actor] = await busy(engine, two, ["a"]);
  const first = await work.called(1);
  await actor?.send({ type: "more" });
  await actor?.send({ type: "go" });
  const second = await work.called(2);
  expect([first.call.key, second.call.key]).toEqual(["two/a:2:0", "two/a:4:0"]);
  first.resolve(null);
  await flushed();
  expect(actor?.getSnapshot().value).toBe("working");
  second.resolve(null);
  await actor?.waitFor((snapshot) => snapshot.matches("idle"));
});
