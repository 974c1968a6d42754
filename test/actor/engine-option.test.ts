import { describe, expect, it } from "vitest";
import { completeOptions } from "../../src/actor/engine-option.ts";
import { openActors } from "../../src/actors.ts";
import { openHoldfast } from "../../src/index.ts";
import { simulatedClock } from "../../src/testing/index.ts";
import { counter, handlers, make, open, place, rejection, STORES, temporary } from "./counter.ts";
import { asleep, ship } from "./ship.ts";

describe("an option", () => {
  it.each<[string, unknown]>([
    ["groupLimit", 0],
    ["groupLimit", Number.NaN],
    ["groupLimit", 1.5],
    ["groupLimit", "10"],
    ["cascadeLimit", 0],
    ["cascadeLimit", Number.POSITIVE_INFINITY],
    ["mailboxLimit", -1],
    ["cacheLimit", -1],
    ["closeGraceMs", Number.NaN],
    ["closeGraceMs", -1],
    ["closeGraceMs", 2 ** 31],
    ["contextLimit", 0],
    ["contextWarning", -1],
    ["changed", "guess"],
    ["start", "no"],
    ["clock", 5],
    ["clock", { now: () => 5 }],
    ["clock", { ...simulatedClock(), now: () => Number.NaN }],
    ["machines", "counter"],
    ["probe", {}],
    ["grouplimit", 5],
  ])("out of its bounds is refused with its path, and nothing is written: %s %s", async (name, value) => {
    const { store } = place();
    expect(await rejection(open(store, { [name]: value }))).toMatchObject({ code: "input_invalid", details: { path: name } });
    expect(store.epoch()).toBe(0);
  });

  it.each<[string, object]>([
    ["effects", { effects: "none" }],
    ["effects", { effects: null }],
    ["clock", { clock: null }],
    ["first", { first: 1, second: 2 }],
  ])("that is none at all is refused with its path: %s, of %j", (path, given) => {
    const wrong = expect.objectContaining({ code: "input_invalid", details: { path } });
    expect(() => completeOptions({ machines: [], ...given })).toThrow(wrong);
  });

  it("at its bounds is taken, and one that is undefined is absent", async () => {
    const least = { groupLimit: 1, cascadeLimit: 1, mailboxLimit: 1, cacheLimit: 0, closeGraceMs: 0, contextWarning: 0 };
    const engine = await open(place().store, { ...least, contextLimit: 1_000_000, clock: undefined as never, changed: undefined as never });
    expect(engine.epoch).toBe(1);
  });

  it.each(["refuse", "refold"] as const)("may say of a changed machine: %s", (changed) => {
    expect(completeOptions({ machines: [], changed }).changed).toBe(changed);
  });

  it.each(STORES)("may be a clock with fractions: rows hold whole milliseconds, and timers fire (%s)", async (kind) => {
    const clock = simulatedClock(1_767_225_600_000.75);
    const engine = await open(place(kind).store, { clock, machines: [counter, ship], effects: { ...handlers, ...asleep } });
    await make(engine);
    const sailing = await engine.create(ship, "a", { input: { start: 1 } as never });
    await sailing.send({ type: "wait" } as never);
    expect(engine.list().map(({ createdMs }) => createdMs)).toEqual([1_767_225_600_000, 1_767_225_600_000]);
    const due = engine.timers()[0]?.dueMs ?? Number.NaN;
    expect(due).toBeGreaterThan(1_767_225_600_000);
    clock.advance(due - 1_767_225_600_000 + 1);
    await expect.poll(() => engine.timers().some(({ dueMs }) => dueMs === due)).toBe(false);
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });

  it("may name handlers that no machine asks for", async () => {
    const engine = await open(place().store, { effects: { nobodys: async () => null } });
    expect(engine.epoch).toBe(1);
  });

  it("of another name is refused where a root is opened, and those of the root are known", async () => {
    const root = temporary();
    const actors = { root, machines: [counter], effects: handlers, busyTimeoutMs: 100, synchronous: "normal" } as const;
    const wrong = { code: "input_invalid", details: { path: "closeGrace" } };
    expect(await rejection(openActors({ ...actors, closeGrace: 1 } as never))).toMatchObject(wrong);
    await (await openActors(actors)).close();
    const holdfast = { root: temporary(), backends: {}, busyTimeoutMs: 100, synchronous: "normal" } as const;
    expect(await rejection(openHoldfast({ ...holdfast, closeGrace: 1 } as never))).toMatchObject(wrong);
    await (await openHoldfast(holdfast)).close();
  });
});
