import { describe, expect, it, test } from "vitest";
import type { AnyStateMachine } from "xstate";
import { type ExerciseOptions, exerciseMachine } from "../../src/testing/index.ts";
import { orderOf, parcel } from "./order.ts";

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

const done = exerciseMachine(order, { ...options, crashes: 40, faults: 8 }, { describe, test });

/** The tests that fail, with what they say. */
async function failing(machine: AnyStateMachine, given: ExerciseOptions): Promise<Record<string, string>> {
  const tests: [string, () => Promise<void>][] = [];
  exerciseMachine(machine, given, { describe: (_, body) => body(), test: (name, body) => void tests.push([name, body]) });
  const failed: Record<string, string> = {};
  for (const [name, body] of tests) await body().catch((error: Error) => (failed[name] = error.message));
  return failed;
}

const few = { ...options, paths: 1, crashes: 0, faults: 0 } as ExerciseOptions;

describe("the proof of a machine", () => {
  it("runs each path, crashes and failing stores", () => {
    expect(done.paths).toBe(done.found.paths.length);
    expect(done.transitions.size).toBe(14);
    expect(done.crashes).toBeGreaterThan(30);
    expect(done.faults).toBeGreaterThan(10);
  });

  it("fails where an event has no way to happen, and says which", async () => {
    const failed = await failing(order, { ...few, events: events.filter(({ type }) => type !== "order.stop") });
    expect(failed["has a way for each of its events to happen"]).toContain("order.stop");
  });

  it("fails where a transition is not covered, and says which, unless it need not be", async () => {
    const without = { ...few, events: events.filter(({ amount }) => amount !== 9) };
    const [promise = "", message] = Object.entries(await failing(order, without))[0] ?? [];
    expect(promise).toMatch(/^has paths that cover all/);
    expect(message).toContain("guard amountFits never says no");
    expect(await failing(order, { ...without, uncovered: ["guard amountFits never says no"] })).toEqual({});
  });

  it("fails where the engine does not do what the machine says: a rule that is not the same each time", async () => {
    let asked = 0;
    const failed = await failing(
      orderOf(({ context, event }) => event.amount === context.total && asked++ % 2 === 0),
      few,
    );
    expect(Object.keys(failed).some((name) => name.startsWith("path "))).toBe(true);
  });

  it("fails with what the machine or its input is refused for", async () => {
    expect(Object.values(await failing(order, { ...few, input: { total: "much" } }))[0]).toContain("total");
  });
});
