import { describe, expect, it } from "vitest";
import { assign, fromPromise } from "xstate";
import { z } from "zod";
import { effect } from "../../machines/action.ts";
import type { Engine } from "../../src/actor/engine.ts";
import { PAYLOAD_LIMIT } from "../../src/actor/journal.ts";
import type { Resolution } from "../../src/actor/resolution.ts";
import type { Store } from "../../src/actor/store.ts";
import { faultPoints, simulatedClock } from "../../src/testing/index.ts";
import { gate, journal, open, place, rejection, STORES } from "./counter.ts";
import { flushed, held } from "./held.ts";
import { inState, nothing, thing } from "./thing.ts";

const failure = z.strictObject({ code: z.string(), message: z.string() });
const outcome = { output: z.strictObject({ n: z.int() }), effect: z.string() };

/** It has an effect that can be exhausted and one that can be unknown, and takes no outcome of 13. */
const jobs = thing(
  {
    id: "jobs",
    context: { log: [] },
    initial: "idle",
    on: { end: ".ended", spoil: { actions: "refuse" } },
    states: {
      idle: { on: { go: "quiet", more: "once", most: "loose" } },
      quiet: {
        entry: { type: "quiet", params: {} },
        on: {
          "quiet.done": [
            { guard: "isUnlucky", actions: "refuse" },
            { target: "idle", actions: "note" },
          ],
        },
      },
      once: {
        entry: { type: "once", params: {} },
        on: { "once.done": { target: "idle", actions: "note" }, "once.failed": { target: "idle", actions: "note" } },
      },
      loose: { entry: { type: "loose", params: {} }, on: { "loose.failed": { target: "idle", actions: "note" } } },
      ended: { type: "final" },
    },
  },
  {
    schemas: {
      context: z.strictObject({ log: z.array(z.string()) }),
      events: {
        ...{ go: nothing, more: nothing, most: nothing, end: nothing, spoil: nothing },
        "effect.unknown": z.strictObject({ effect: z.string(), name: z.string() }),
        "quiet.done": z.strictObject(outcome),
        "once.done": z.strictObject(outcome),
        "once.failed": z.strictObject({ error: failure, effect: z.string() }),
        "loose.done": z.looseObject({}),
        "loose.failed": z.looseObject({}),
      },
      effects: {
        quiet: { params: nothing, done: "quiet.done", delivery: "at_least_once", attempts: 1 },
        once: { params: nothing, done: "once.done", failed: "once.failed", delivery: "at_most_once" },
        loose: { params: nothing, done: "loose.done", failed: "loose.failed", delivery: "at_most_once" },
      },
    },
    actions: {
      quiet: effect<object>(),
      once: effect<object>(),
      loose: effect<object>(),
      note: assign(({ context, event }: any) => ({ log: [...context.log, event.type] })),
      refuse: assign(() => {
        throw new Error("refused");
      }),
    },
    guards: { isUnlucky: ({ event }: any) => event.output.n === 13 },
  },
);

const KEY = "jobs/a:2:0";

async function openJobs(store: Store, effects: object = {}): Promise<Engine> {
  const clock = simulatedClock();
  const done = async () => ({ n: 1 });
  return open(store, { machines: [jobs], clock, effects: { quiet: done, once: done, loose: done, ...effects } });
}

/** An actor whose effect has failed, and is listed as exhausted. */
async function exhausted(store: Store, effects: object = {}) {
  const fails = held();
  const engine = await openJobs(store, { quiet: fails.handler, ...effects });
  const actor = await engine.create(jobs, "a", { input: {} });
  await actor.send({ type: "go" });
  (await fails.called(1)).reject(new Error("no"));
  await flushed();
  return { engine, actor, fails };
}

/** An actor whose effect was at work when its owner ended, and which was released without hearing of it. */
async function unknown(store: Store, handler: (call: any) => Promise<unknown> = async () => ({ n: 1 }), type = "more") {
  const lost = held();
  const first = await openJobs(store, { once: lost.handler, loose: lost.handler });
  await (await first.create(jobs, "a", { input: {} })).send({ type });
  await lost.called(1);
  await first.close();
  store.write(store.epoch(), (writer) => {
    const row = writer.effect(KEY);
    if (row?.state === "started") writer.putEffect({ ...row, state: "unknown" });
  });
  const engine = await openJobs(store, { once: handler });
  const actor = engine.get(jobs, "a");
  if (!actor) throw new Error("no actor");
  return { engine, actor };
}

describe.each(STORES)("an effect that waits for a person (%s)", (kind) => {
  it("is listed with its state and its last error", async () => {
    const { engine } = await exhausted(place(kind).store);
    const row = { key: KEY, actor: "jobs/a", name: "quiet", state: "exhausted", error: '{"code":"effect_failed","message":"no"}' };
    expect(engine.effects({ state: "exhausted" })).toMatchObject([row]);
    const other = await unknown(place(kind).store);
    expect(other.engine.effects({ state: "unknown" })).toMatchObject([{ key: KEY, name: "once", error: null }]);
    expect([engine.verify().faults, other.engine.verify().faults]).toEqual([[], []]);
  });

  it("is not started by recover(), nor by the next owner", async () => {
    const { store } = place(kind);
    const { engine, fails } = await exhausted(store);
    await engine.recover();
    await flushed();
    const points = faultPoints();
    const effects = { quiet: fails.handler, once: fails.handler, loose: fails.handler };
    await open(store, { machines: [jobs], effects, probe: points.probe });
    await flushed();
    expect([fails.calls.length, points.count("effect.before")]).toEqual([1, 0]);
  });

  it("that was exhausted is run again by retry(), under the same key", async () => {
    const { engine, actor, fails } = await exhausted(place(kind).store);
    await engine.retry(KEY);
    expect(engine.effects()).toMatchObject([{ state: "open", error: null }]);
    const { call, resolve } = await fails.called(2);
    expect([call.key, call.attempt]).toEqual([KEY, 1]);
    resolve({ n: 2 });
    await actor.waitFor((snapshot) => snapshot.matches("idle"));
    expect([engine.effects(), engine.verify().faults]).toEqual([[], []]);
  });

  it("is run again by retry() also where that is asked for in the moment in which it was exhausted", async () => {
    const { store } = place(kind);
    const points = faultPoints();
    const fails = held();
    const engine = await open(store, {
      ...{ machines: [jobs], clock: simulatedClock(), probe: points.probe },
      effects: { quiet: fails.handler, once: fails.handler, loose: fails.handler },
    });
    const actor = await engine.create(jobs, "a", { input: {} });
    await actor.send({ type: "go" });
    const first = await fails.called(1);
    const retried = gate<Promise<void>>();
    // The commit that says so: nobody has heard of it yet, not even its handler's fiber.
    points.callAt("commit.after", () => retried.open(engine.retry(KEY)));
    first.reject(new Error("no"));
    await await retried.passed;
    (await fails.called(2)).resolve({ n: 2 });
    await actor.waitFor((snapshot) => snapshot.matches("idle"));
  });

  it("is run again by retry() also where one commit says that it was exhausted and that it is retried", async () => {
    const points = faultPoints();
    const fails = held();
    const effects = { quiet: fails.handler, once: fails.handler, loose: fails.handler };
    const engine = await open(place(kind).store, { machines: [jobs], clock: simulatedClock(), probe: points.probe, effects });
    await (await engine.create(jobs, "a", { input: {} })).send({ type: "go" });
    (await fails.called(1)).reject(new Error("no"));
    const before = points.count("commit.before");
    // Far enough for its failure to be asked for, and not as far as its commit.
    for (let turn = 0; turn < 200; turn++) await Promise.resolve();
    await engine.retry(KEY);
    expect(points.count("commit.before") - before).toBe(1);
    await fails.called(2);
    await engine.close();
  });

  it("that was unknown is admitted and run again by retry()", async () => {
    const work = held();
    const { store } = place(kind);
    const { engine, actor } = await unknown(store, work.handler);
    await engine.retry(KEY);
    (await work.called(1)).resolve({ n: 2 });
    await actor.waitFor((snapshot) => snapshot.context.log.includes("once.done"));
    expect([work.calls.length, engine.effects(), engine.verify().faults]).toEqual([1, [], []]);
  });

  it("is settled by resolve() with an output, as if its handler had given it", async () => {
    const { engine, actor } = await exhausted(place(kind).store);
    await engine.resolve(KEY, { output: { n: 5 } });
    expect(journal(engine, "jobs/a").at(-1)).toMatchObject({
      event: { type: "quiet.done", output: { n: 5 }, effect: KEY },
      cause: { kind: "result", effect: KEY },
    });
    expect([actor.getSnapshot().value, engine.effects(), engine.verify().faults]).toEqual(["idle", [], []]);
  });

  it("is settled by resolve() with an error", async () => {
    const { engine, actor } = await unknown(place(kind).store);
    await engine.resolve(KEY, { error: { code: "refused", message: "by hand" } });
    expect(journal(engine, "jobs/a").at(-1)?.event).toEqual({
      type: "once.failed",
      error: { code: "refused", message: "by hand" },
      effect: KEY,
    });
    expect([actor.getSnapshot().context.log, engine.effects(), engine.verify().faults]).toEqual([["once.failed"], [], []]);
  });

  it("ends with its state, and is then nobody's to settle", async () => {
    const { engine, actor } = await exhausted(place(kind).store);
    await actor.send({ type: "end" });
    expect(engine.effects()).toEqual([]);
    for (const asked of [engine.retry(KEY), engine.resolve(KEY, { output: { n: 1 } })])
      expect(await rejection(asked)).toMatchObject({ code: "effect_gone" });
  });
});

describe.each(STORES)("settling by hand (%s)", (kind) => {
  it.each<[string, unknown]>([
    ["an output that does not fit", { output: { n: "five" } }],
    ["an output that is not plain JSON", { output: { n: 5, at: new Date(0) } }],
    ["no output", { output: undefined }],
    ["an output that is too large", { output: { n: 1, text: "x".repeat(20_000_000) } }],
    ["an error, of which the machine hears nothing", { error: { code: "c", message: "m" } }],
    ["neither output nor error", {}],
    ["nothing", null],
    ["a text", "done"],
  ])("with %s is refused as effect_result_invalid, and nothing is written", async (_, given) => {
    const { engine, actor } = await exhausted(place(kind).store);
    expect(await rejection(engine.resolve(KEY, given as Resolution))).toMatchObject({
      code: "effect_result_invalid",
      details: { effect: KEY },
    });
    expect([actor.row().seq, engine.effects().map(({ state }) => state)]).toEqual([2, ["exhausted"]]);
  });

  it.each<[string, unknown]>([
    ["an error without a message", { error: { code: "c" } }],
    ["an error without a code", { error: { message: "m" } }],
    ["an error that is a text", { error: "no" }],
    ["neither output nor error", {}],
    ["nothing", null],
    ["a text", "done"],
    ["an error with more than its event takes", { error: { code: "c", message: "m", stack: "s" } }],
  ])("with %s is refused as effect_result_invalid", async (_, given) => {
    const { engine } = await unknown(place(kind).store);
    expect(await rejection(engine.resolve(KEY, given as Resolution))).toMatchObject({
      code: "effect_result_invalid",
      details: { effect: KEY },
    });
    expect(engine.effects().map(({ state }) => state)).toEqual(["unknown"]);
  });

  it.each<[string, unknown]>([
    ["without a message", { code: "c" }],
    ["without a code", { message: "m" }],
    ["that is a text", "no"],
    ["that is nothing", null],
  ])("with an error %s is refused as effect_result_invalid also where its event takes everything", async (_, error) => {
    const { engine } = await unknown(place(kind).store, undefined, "most");
    expect(await rejection(engine.resolve(KEY, { error } as Resolution))).toMatchObject({ code: "effect_result_invalid" });
    expect(engine.effects().map(({ state }) => state)).toEqual(["unknown"]);
  });

  it("with an output for promise logic takes all plain JSON up to its limit, and nothing else", async () => {
    const load = fromPromise(async () => Promise.reject(new Error("no")));
    const machine = inState({ invoke: { src: "load", onDone: "two" } }, { actors: { load } });
    const engine = await open(place(kind).store, { machines: [machine], clock: simulatedClock() });
    const actor = await engine.create(machine, "a", { input: {} });
    await flushed();
    const [effect] = engine.effects({ state: "exhausted" });
    const resolve = (output: unknown) => engine.resolve(effect?.key ?? "", { output });
    // As it stands in its event: {"output":"x…"}.
    const most = "x".repeat(PAYLOAD_LIMIT / 2 - 13);
    for (const output of [new Date(0), `${most}x`])
      expect(await rejection(resolve(output))).toMatchObject({ code: "effect_result_invalid" });
    expect(actor.row().seq).toBe(1);
    await resolve(most);
    expect(actor.getSnapshot().value).toBe("two");
  });

  it("is refused with effect_gone where there is no such effect", async () => {
    const engine = await openJobs(place(kind).store);
    for (const asked of [engine.retry("jobs/a:9:9"), engine.resolve("jobs/a:9:9", { output: null })])
      expect(await rejection(asked)).toMatchObject({ code: "effect_gone" });
  });

  it.each(["go", "more"])("is refused with effect_at_work while a handler works on it (%s)", async (type) => {
    const work = held();
    const engine = await openJobs(place(kind).store, { quiet: work.handler, once: work.handler });
    await (await engine.create(jobs, "a", { input: {} })).send({ type });
    await work.called(1);
    for (const asked of [engine.retry(KEY), engine.resolve(KEY, { output: { n: 1 } })])
      expect(await rejection(asked)).toMatchObject({ code: "effect_at_work" });
    expect(work.calls.length).toBe(1);
  });

  it("by two at once is done once, whoever comes first", async () => {
    const { engine, actor } = await exhausted(place(kind).store);
    const both = await Promise.allSettled([engine.resolve(KEY, { output: { n: 1 } }), engine.resolve(KEY, { output: { n: 2 } })]);
    expect(both).toMatchObject([{ status: "fulfilled" }, { status: "rejected", reason: { code: "effect_gone" } }]);
    expect([actor.row().seq, journal(engine, "jobs/a").at(-1)?.event.output]).toEqual([3, { n: 1 }]);
  });

  it("is refused where it was run again a moment before", async () => {
    const { engine, fails } = await exhausted(place(kind).store);
    const both = await Promise.allSettled([engine.retry(KEY), engine.resolve(KEY, { output: { n: 1 } }), engine.retry(KEY)]);
    expect(both).toMatchObject([{ status: "fulfilled" }, { reason: { code: "effect_at_work" } }, { reason: { code: "effect_at_work" } }]);
    await fails.called(2);
    expect(fails.calls.length).toBe(2);
  });

  it("is refused with actor_quarantined while its actor is set aside", async () => {
    const { store } = place(kind);
    await exhausted(store);
    store.write(store.epoch(), (writer) => {
      const row = writer.actor("jobs/a");
      if (row) writer.putActor({ ...row, quarantine: { code: "test", message: "test", atMs: 1 } });
    });
    const engine = await openJobs(store);
    for (const asked of [engine.retry(KEY), engine.resolve(KEY, { output: { n: 1 } })])
      expect(await rejection(asked)).toMatchObject({ code: "actor_quarantined" });
    expect(engine.effects().map(({ state }) => state)).toEqual(["exhausted"]);
  });

  it("with what makes the machine throw fails for who asked, and sets nobody aside", async () => {
    const { engine, actor } = await exhausted(place(kind).store);
    expect(await rejection(engine.resolve(KEY, { output: { n: 13 } }))).toMatchObject({ code: "machine_threw" });
    expect([engine.list({ quarantined: true }), engine.effects().map(({ state }) => state)]).toEqual([[], ["exhausted"]]);
    await engine.resolve(KEY, { output: { n: 14 } });
    expect(actor.getSnapshot().value).toBe("idle");
  });
});
