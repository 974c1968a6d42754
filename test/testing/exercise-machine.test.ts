import { describe, expect, it, test } from "vitest";
import { type ExerciseOptions, exerciseMachine, pathsFor } from "../../src/testing/index.ts";
import { type Declared, failing, proofOf } from "./failing.ts";
import { orderOf, parcel } from "./order.ts";
import { circling, forbidding, measured, passing } from "./shapes.ts";
import { endless, sumOf } from "./timed.ts";
import { ward } from "./ward.ts";

const order = orderOf();
const events = [
  { type: "order.pay", amount: 10 },
  { type: "order.pay", amount: 9 },
  { type: "order.stop" },
  { type: "charge.done", output: 10 },
  { type: "notify.done", output: null },
  { type: "engine.quarantined", actor: "parcel/one" },
];
const options: ExerciseOptions<typeof order> = { input: { total: 10 }, events, others: [parcel] };

const told: string[] = [];
const names: string[] = [];
const noting = (name: string, body: () => Promise<void>) => {
  names.push(name);
  test(name, body);
};
const given = { ...options, crashes: 40, faults: 8, tell: (line: string) => void told.push(line) };
const done = exerciseMachine(order, given, { describe, test: noting });

const few = { ...options, paths: 1, crashes: 0, faults: 0 } as ExerciseOptions;

describe("the proof of a machine", () => {
  it("runs each path, crashes and failing stores", () => {
    expect(done.paths).toBe(done.found.paths.length);
    expect(done.transitions.size).toBe(14);
    expect(done.crashes).toBeGreaterThan(30);
    expect(done.faults).toBeGreaterThan(10);
  });

  it("recovers from no more crashes than it is told, also where a move has more commits than one", async () => {
    // A payment is admitted in a commit of its own.
    const told: string[] = [];
    const paid = { ...options, paths: 0, crashes: 60, faults: 0, tell: (line: string) => void told.push(line) };
    expect(await failing(order, paid)).toEqual({});
    expect(told).toEqual([expect.stringMatching(/, 60 of 7\d crashes, /)]);
  });

  it("goes on where another actor was set aside, or is back, and the machine took no notice", async () => {
    const warded = { input: {}, events: [{ type: "ward.tell" }, { type: "engine.quarantined", actor: "parcel/one" }], others: [parcel] };
    const ends = pathsFor(ward, { input: warded.input, events: warded.events } as never).paths.map(({ text }) => text);
    expect(ends).toContain("parcel/one aside, ward.tell");
    expect(ends).toContain("parcel/one aside, parcel/one back, ward.tell, parcel/one aside");
    expect(await failing(ward, warded as never)).toEqual({});
  });

  it.each([
    ["states that are left at once", passing, ["go", "on"]],
    ["forbidden transitions", forbidding, ["ping", "next"]],
  ])("passes with %s", async (_, machine, types) => {
    expect(await failing(machine, { input: {}, events: types.map((type) => ({ type })) })).toEqual({});
  });

  it("passes with guards that are made of others, and with params", async () => {
    const events = [0, 3, 10, 11, 1000].map((amount) => ({ type: "put", amount }));
    const { uncovered } = pathsFor(measured, { input: {}, events } as never);
    expect(uncovered).toHaveLength(2);
    expect(await failing(measured, { input: {}, events, uncovered })).toEqual({});
  });

  it("fails once where timers of no length lead in a circle", async () => {
    const failed = await failing(circling, { input: {}, events: [{ type: "go" }] });
    expect(failed).toEqual({ "can be explored": expect.stringContaining("does not come to rest") });
  });

  it("tells in its last test what was to be covered, and in one line what was", () => {
    const { found, paths, crashes, moments, faults } = done;
    const of = `${found.paths.length} of ${found.paths.length} paths`;
    expect(names.at(-1)).toBe(`tells what was covered: ${of}, at most 40 crashes, a failing store on 8 paths`);
    expect(told).toEqual([
      `order: 14 of 14 transitions on ${paths} of ${paths} paths, ${crashes} of ${moments} crashes, ${faults} failed transactions on 8 paths`,
    ]);
  });

  it("fails where an event has no way to happen, and says which", async () => {
    const failed = await failing(order, { ...few, events: events.filter(({ type }) => type !== "order.stop") });
    const [line] = failed["has a way for each of its events to happen"]?.split("\n") ?? [];
    expect(line).toBe("no variant is given for order.stop, and the engine does not make it");
  });

  it("fails where a transition is not covered, and says which, unless it need not be", async () => {
    const without = { ...few, events: events.filter(({ amount }) => amount !== 9) };
    const [promise = "", message] = Object.entries(await failing(order, without))[0] ?? [];
    expect(promise).toMatch(/^has paths that cover all/);
    const [line] = message?.split("\n") ?? [];
    expect(line).toBe("no path comes to this: guard amountFits never says no: give another variant or input");
    const [stale] = Object.values(await failing(order, { ...few, uncovered: ["state order.lost"] }));
    expect(stale?.split("\n")[0]).toBe("`uncovered` lists what is covered, or is not there: state order.lost");
    expect(await failing(order, { ...without, uncovered: ["guard amountFits never says no"] })).toEqual({});
  });

  it("names `serialize` where something is not covered that states may lead to which it takes for one", async () => {
    const of = (given: object) => failing(sumOf(2), { input: {}, events: [{ type: "sum.add" }, { type: "sum.end" }], ...given });
    const [message] = Object.values(await of({ serialize: () => "" }));
    expect(message).toMatch(/^no path comes to this: guard isLess never says no: .* or let `serialize` tell more apart: /);
    expect(await of({ serialize: ({ context }: any) => String(context.sum) })).toEqual({});
  });

  it("says all in its message where something is missing, and shows no values beside it", async () => {
    const errors: { actual?: unknown; expected?: unknown }[] = [];
    const given = {
      input: { total: 10 },
      events: events.slice(0, 1),
      others: [parcel],
      paths: 0,
      crashes: 0,
      faults: 0,
    };
    for (const [, body] of proofOf(order, given).tests.slice(0, 3)) await body().catch((error) => errors.push(error));
    expect(errors.map(({ actual, expected }) => [actual, expected])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });

  it("fails where the engine does not do what the machine says: a rule that is not the same each time", async () => {
    let asked = 0;
    const failed = await failing(
      orderOf(({ context, event }) => event.amount === context.total && asked++ % 2 === 0),
      few,
    );
    expect(Object.keys(failed).some((name) => name.startsWith("path "))).toBe(true);
  });

  it.each([
    [{ crashes: Number.NaN }, "crashes is NaN; expected a whole number from 0"],
    [{ paths: Number.NaN }, "paths is NaN; expected a whole number from 0"],
    [{ paths: -1 }, "paths is -1; expected a whole number from 0"],
    [{ paths: "3" }, 'paths is "3"; expected a whole number from 0'],
    [{ faults: -1 }, "faults is -1; expected a whole number from 0"],
    [{ faults: 1.5 }, "faults is 1.5; expected a whole number from 0"],
    [{ limit: 0 }, "limit is 0; expected a whole number from 1"],
    [{ serialise: () => "" }, "exerciseMachine has no option serialise; there are events, input,"],
    [{ serialize: "" }, 'serialize is ""; expected a function'],
    [{ events: undefined }, "events is missing; expected a list"],
    [{ input: undefined }, "input is missing; expected what the actor is created with"],
    [{ input: [{ total: 10 }, undefined] }, "input[1] is missing; expected what the actor is created with"],
    [{ events: [null] }, "events[0] is null; expected an event with a type"],
    [{ others: [{}] }, "others[0] is an object; expected a machine of XState"],
    [{ others: parcel }, "others is an object; expected a list"],
    [{ tell: "all" }, 'tell is "all"; expected a function'],
    [{ uncovered: "all" }, 'uncovered is "all"; expected a list'],
  ])("fails once for the option %o, and says what is wrong with it", async (wrong, message) => {
    expect(await failing(order, { ...few, ...wrong } as never)).toEqual({ "can be explored": expect.stringContaining(message) });
  });

  it.each([
    [order, null, "options of exerciseMachine is null; expected an object"],
    [order, undefined, "options of exerciseMachine is missing; expected an object"],
    [undefined, few, "machine is missing; expected a machine of XState"],
    [{ id: "order" }, few, "machine is an object; expected a machine of XState"],
  ])("fails once where there is no machine, or no options: %#", async (machine, given, message) => {
    expect(await failing(machine as never, given as never)).toEqual({ "can be explored": message });
  });

  it.each([
    ["Date.now", () => Date.now() > 4_000_000_000_000],
    ["Math.random", () => Math.random() > 0.5],
  ])("fails once, and says so, where a guard calls %s", async (name, guard) => {
    expect(await failing(orderOf(guard), options)).toEqual({ "can be explored": expect.stringContaining(`${name} was called`) });
  });

  it("fails where there is more to explore than by default, and says where a limit that is given was reached", async () => {
    const first = (limit?: number) => {
      const given = { input: {}, events: [{ type: "go" }], ...(limit === undefined ? {} : { limit }) };
      return proofOf(endless, given).tests[0] as Declared;
    };
    const [whole, passes] = first();
    expect(whole).toBe("is explored to its end");
    await expect(passes()).rejects.toThrow("more states than the 2,000");
    const [cut, isEnough] = first(20);
    expect(cut).toBe("is explored as far as the limit of 20 states, and no further");
    await isEnough();
  });

  it("fails where its paths have no end, says how many there are, and drives some of them", async () => {
    const sum = sumOf(1100);
    const { tests } = proofOf(sum, { input: {}, events: [{ type: "sum.add" }, { type: "sum.end" }] });
    const [[, explored]] = tests as [Declared];
    await expect(explored()).rejects.toThrow("there are 1,102 paths, the longest of 1,101 moves: give `serialize`");
    expect(tests.length).toBeLessThan(50);
  });

  it("fails with what the machine or its input is refused for", async () => {
    expect(Object.values(await failing(order, { ...few, input: { total: "much" } }))[0]).toContain("total");
  });
});
