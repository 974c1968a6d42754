import { describe, expect, it, onTestFinished, vi } from "vitest";
import { fromPromise } from "xstate";
import { HoldfastError } from "../../src/actor/error.ts";
import type { EffectCall } from "../../src/actor/handler.ts";
import { PAYLOAD_LIMIT } from "../../src/actor/journal.ts";
import { Mailbox } from "../../src/actor/mailbox.ts";
import { type FaultSubject, faultPoints, simulatedClock } from "../../src/testing/index.ts";
import { counter, gate, journal, make, open, place, rejection, STORES } from "./counter.ts";
import { flushed, held } from "./held.ts";
import { thing } from "./thing.ts";

const start = { type: "work.start", by: 5 } as const;
const idle = (snapshot: { matches: (state: "idle") => boolean }) => snapshot.matches("idle");

describe.each(STORES)("an effect that is done at least once (%s)", (kind) => {
  it("is tried again after growing waits, with the same key, until it succeeds", async () => {
    const clock = simulatedClock();
    const work = held();
    const engine = await open(place(kind).store, { clock, effects: { work: work.handler } });
    const actor = await make(engine);
    await actor.send(start);
    (await work.called(1)).reject(new Error("first"));
    await clock.due(100);
    clock.advance(99);
    expect(work.calls.length).toBe(1);
    clock.advance(1);
    (await work.called(2)).reject(new Error("second"));
    await clock.due(200);
    clock.advance(200);
    (await work.called(3)).resolve({ by: 5 });
    expect((await actor.waitFor(idle)).context.count).toBe(5);
    expect(work.calls.map(({ call }) => [call.attempt, call.key, call.actor, call.params])).toEqual(
      [1, 2, 3].map((attempt) => [attempt, "counter/a:2:0", "counter/a", { by: 5 }]),
    );
  });

  it("ends with its failed event once its tries are used up", async () => {
    const clock = simulatedClock();
    const work = held();
    const engine = await open(place(kind).store, { clock, effects: { work: work.handler } });
    const actor = await make(engine);
    await actor.send(start);
    for (const [nth, wait] of [
      [1, 100],
      [2, 200],
    ] as const) {
      (await work.called(nth)).reject(new Error(`failure ${nth}`));
      await clock.due(wait);
      clock.advance(wait);
    }
    (await work.called(3)).reject(new Error("failure 3"));
    await actor.waitFor(idle);
    expect(journal(engine).at(-1)?.event).toEqual({
      type: "work.failed",
      error: { code: "effect_failed", message: "failure 3" },
      effect: "counter/a:2:0",
    });
    expect(engine.effects()).toEqual([]);
  });

  it.each([
    ["an error", Object.assign(new Error("never"), { retryable: false })],
    ["an error of a code that may be tried again", new HoldfastError("effect_timeout", "never", { retryable: false })],
  ])("is not tried again after %s that says so", async (_, error) => {
    const work = () => Promise.reject(error);
    const engine = await open(place(kind).store, { clock: simulatedClock(), effects: { work } });
    const actor = await make(engine);
    await actor.send(start);
    await actor.waitFor(idle);
    expect(journal(engine).at(-1)?.event).toMatchObject({ type: "work.failed", error: { message: "never" } });
  });

  it("is tried again after an error that cannot be asked whether it helps", async () => {
    const clock = simulatedClock();
    const work = held();
    const engine = await open(place(kind).store, { clock, effects: { work: work.handler } });
    const actor = await make(engine);
    await actor.send(start);
    const error = {
      get retryable() {
        throw new Error("never");
      },
    };
    (await work.called(1)).reject(error);
    await clock.due(100);
    clock.advance(100);
    (await work.called(2)).resolve({ by: 5 });
    expect((await actor.waitFor(idle)).context.count).toBe(5);
  });

  it("is shown at both of its fault points", async () => {
    const shown: unknown[] = [];
    const engine = await open(place(kind).store, {
      probe: (point, { effect }) => void (point.startsWith("effect.") && shown.push([point, effect?.key])),
    });
    const actor = await make(engine);
    await actor.send(start);
    await actor.waitFor(idle);
    expect(shown).toEqual([
      ["effect.before", "counter/a:2:0"],
      ["effect.after", "counter/a:2:0"],
    ]);
  });

  it("is interrupted and tried again when a try takes too long", async () => {
    const clock = simulatedClock();
    const work = held();
    const engine = await open(place(kind).store, { clock, effects: { work: work.handler } });
    const actor = await make(engine);
    await actor.send(start);
    const first = await work.called(1);
    await clock.due(60_000);
    clock.advance(60_000);
    await clock.due(100);
    expect(first.call.signal.aborted).toBe(true);
    clock.advance(100);
    const second = await work.called(2);
    first.resolve({ by: 1000 });
    second.resolve({ by: 5 });
    expect((await actor.waitFor(idle)).context.count).toBe(5);
  });

  it("says that it took too long once its tries are used up", async () => {
    const clock = simulatedClock();
    const work = held();
    const engine = await open(place(kind).store, { clock, effects: { work: work.handler } });
    const actor = await make(engine);
    await actor.send(start);
    for (const [nth, wait] of [
      [1, 100],
      [2, 200],
    ] as const) {
      await work.called(nth);
      await clock.due(60_000);
      clock.advance(60_000);
      await clock.due(wait);
      clock.advance(wait);
    }
    await work.called(3);
    await clock.due(60_000);
    clock.advance(60_000);
    await actor.waitFor(idle);
    expect(journal(engine).at(-1)?.event).toMatchObject({ type: "work.failed", error: { code: "effect_timeout" } });
  });

  it("is listed as exhausted where the machine has no event for its failure", async () => {
    const clock = simulatedClock();
    const silent = held();
    const points = faultPoints();
    const engine = await open(place(kind).store, { clock, probe: points.probe, effects: { silent: silent.handler } });
    const actor = await make(engine);
    await actor.send({ type: "silent.start" });
    (await silent.called(1)).reject(new Error("first"));
    await clock.due(100);
    clock.advance(100);
    const committed = points.reached("commit.after");
    (await silent.called(2)).reject(new Error("second"));
    await committed;
    expect(engine.effects({ state: "exhausted" })).toMatchObject([
      { key: "counter/a:2:0", error: JSON.stringify({ code: "effect_failed", message: "second" }) },
    ]);
    await engine.recover();
    expect(silent.calls.length).toBe(2);
    expect(engine.verify().ok).toBe(true);
  });

  it("fails for good where its result does not fit", async () => {
    const engine = await open(place(kind).store, { clock: simulatedClock(), effects: { work: async () => ({ by: "five" }) } });
    const actor = await make(engine);
    await actor.send(start);
    await rejectionOrIdle(actor);
    expect(journal(engine).at(-1)?.event).toMatchObject({
      type: "work.failed",
      error: { code: "effect_result_invalid", message: expect.stringContaining("output.by") },
    });
  });

  it("fails for good where its result is not plain JSON", async () => {
    const engine = await open(place(kind).store, { clock: simulatedClock(), effects: { work: async () => ({ by: 5, at: new Date(0) }) } });
    const actor = await make(engine);
    await actor.send(start);
    await rejectionOrIdle(actor);
    expect(journal(engine).at(-1)?.event).toMatchObject({ type: "work.failed", error: { code: "effect_result_invalid" } });
  });

  it("runs again after a crash between its work and its commit", async () => {
    const { store } = place(kind);
    const points = faultPoints();
    let runs = 0;
    const work = async () => ({ by: ++runs });
    const first = await open(store, { probe: points.probe, effects: { work } });
    const actor = await make(first);
    points.throwAt("commit.inside", new Error("crash"), {
      where: ({ entries }) => entries?.some((entry) => entry.event.includes("work.done")) ?? false,
    });
    const lost = lostOf(actor);
    await actor.send(start);
    expect(await lost).toMatchObject({ effect: "work", error: { code: "storage_failed" } });
    expect(first.effects()).toMatchObject([{ state: "open" }]);
    await first.close();
    const second = await open(store, { effects: { work } });
    expect((await second.get(counter, "a")?.waitFor(idle))?.context.count).toBe(2);
  });
});

describe.each(STORES)("a result that cannot be committed (%s)", (kind) => {
  const isResult = ({ entries }: FaultSubject) => entries?.some((entry) => entry.event.includes("work.done")) ?? false;

  it("is submitted again after growing waits, and its handler does not run again", async () => {
    const clock = simulatedClock();
    const points = faultPoints();
    let runs = 0;
    const engine = await open(place(kind).store, { clock, probe: points.probe, effects: { work: async () => ({ by: ++runs }) } });
    const actor = await make(engine);
    const lost = lossesOf(actor);
    for (const nth of [1, 2, 3]) points.throwAt("commit.inside", new Error("disk"), { nth, where: isResult });
    await actor.send(start);
    for (const [nth, wait] of [100, 200, 400].entries()) {
      await clock.due(wait);
      expect([lost.length, engine.effects().map((row) => row.state)]).toEqual([nth + 1, ["open"]]);
      clock.advance(wait - 1);
      await flushed();
      expect(lost.length).toBe(nth + 1);
      clock.advance(1);
    }
    expect((await actor.waitFor(idle)).context.count).toBe(1);
    expect([runs, lost.length, engine.effects(), clock.waiting]).toEqual([1, 3, [], 0]);
  });

  it("is not waited for longer than ten seconds", async () => {
    const clock = simulatedClock();
    const points = faultPoints();
    const engine = await open(place(kind).store, { clock, probe: points.probe });
    const actor = await make(engine);
    for (let nth = 1; nth <= 12; nth++) points.throwAt("commit.inside", new Error("disk"), { nth, where: isResult });
    await actor.send(start);
    for (let nth = 1; nth <= 12; nth++) {
      await clock.due(10_000);
      clock.advance(10_000);
    }
    expect((await actor.waitFor(idle)).context.count).toBe(5);
  });

  it("is dropped where its effect has ended meanwhile", async () => {
    const clock = simulatedClock();
    const points = faultPoints();
    const engine = await open(place(kind).store, { clock, probe: points.probe });
    const actor = await make(engine);
    points.throwAt("commit.inside", new Error("disk"), { where: isResult });
    await actor.send(start);
    await clock.due(100);
    await actor.send({ type: "work.leave" });
    expect([engine.effects(), clock.waiting]).toEqual([[], 0]);
  });
});

describe.each(STORES)("an effect that is done at most once (%s)", (kind) => {
  const once = { type: "once.start", by: 5 } as const;

  it("is committed as started before its handler runs", async () => {
    const { store } = place(kind);
    const states: (string | undefined)[] = [];
    const engine = await open(store, {
      effects: {
        once: async ({ key }) => {
          states.push(store.effect(key)?.state);
          return { by: 5 };
        },
      },
    });
    const actor = await make(engine);
    await actor.send(once);
    await actor.waitFor(idle);
    expect(states).toEqual(["started"]);
  });

  it("does not run where that commit fails, and asks for it again after growing waits", async () => {
    const clock = simulatedClock();
    const points = faultPoints();
    const work = held();
    const engine = await open(place(kind).store, { clock, probe: points.probe, effects: { once: work.handler } });
    const actor = await make(engine);
    const lost = lossesOf(actor);
    for (const nth of [2, 3]) points.throwAt("commit.inside", new Error("disk"), { nth });
    await actor.send(once);
    await clock.due(100);
    expect([work.calls.length, engine.effects().map((row) => row.state), lost.length]).toEqual([0, ["open"], 1]);
    clock.advance(100);
    await clock.due(200);
    expect([work.calls.length, lost.length]).toEqual([0, 2]);
    clock.advance(200);
    (await work.called(1)).resolve({ by: 5 });
    expect((await actor.waitFor(idle)).context.count).toBe(5);
  });

  it("is not asked to start again once it shall stop", async () => {
    const clock = simulatedClock();
    const points = faultPoints();
    const work = held();
    const engine = await open(place(kind).store, { clock, probe: points.probe, effects: { once: work.handler } });
    const actor = await make(engine);
    points.throwAt("commit.inside", new Error("disk"), { nth: 2 });
    await actor.send(once);
    await clock.due(100);
    await actor.send({ type: "once.abort" });
    await actor.waitFor(({ context }) => context.log.includes("once.aborted"));
    clock.advance(100);
    await flushed();
    expect([work.calls.length, engine.effects(), clock.waiting]).toEqual([0, [], 0]);
  });

  it("is unknown to the next owner, who does not run it again", async () => {
    const { store } = place(kind);
    const work = held();
    const first = await open(store, { effects: { once: work.handler } });
    await (await make(first)).send(once);
    await work.called(1);
    await first.close();
    expect(store.effect("counter/a:2:0")?.state).toBe("started");
    const second = await open(store, { effects: { once: work.handler } });
    expect(
      journal(second)
        .slice(-2)
        .map(({ event }) => event),
    ).toEqual([
      { type: "engine.reopened", epoch: 2 },
      { type: "effect.unknown", effect: "counter/a:2:0", name: "once" },
    ]);
    expect([work.calls.length, second.effects()]).toEqual([1, []]);
  });

  it("is unknown where its result cannot be committed", async () => {
    const points = faultPoints();
    const engine = await open(place(kind).store, { probe: points.probe });
    const actor = await make(engine);
    points.throwAt("commit.inside", new Error("disk"), {
      where: ({ entries }) => entries?.some((entry) => entry.event.includes("once.done")) ?? false,
    });
    await actor.send(once);
    await actor.waitFor(({ context }) => context.log.includes("effect.unknown"));
    expect([actor.getSnapshot().context.count, engine.effects()]).toEqual([0, []]);
  });

  it("is unknown later where not even that can be committed at once", async () => {
    const clock = simulatedClock();
    const points = faultPoints();
    const engine = await open(place(kind).store, { clock, probe: points.probe });
    const actor = await make(engine);
    const lost = lossesOf(actor);
    // The commit of the result, and the first two that would say that it is unknown.
    points.callAt("effect.after", () => {
      for (const nth of [1, 2, 3]) points.throwAt("commit.before", new Error("disk"), { nth });
    });
    await actor.send(once);
    await clock.due(100);
    expect([engine.effects().map((row) => row.state), lost.length]).toEqual([["started"], 2]);
    clock.advance(100);
    await clock.due(200);
    clock.advance(200);
    await actor.waitFor(({ context }) => context.log.includes("effect.unknown"));
    expect([lost.length, engine.effects()]).toEqual([3, []]);
  });

  it("is tried once: its first failure is final", async () => {
    let runs = 0;
    const engine = await open(place(kind).store, {
      clock: simulatedClock(),
      effects: {
        once: async () => {
          runs++;
          throw new Error("no");
        },
      },
    });
    const actor = await make(engine);
    await actor.send(once);
    await actor.waitFor(idle);
    expect([runs, journal(engine).at(-1)?.event.type]).toEqual([1, "once.failed"]);
  });

  /** Does something when an admission is asked for and not yet committed: before it in its mailbox, or after. */
  function atAdmission({ before = () => {}, after = () => {} }: { before?: () => void; after?: () => void }): void {
    const { submit } = Mailbox.prototype;
    const spied = vi.spyOn(Mailbox.prototype, "submit").mockImplementation(function (this: Mailbox, work) {
      if (work.kind !== "row") return submit.call(this, work);
      before();
      const answer = submit.call(this, work);
      after();
      return answer;
    });
    onTestFinished(() => void spied.mockRestore());
  }

  it("is not admitted where the engine closes while its admission waits to be committed", async () => {
    const { store } = place(kind);
    const work = held();
    const engine = await open(store, { effects: { once: work.handler } });
    const actor = await make(engine);
    const closed = gate();
    atAdmission({ after: () => void engine.close().then(closed.open) });
    await actor.send(once);
    await closed.passed;
    // Started and not worked on, it would be unknown to the next owner.
    expect([work.calls.length, store.effect("counter/a:2:0")?.state]).toEqual([0, "open"]);
  });

  it("is not admitted where it is asked to stop while its admission waits to be committed", async () => {
    const { store } = place(kind);
    const work = held();
    const states: (string | undefined)[] = [];
    const engine = await open(store, {
      effects: { once: work.handler },
      groupLimit: 1,
      probe: (point) => void (point === "commit.after" && states.push(store.effect("counter/a:2:0")?.state)),
    });
    const actor = await make(engine);
    atAdmission({ before: () => void actor.send({ type: "once.abort" }) });
    await actor.send(once);
    await actor.waitFor(({ context }) => context.log.includes("once.aborted"));
    expect([work.calls.length, states.filter((state) => state === "started"), engine.effects()]).toEqual([0, [], []]);
  });

  it("stays open where the engine closes before it is admitted", async () => {
    const { store } = place(kind);
    const work = held();
    const engine = await open(store, { effects: { once: work.handler } });
    const actor = await make(engine);
    // Answered before the commit that would admit it.
    await actor.send(once);
    await engine.close();
    expect([work.calls.length, store.effect("counter/a:2:0")?.state]).toEqual([0, "open"]);
  });
});

describe.each(STORES)("a handler (%s)", (kind) => {
  it.each([
    ["its state is left", { type: "work.leave" }],
    ["its actor ends", { type: "count.end" }],
    ["its effect is cancelled", { type: "work.cancel" }],
  ] as const)("is interrupted when %s, and its row is removed in that commit", async (_, event) => {
    const work = held();
    const engine = await open(place(kind).store, { effects: { work: work.handler } });
    const actor = await make(engine);
    await actor.send(start);
    const { call } = await work.called(1);
    expect(call.signal.aborted).toBe(false);
    await actor.send(event);
    expect([call.signal.aborted, call.signal.reason.code, engine.effects()]).toEqual([true, "effect_gone", []]);
    const entries = journal(engine).length;
    expect(await call.send({ type: "count.add", by: 2 } as never)).toMatchObject({ kind: "refused", code: "effect_gone" });
    expect(journal(engine).length).toBe(entries);
  });

  it("is not told to stop by the commit of its own result", async () => {
    const work = held();
    const engine = await open(place(kind).store, { effects: { work: work.handler } });
    const actor = await make(engine);
    await actor.send(start);
    const { call, resolve } = await work.called(1);
    resolve({ by: 1 });
    await actor.waitFor(idle);
    expect(call.signal.aborted).toBe(false);
  });

  it("that is asked to stop may still give its result", async () => {
    const work = held();
    const engine = await open(place(kind).store, { clock: simulatedClock(), effects: { work: work.handler } });
    const actor = await make(engine);
    await actor.send(start);
    const { call, resolve } = await work.called(1);
    await actor.send({ type: "work.abort" });
    expect([call.signal.aborted, engine.effects().length]).toEqual([true, 1]);
    resolve({ by: 3 });
    expect((await actor.waitFor(idle)).context).toMatchObject({ count: 3, log: ["work.done"] });
  });

  it("that is asked to stop and throws ends with its aborted event, and is not tried again", async () => {
    const work = held();
    const engine = await open(place(kind).store, { clock: simulatedClock(), effects: { work: work.handler } });
    const actor = await make(engine);
    await actor.send(start);
    const { reject } = await work.called(1);
    await actor.send({ type: "work.abort" });
    reject(new Error("stopped"));
    expect((await actor.waitFor(idle)).context.log).toEqual(["work.aborted"]);
    expect(work.calls.length).toBe(1);
  });

  it("that is asked to stop and does not is left behind after its grace", async () => {
    const clock = simulatedClock();
    const work = held();
    const engine = await open(place(kind).store, { clock, effects: { work: work.handler } });
    const actor = await make(engine);
    await actor.send(start);
    const { resolve } = await work.called(1);
    await actor.send({ type: "work.abort" });
    await clock.due(5000);
    clock.advance(4999);
    await flushed();
    expect(actor.getSnapshot().value).toBe("working");
    clock.advance(1);
    expect((await actor.waitFor(idle)).context.log).toEqual(["work.aborted"]);
    resolve({ by: 1000 });
    await actor.send({ type: "count.add", by: 1 });
    expect(actor.getSnapshot().context.count).toBe(1);
  });

  it("that waits for its next try ends at once when it is asked to stop", async () => {
    const clock = simulatedClock();
    const work = held();
    const engine = await open(place(kind).store, { clock, effects: { work: work.handler } });
    const actor = await make(engine);
    await actor.send(start);
    (await work.called(1)).reject(new Error("first"));
    await clock.due(100);
    await actor.send({ type: "work.abort" });
    expect((await actor.waitFor(idle)).context.log).toEqual(["work.aborted"]);
    expect(work.calls.length).toBe(1);
  });

  it("that waits for its turn ends at once when it is asked to stop", async () => {
    const work = held();
    const engine = await open(place(kind).store, { effects: { work: work.handler } });
    const actors = await Promise.all(["a", "b", "c"].map((id) => make(engine, id)));
    for (const actor of actors) await actor.send(start);
    await actors[2]?.send({ type: "work.abort" });
    expect((await actors[2]?.waitFor(idle))?.context.log).toEqual(["work.aborted"]);
    expect(work.calls.length).toBe(2);
  });

  it("that is asked to stop in the commit that requests it does not begin", async () => {
    const work = held();
    const engine = await open(place(kind).store, { effects: { once: work.handler } });
    const actor = await make(engine);
    await Promise.all([actor.send({ type: "once.start", by: 1 }), actor.send({ type: "once.abort" })]);
    expect((await actor.waitFor(({ context }) => context.log.length > 0)).context.log).toEqual(["once.aborted"]);
    expect([work.calls.length, engine.effects()]).toEqual([0, []]);
  });

  it("waits for its turn where as many run as its type allows", async () => {
    const work = held();
    const engine = await open(place(kind).store, { effects: { work: work.handler } });
    const actors = await Promise.all(["a", "b", "c"].map((id) => make(engine, id)));
    await Promise.all(actors.map((actor) => actor.send(start)));
    await work.called(2);
    await flushed();
    expect(work.calls.length).toBe(2);
    work.calls[0]?.resolve({ by: 1 });
    expect((await work.called(3)).call.actor).toBe("counter/c");
  });

  it("may send events to its actor while it works, and is refused with effect_gone after", async () => {
    const work = held();
    const engine = await open(place(kind).store, { effects: { work: work.handler } });
    const actor = await make(engine);
    await actor.send(start);
    const { call, resolve } = await work.called(1);
    expect(await call.send({ type: "count.add", by: 2 } as never)).toMatchObject({ kind: "accepted", seq: 3 });
    expect(journal(engine).at(-1)?.cause).toEqual({ kind: "handler", effect: call.key });
    expect(await call.send({ type: "work.done" })).toMatchObject({ kind: "refused", code: "event_reserved" });
    resolve({ by: 1 });
    await actor.waitFor(idle);
    expect(await call.send({ type: "count.add", by: 2 } as never)).toMatchObject({ kind: "refused", code: "effect_gone" });
    expect(actor.getSnapshot().context.count).toBe(3);
  });

  it("stores bytes by their content, durable when it hears of it", async () => {
    const { store } = place(kind);
    const digests: string[] = [];
    const engine = await open(store, {
      effects: {
        work: async ({ putBlob }) => {
          const bytes = new TextEncoder().encode("hello");
          const stored = putBlob(bytes);
          bytes.fill(0);
          digests.push(await stored, await putBlob(new TextEncoder().encode("hello")));
          return { by: new TextDecoder().decode(store.blob(digests[0] ?? "")) === "hello" ? 1 : 0 };
        },
      },
    });
    const actor = await make(engine);
    await actor.send(start);
    expect((await actor.waitFor(idle)).context.count).toBe(1);
    expect(digests).toEqual(Array(2).fill("2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"));
    expect(engine.getBlob("none")).toBeUndefined();
  });

  it("is interrupted at close, and its row stays for the next owner", async () => {
    const { store } = place(kind);
    const work = held();
    const first = await open(store, { effects: { work: work.handler } });
    await (await make(first)).send(start);
    const { call } = await work.called(1);
    await first.close();
    expect([call.signal.aborted, call.signal.reason.code]).toEqual([true, "closed"]);
    expect(await rejection(call.send({ type: "count.add", by: 1 } as never))).toMatchObject({ code: "closed" });
    await open(store, { effects: { work: work.handler } });
    expect((await work.called(2)).call).toMatchObject({ key: "counter/a:2:0", attempt: 1 });
  });

  it("is not started by a commit that close() drains", async () => {
    const { store } = place(kind);
    const work = held();
    const engine = await open(store, { effects: { work: work.handler } });
    const actor = await make(engine);
    const sent = actor.send(start);
    await engine.close();
    expect([(await sent).kind, work.calls.length, store.effect("counter/a:2:0")?.state]).toEqual(["accepted", 0, "open"]);
  });

  it("that answers the close by failing is not taken at its word", async () => {
    const { store } = place(kind);
    const work = ({ signal }: EffectCall) =>
      new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(Object.assign(new Error("interrupted"), { retryable: false })));
      });
    const engine = await open(store, { effects: { work } });
    await (await make(engine)).send(start);
    await engine.close();
    expect([store.lastPosition(), store.effect("counter/a:2:0")?.state]).toEqual([2, "open"]);
  });

  it("fails like any other where a fault point throws in it", async () => {
    const points = faultPoints();
    const clock = simulatedClock();
    let runs = 0;
    const work = async () => ({ by: ++runs });
    const engine = await open(place(kind).store, { probe: points.probe, clock, effects: { work } });
    const actor = await make(engine);
    points.throwAt("effect.after", new Error("crash"));
    await actor.send(start);
    await clock.due(100);
    clock.advance(100);
    expect((await actor.waitFor(idle)).context.count).toBe(2);
  });
});

it.each([
  ["fits, as large as it may be", 0, "two"],
  ["is a failure, where it is larger", 1, "three"],
])("the result of promise logic %s", async (_, more, state) => {
  // As JSON it has two characters more.
  const load = fromPromise(async () => "x".repeat(PAYLOAD_LIMIT / 2 - 2 + more));
  const one = { invoke: { src: "load", onDone: "two", onError: "three" } };
  const machine = thing({ initial: "one", states: { one, two: {}, three: {} } }, { actors: { load } });
  const engine = await open(place().store, { machines: [machine] });
  const actor = await engine.create(machine, "a", { input: {} });
  await actor.waitFor((snapshot) => !snapshot.matches("one"));
  expect(actor.getSnapshot().value).toBe(state);
});

it("a time-out longer than one timer can wait is waited for", async () => {
  const clock = simulatedClock();
  const asked: number[] = [];
  const after = (ms: number, wake: () => void) => {
    asked.push(ms);
    return clock.after(ms, wake);
  };
  const silent = held();
  const engine = await open(place().store, { clock: { now: clock.now, after }, effects: { silent: silent.handler } });
  await (await make(engine)).send({ type: "silent.start" });
  const { call } = await silent.called(1);
  clock.advance(2 ** 31 - 1);
  await clock.due(1001);
  expect(call.signal.aborted).toBe(false);
  clock.advance(1001);
  await clock.due(100);
  expect([call.signal.aborted, Math.max(...asked)]).toEqual([true, 2 ** 31 - 1]);
});

async function rejectionOrIdle(actor: Awaited<ReturnType<typeof make>>): Promise<void> {
  await actor.waitFor(({ context }) => context.log.length > 0);
}

/** The first outcome of this actor's effects that could not be committed. */
async function lostOf(actor: Awaited<ReturnType<typeof make>>): Promise<unknown> {
  for await (const watched of actor.watchAll()) if (watched.kind === "lost") return watched;
  return undefined;
}

/** All failures to commit for this actor's effects, from now on. */
function lossesOf(actor: Awaited<ReturnType<typeof make>>): unknown[] {
  const lost: unknown[] = [];
  actor.onLost((effect, error) => lost.push([effect, error]));
  return lost;
}
