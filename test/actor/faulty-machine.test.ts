import { describe, expect, it } from "vitest";
import { assign, setup } from "xstate";
import { z } from "zod";
import { effect, engineActions } from "../../machines/action.ts";
import { openEngine } from "../../src/actor/engine.ts";
import { HoldfastError } from "../../src/actor/error.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { gate, place, rejection, STORES } from "./counter.ts";
import { inState } from "./thing.ts";

const empty = z.strictObject({});
const failure = z.strictObject({ error: z.strictObject({ code: z.string().min(1).max(8), message: z.string() }), effect: z.string() });

interface Context {
  readonly told: number;
}

/** Creates, tells and throws as it is asked to. */
const odd = setup({
  schemas: {
    input: empty,
    context: z.strictObject({ told: z.int() }),
    events: {
      "odd.throw": z.strictObject({ code: z.string() }),
      "odd.bear": z.strictObject({ id: z.string() }),
      "odd.collide": z.strictObject({ with: z.string() }),
      "odd.pass": z.strictObject({ to: z.string(), with: z.string() }),
      "odd.greet": z.strictObject({ to: z.string() }),
      "odd.hello": empty,
      "odd.upset": z.strictObject({ to: z.string() }),
      "odd.cry": empty,
      "odd.zero": empty,
      "odd.work": empty,
      "job.done": z.strictObject({ output: z.null(), effect: z.string() }),
      "job.failed": failure,
      "engine.reopened": z.strictObject({ epoch: z.int() }),
    },
    facts: {},
    effects: { job: { params: empty, done: "job.done", failed: "job.failed", delivery: "at_least_once" as const, attempts: 1 } },
    supervisor: () => {
      throw new Error("a broken supervisor");
    },
  },
  types: { context: {} as Context, events: {} as { type: string; [key: string]: any } },
  actions: {
    ...engineActions,
    job: effect(),
    zero: assign({ told: ({ context }) => (Object.is(context.told, -0) ? 7 : -0) }),
    count: assign({ told: ({ context }) => context.told + 1 }),
    cry: assign(() => {
      throw new Error("cut in the middle: \ud83d");
    }),
    fail: assign(({ event }) => {
      throw new HoldfastError(event.code, "thrown by a machine");
    }),
  },
}).createMachine({
  id: "odd",
  version: "1",
  context: { told: 0 },
  initial: "here",
  states: {
    here: {
      on: {
        "odd.throw": { actions: "fail" },
        "odd.bear": {
          actions: [
            { type: "createActor", params: ({ event }) => ({ machine: "odd", id: event.id, input: {} }) },
            { type: "deliver", params: ({ event }) => ({ to: `odd/${event.id}`, event: { type: "odd.throw", code: "closed" } }) },
          ],
        },
        "odd.collide": { actions: { type: "createActor", params: ({ event }) => ({ machine: "odd", id: event.with, input: {} }) } },
        "odd.pass": {
          actions: { type: "deliver", params: ({ event }) => ({ to: event.to, event: { type: "odd.collide", with: event.with } }) },
        },
        "odd.greet": { actions: { type: "deliver", params: ({ event }) => ({ to: event.to, event: { type: "odd.hello" } }) } },
        "odd.hello": { actions: "count" },
        "odd.upset": { actions: { type: "deliver", params: ({ event }) => ({ to: event.to, event: { type: "odd.cry" } }) } },
        "odd.cry": { actions: "cry" },
        "odd.zero": { actions: "zero" },
        "odd.work": { actions: "job" },
        "job.failed": { actions: "count" },
        "engine.reopened": {
          actions: [
            "count",
            { type: "deliver", params: ({ context }) => ({ to: context.told === 1 ? "odd/699" : null, event: { type: "odd.hello" } }) },
          ],
        },
      },
    },
  },
});

const made = (effects: Record<string, any> = { job: async () => null }, store = memoryStore()) =>
  openEngine(store, { machines: [odd], effects, closeGraceMs: 0 });

describe("a machine that misbehaves", () => {
  it.each(["storage_failed", "closed", "journal_damaged", "root_invalid"])("and throws the store's code %s fails alone", async (code) => {
    const engine = await made();
    const [a, b] = [await engine.create(odd, "a", { input: {} }), await engine.create(odd, "b", { input: {} })];
    const [failed, other] = await Promise.allSettled([a.send({ type: "odd.throw", code }), b.send({ type: "odd.hello" })]);
    expect(failed).toMatchObject({ status: "rejected", reason: { code: "machine_threw" } });
    expect(other).toMatchObject({ value: { kind: "accepted" } });
    await engine.close();
  });

  it("and makes its new child throw fails with the child's error, and leaves no child", async () => {
    const engine = await made();
    const a = await engine.create(odd, "a", { input: {} });
    expect(await rejection(a.send({ type: "odd.bear", id: "x" }))).toMatchObject({ code: "machine_threw" });
    expect(engine.get(odd, "x")).toBeUndefined();
    expect(a.row()).toMatchObject({ seq: 1, quarantine: null });
    await engine.close();
  });

  it("and creates what exists because it was told to is set aside; who told it goes on", async () => {
    const engine = await made();
    const [a, b] = [await engine.create(odd, "a", { input: {} }), await engine.create(odd, "b", { input: {} })];
    expect(await a.send({ type: "odd.pass", to: b.address, with: "a" })).toMatchObject({ kind: "accepted" });
    expect([a.row().quarantine, b.row().quarantine?.message]).toEqual([null, "odd/a exists already"]);
    await engine.close();
  });

  it("and whose supervisor cannot be asked is set aside without stopping the next start", async () => {
    const store = memoryStore();
    const first = await made(undefined, store);
    const [a, b] = [await first.create(odd, "a", { input: {} }), await first.create(odd, "b", { input: {} })];
    await a.send({ type: "odd.pass", to: b.address, with: "a" });
    await first.close();
    const second = await made(undefined, store);
    expect(second.list({ quarantined: true }).map((row) => row.address)).toEqual(["odd/b"]);
    await second.close();
  });
});

it.each(["", "x".repeat(200)])("a handler's error with a code that no event takes is a failure like any other", async (code) => {
  const engine = await made({
    job: async () => {
      throw new HoldfastError(code, "odd");
    },
  });
  const a = await engine.create(odd, "a", { input: {} });
  const lost = a.send({ type: "odd.work" });
  await lost;
  // Its schema takes no code as long as `effect_failed` either, so the effect is listed, and the actor lives.
  await a.send({ type: "odd.hello" });
  await expect.poll(() => engine.effects().map((row) => row.state)).toEqual(["exhausted"]);
  expect(a.row().quarantine).toBeNull();
  await engine.close();
});

it("every unfinished actor is told of the new epoch, also one that another told something before", async () => {
  const store = memoryStore();
  const first = await made(undefined, store);
  await Promise.all(Array.from({ length: 700 }, (_, index) => first.create(odd, `${index}`, { input: {} })));
  await first.close();
  const second = await made(undefined, store);
  const untold = Array.from({ length: 700 }, (_, index) => store.journal(`odd/${index}`, { limit: 1000 })).filter(
    (rows) => rows.filter((row) => JSON.parse(row.event).type === "engine.reopened").length !== 1,
  );
  expect(untold).toEqual([]);
  await second.close();
});

it("close waits for a handler that is slow to take notice, and gives the root up after it", async () => {
  const started = gate();
  const order: string[] = [];
  const engine = await openEngine(memoryStore(), {
    machines: [odd],
    effects: {
      job: async ({ signal }: { signal: AbortSignal }) => {
        started.open();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
        order.push("handler");
      },
    },
    release: () => void order.push("release"),
  });
  const a = await engine.create(odd, "a", { input: {} });
  await a.send({ type: "odd.work" });
  await started.passed;
  await engine.close();
  expect(order).toEqual(["handler", "release"]);
});

it("what is no event, no list of expectations and no list of keys is refused with its code", async () => {
  const engine = await made();
  const a = await engine.create(odd, "a", { input: {} });
  expect(await a.send(null as never)).toMatchObject({ kind: "refused", code: "event_invalid" });
  expect(await a.send({ type: "odd.hello" }, { expect: [null] as never })).toMatchObject({ code: "event_invalid", path: "expect" });
  expect(await a.send({ type: "odd.hello" }, { expect: 5 as never })).toMatchObject({ code: "event_invalid", path: "expect" });
  expect(await rejection(engine.create(odd, "b", { input: {}, keys: "abc" as never }))).toMatchObject({ code: "input_invalid" });
  await engine.close();
});

describe("whatever a handler throws", () => {
  const throwing = {
    toString: () => {
      throw new Error("no text");
    },
  };
  it.each([
    ["nothing that can be described", Object.create(null)],
    ["a text that throws", throwing],
    ["a message that is no text", Object.assign(new Error("x"), { message: 5 })],
    ["half a character", new Error("\ud83d")],
    [
      "a property that throws",
      Object.defineProperty({}, "retryable", {
        get: () => {
          throw new Error("no");
        },
      }),
    ],
    ["undefined", undefined],
  ])("it has failed: %s", async (_, thrown) => {
    const tried = gate();
    const engine = await made({
      job: async () => {
        tried.open();
        throw thrown;
      },
    });
    const a = await engine.create(odd, "a", { input: {} });
    await a.send({ type: "odd.work" });
    await tried.passed;
    // Its machine takes no code as long as `effect_failed`, so the effect is listed as exhausted.
    await expect.poll(() => engine.effects().map((row) => row.state)).toEqual(["exhausted"]);
    await engine.close();
  });
});

describe("half a character", () => {
  it("in a key is refused, and the others of the group commit", async () => {
    const engine = await made();
    const a = await engine.create(odd, "a", { input: {} });
    const [keyed, created, other] = await Promise.allSettled([
      a.send({ type: "odd.hello" }, { key: "\ud800" }),
      engine.create(odd, "b", { input: {}, keys: ["\ud800"] }),
      a.send({ type: "odd.hello" }),
    ]);
    expect(keyed).toMatchObject({ reason: { code: "input_invalid" } });
    expect(created).toMatchObject({ reason: { code: "input_invalid" } });
    expect(other).toMatchObject({ value: { kind: "accepted" } });
    await engine.close();
  });

  it("in what a machine throws sets its actor aside, and the others of the group commit", async () => {
    const engine = await made();
    const [a, b] = [await engine.create(odd, "a", { input: {} }), await engine.create(odd, "b", { input: {} })];
    const [told, other] = await Promise.allSettled([a.send({ type: "odd.upset", to: b.address }), a.send({ type: "odd.hello" })]);
    expect([told.status, other.status]).toEqual(["fulfilled", "fulfilled"]);
    expect(b.row().quarantine).toMatchObject({ code: "event_poisoned" });
    await engine.close();
  });
});

it("a negative zero is to the next transition what it is to a fold (ACT-4)", async () => {
  const engine = await made();
  const a = await engine.create(odd, "a", { input: {} });
  for (let time = 0; time < 2; time++) await a.send({ type: "odd.zero" });
  expect(a.getSnapshot().context.told).toBe(0);
  expect(engine.verify().faults).toEqual([]);
  await engine.close();
});

it("who waits on a root that another process took is told so", async () => {
  const store = memoryStore();
  const engine = await made(undefined, store);
  const a = await engine.create(odd, "a", { input: {} });
  const waiting = rejection(a.waitFor(() => false));
  const watching = rejection(
    (async () => {
      for await (const _ of a.watch());
    })(),
  );
  store.beginEpoch(Date.now());
  expect(await a.send({ type: "odd.hello" })).toMatchObject({ kind: "refused", code: "not_owner" });
  expect([await waiting, await watching]).toMatchObject([{ code: "not_owner" }, { code: "not_owner" }]);
  await engine.close();
});

it.each([-1, Number.NaN, 1.5, "x"])("a watch from %s is refused with its code", async (after) => {
  const engine = await made();
  const a = await engine.create(odd, "a", { input: {} });
  expect(await rejection(a.watch({ after: after as number }).next())).toMatchObject({ code: "input_invalid" });
  await engine.close();
});

it.each(STORES)("a refusal that is no text is no reason, and is not recorded as one (%s)", async (kind) => {
  const given: unknown[] = [17, { code: "no" }, Promise.resolve("late"), null, Symbol("no"), "said"];
  const machine = inState({}, { schemas: { refusal: () => given.shift() } });
  const engine = await openEngine(place(kind).store, { machines: [machine], closeGraceMs: 0 });
  const actor = await engine.create(machine, "a", { input: {} as never });
  for (let number = 0; number < 5; number++)
    expect(await actor.send({ type: "go" } as never, { key: `key ${number}` })).toEqual({ kind: "ignored" });
  expect(await actor.send({ type: "go" } as never)).toEqual({ kind: "ignored", reason: "said" });
  await engine.close();
});
