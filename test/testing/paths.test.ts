import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type PathOptions, pathsFor } from "../../src/testing/index.ts";
import { reachable, sourceFile } from "../../tools/architecture/scan.ts";
import { orderOf } from "./order.ts";

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
      "order.pay, charge failed",
      "order.pay, charge unknown",
      "order.pay, (restart)",
      "order.pay, order.stop, charge aborted",
      "order.pay, order.stop, charge failed (raced)",
      "order.pay, charge done, parcel/one aside, parcel/one back",
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

  it.each([
    [{ type: "order.pay", amount: "much" }, "event_invalid"],
    [{ type: "order.lose" }, "no event order.lose"],
  ])("refuse the variant %o", (event, message) => {
    expect(() => pathsFor(order, { ...options, events: [event] })).toThrow(message);
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
