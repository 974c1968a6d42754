import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { assign, setup } from "xstate";
import { z } from "zod";
import { type PathOptions, pathsFor } from "../../src/testing/index.ts";
import { reachable, sourceFile } from "../../tools/architecture/scan.ts";
import { EXPLORED } from "../machines/paths/index.ts";
import { orderOf } from "./order.ts";
import { circling, forbidding, measured, passing } from "./shapes.ts";

const order = orderOf();
const pay = { type: "order.pay", amount: 10 };
const payLess = { type: "order.pay", amount: 9 };
const rest = [
  { type: "order.stop" },
  { type: "charge.done", output: 10 },
  { type: "notify.done", output: null },
  { type: "engine.quarantined", actor: "parcel/one" },
];
const options: PathOptions<typeof order> = { input: { total: 10 }, events: [pay, payLess, ...rest] };
const found = pathsFor(order, options);

describe("the paths of a machine", () => {
  it("take every transition, enter every state, and have each guard say yes and no", () => {
    expect(found).toMatchObject({
      machine: "order",
      states: 7,
      transitions: 14,
      guards: 2,
      uncovered: [],
      withoutWay: [],
      isComplete: true,
    });
    expect(found.covered).toHaveLength(14);
  });

  it("bring about what the engine makes: failures, lost outcomes, timers, restarts, and what becomes of others", () => {
    const texts = found.paths.map(({ text }) => text);
    for (const text of [
      "(time), notify failed",
      "order.pay {amount: 10}, charge failed",
      "order.pay {amount: 10}, charge unknown",
      "order.pay {amount: 10}, (restart)",
      "order.pay {amount: 10}, order.stop, charge aborted",
      "order.pay {amount: 10}, order.stop, charge failed (raced)",
      "order.pay {amount: 10}, charge done, parcel/one aside, parcel/one back",
    ])
      expect(
        texts.some((one) => one === text || one.startsWith(`${text}, `)),
        text,
      ).toBe(true);
  });

  it("are the same each time, and none begins another", () => {
    expect(pathsFor(order, options).paths).toEqual(found.paths);
    const ways = found.paths.map(({ moves }) => JSON.stringify(moves));
    expect(ways.filter((way, index) => ways.some((other, at) => at !== index && other.startsWith(way.slice(0, -1))))).toEqual([]);
  });

  it("enter a final state that is left at once, because its parent is done", () => {
    const { states, uncovered } = pathsFor(passing, { input: {}, events: [{ type: "go" }, { type: "on" }] } as never);
    expect([states, uncovered]).toEqual([15, []]);
  });

  it("say which of the states that are left at once are never entered", () => {
    expect(
      pathsFor(passing, { input: {}, events: [{ type: "on" }] } as never).uncovered.filter((what) => what.startsWith("state")),
    ).toEqual(
      [
        "work.z",
        "both",
        "both.left",
        "both.left.a",
        "both.left.z",
        "both.right",
        "both.right.a",
        "both.right.z",
        "brief",
        "end",
        "over",
      ].map((state) => `state passing.${state}`),
    );
  });

  it("take a forbidden transition by sending its event", () => {
    const events = [{ type: "ping" }, { type: "next" }];
    const found = pathsFor(forbidding, { input: {}, events } as never);
    expect(found).toMatchObject({ transitions: 7, uncovered: [] });
    expect(found.paths.map(({ text }) => text)).toContain("next, ping");
    expect(pathsFor(forbidding, { input: {}, events: events.slice(1) } as never).uncovered).toContain(
      "transition forbidding.none: ping -> (stays)",
    );
  });

  it("have a guard with params say yes and no for each of them, also where it is a part of others", () => {
    const put = (...amounts: number[]) => ({ input: {}, events: amounts.map((amount) => ({ type: "put", amount })) }) as never;
    expect(pathsFor(measured, put(0, 3, 10, 11, 1000))).toMatchObject({
      guards: 7,
      uncovered: [
        "guard atLeast of measured.open|put|3 never says yes",
        "transition measured.open: put [atLeast] -> measured.full",
      ].reverse(),
    });
    expect(pathsFor(measured, put(3, 11)).uncovered).toEqual(
      expect.arrayContaining([
        'guard atLeast {"n":1000} never says yes',
        'guard atLeast {"n":1} never says no',
        "guard isOdd never says no",
        "transition measured.open: put [and(atLeast, not(isOdd))] -> measured.half",
      ]),
    );
    expect(pathsFor(measured, put(3, 11)).uncovered).not.toContain('guard atLeast {"n":10} never says yes');
  });

  it("are not looked for where timers of no length lead in a circle", () => {
    expect(() => pathsFor(circling, { input: {}, events: [{ type: "go" }] } as never)).toThrow(
      "machine circling does not come to rest: 1,000 of its timers in a row were due at once, so delays of no length lead in a circle",
    );
  });

  it("take no transition of another input: each input has its own", () => {
    const both = pathsFor(order, { ...options, input: [{ total: 10 }, { total: 9 }] });
    expect(new Set(both.paths.map(({ input }) => JSON.stringify(input))).size).toBe(2);
  });

  it("say which transition and which answer of a guard no variant leads to", () => {
    const { uncovered } = pathsFor(order, { ...options, events: [payLess, ...rest] });
    expect(uncovered).toContain("guard amountFits never says yes");
    expect(uncovered).toContain("transition order.open: order.pay [amountFits] -> order.charging");
    expect(uncovered).toContain("state order.charging");
    expect(pathsFor(order, { ...options, events: [pay, ...rest] }).uncovered).toEqual(["guard amountFits never says no"]);
  });

  it("say which event has no variant", () => {
    expect(pathsFor(order, { ...options, events: [pay] }).withoutWay).toEqual([
      ...["order.stop", "charge.done", "notify.done", "engine.quarantined", "engine.released"],
    ]);
  });

  it("tell which payload they send or give back: by the name of its variant, or by what differs", () => {
    const texts = (events: readonly object[]) => pathsFor(order, { ...options, events: events as never }).paths.map(({ text }) => text);
    const named = texts([{ name: "enough", event: pay }, { name: "too little", event: payLess }, ...rest]);
    expect(named.filter((text) => text === 'order.pay "too little"')).toHaveLength(1);
    expect(named.some((text) => text.startsWith('order.pay "enough", charge done, '))).toBe(true);
    expect(named.some((text) => text.includes("{"))).toBe(false);
    const outcomes = [
      { type: "charge.done", output: 5 },
      { type: "charge.failed", error: { code: "declined", message: "no" } },
    ];
    const other = { type: "charge.failed", error: { code: "lost", message: "no" } };
    const given = texts([pay, ...rest, ...outcomes, other]);
    for (const start of ["charge done {output: 10}", "charge done {output: 5}"])
      expect(given.some((text) => text.startsWith(`order.pay, ${start}, `))).toBe(true);
    for (const end of ['charge failed {error.code: "declined"}', 'charge failed {error.code: "lost"}'])
      expect(given.some((text) => text.startsWith(`order.pay, ${end}`))).toBe(true);
    // Given twice it is one.
    expect(texts([pay, pay, payLess, ...rest])).toEqual(found.paths.map(({ text }) => text));
  });

  it("have names that are unlike each other, whatever their payloads and inputs have in common", () => {
    const long = (end: string) => ({ type: "order.pay", amount: 10, note: `${"x".repeat(100)}${end}` });
    const inputs = [{ total: 10 }, { total: 9 }];
    const machines = [pathsFor(order, { ...options, input: inputs, events: [long("a"), long("b"), ...rest] })];
    machines.push(...EXPLORED.map(({ machine, options }) => pathsFor(machine, options)));
    for (const { paths } of machines) {
      const texts = paths.map(({ text }) => text);
      expect(texts.filter((text, index) => texts.indexOf(text) !== index)).toEqual([]);
    }
    const [both] = machines as [(typeof machines)[0]];
    expect(both.paths.some(({ text }) => text.startsWith("of {total: 9}: "))).toBe(true);
    expect(both.paths.some(({ text }) => text.includes('order.pay {note: "xxxxxxxxxxxxxxxxxxxxxx…} #2'))).toBe(true);
  });

  it("are bounded", () => {
    const few = pathsFor(order, { ...options, limit: 2 });
    expect(few.isComplete).toBe(false);
    expect(Math.max(...few.paths.map(({ moves }) => moves.length))).toBeLessThanOrEqual(2);
    expect(() => pathsFor(order, { ...options, limit: 0 })).toThrow(RangeError);
  });

  it("take for one state what `serialize` does not tell apart", () => {
    const counted = { ...options, serialize: () => "" };
    expect(pathsFor(order, counted).paths.length).toBeLessThan(found.paths.length);
  });

  it("go on from the first of several states that `serialize` does not tell apart", () => {
    const jar = setup({
      schemas: {
        input: z.object({}),
        context: z.object({ paid: z.number() }),
        events: { pay: z.object({}), open: z.object({}) },
        facts: {},
      },
      types: {} as { context: { paid: number } },
      guards: { isFull: ({ context }) => context.paid >= 10 },
    }).createMachine({
      ...{ id: "jar", version: "1", context: { paid: 0 }, initial: "shut" },
      states: {
        shut: {
          on: { pay: { actions: assign({ paid: ({ context }) => context.paid + 5 }) }, open: { guard: "isFull", target: "opened" } },
        },
        opened: { type: "final" },
      },
    });
    const exploredBy = (told: (paid: number) => unknown) =>
      pathsFor(jar, {
        ...{ input: {}, events: [{ type: "pay" }, { type: "open" }] },
        serialize: ({ context }) => JSON.stringify(told(context.paid)),
      });
    expect(exploredBy((paid) => paid >= 10).uncovered).toContain("guard isFull never says yes");
    expect(exploredBy((paid) => Math.min(paid, 10))).toMatchObject({ uncovered: [], isComplete: true });
  });

  it.each([
    [{ type: "order.pay", amount: "much" }, "event_invalid"],
    [{ type: "order.lose" }, "no event order.lose"],
    [{ name: "lost", event: { type: "order.pay", amount: "much" } }, 'the variant "lost" of order.pay is refused as event_invalid'],
    [{ name: "", event: pay }, 'events[0].name is ""; expected a text of 1 to 60 characters'],
    [{ name: "pay" }, "events[0] is an object; expected an event with a type, or { name, event }"],
  ])("refuse the variant %o", (event, message) => {
    expect(() => pathsFor(order, { ...options, events: [event as never] })).toThrow(message);
  });

  it("refuse one name for two variants of a type", () => {
    const events = [pay, payLess].map((event) => ({ name: "same", event }));
    expect(() => pathsFor(order, { ...options, events })).toThrow('two variants of order.pay have the name "same"');
  });
});

describe("the library that finds paths", () => {
  const root = fileURLToPath(new URL("../..", import.meta.url));

  it.each(["src/index.ts", "src/actors.ts"])("is not loaded by %s", (entry) => {
    const loaded = [...reachable(root, entry)].flatMap((path) => sourceFile(root, path).imports.map(({ specifier }) => specifier));
    expect(loaded).not.toContain("@xstate/graph");
    expect(loaded).toContain("xstate");
  });
});
