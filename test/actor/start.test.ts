import { describe, expect, it, onTestFinished } from "vitest";
import { openEngine } from "../../src/actor/engine.ts";
import type { Store } from "../../src/actor/store.ts";
import { type FaultPoints, faultPoints, type SimulatedClock, simulatedClock } from "../../src/testing/index.ts";
import { order, orderOf } from "../cli/order.ts";
import { journal, place, STORES } from "./counter.ts";
import { committed } from "./held.ts";

const KEY = "order/a:2:1";

/** An engine that only acts. */
async function acting(store: Store, clock: SimulatedClock, machine = order) {
  const engine = await openEngine(store, { machines: [machine], clock, start: false });
  onTestFinished(() => engine.close());
  return engine;
}

/** A store with an order whose charge is exhausted, one with a timer, and one whose label was never begun. */
async function past(store: Store, clock: SimulatedClock, charge: () => Promise<string>, { probe }: FaultPoints = faultPoints()) {
  const effects = { charge, parcel: async () => "p", label: async () => null };
  const engine = await openEngine(store, { machines: [order], clock, effects, probe, closeGraceMs: 0 });
  onTestFinished(() => engine.close());
  return engine;
}

const declined = () => Promise.reject(Object.assign(new Error("no"), { retryable: false }));

describe.each(STORES)("an engine that only acts, on the %s store", (kind) => {
  it("needs no handlers, starts none, fires no timer, and leaves what it opened to the next owner", async () => {
    const { store } = place(kind);
    const clock = simulatedClock();
    const points = faultPoints();
    const first = await past(store, clock, declined, points);
    const charged = await first.create(order, "a", { input: { total: 1 } });
    await charged.send({ type: "order.pay" });
    await committed(points, () => first.effects({ state: "exhausted" }).length === 1);
    await first.create(order, "b", { input: { total: 1 } });
    await first.close();

    const engine = await acting(store, clock);
    await engine.retry(KEY);
    expect(engine.effects()).toMatchObject([{ key: KEY, state: "open", error: null }]);
    // The timer is due now, and is for an owner that starts things.
    clock.advance(4 * 86_400_000);
    expect(engine.get(order, "b")?.getSnapshot().value).toBe("open");
    expect(journal(engine, "order/b")).toHaveLength(1);
    await engine.close();

    let charges = 0;
    const next = await past(store, clock, async () => `receipt ${++charges}`);
    const paid = await next.get(order, "a")?.waitFor((snapshot) => snapshot.matches("paid"));
    expect(paid?.context.receipt).toBe("receipt 1");
    await next.get(order, "b")?.waitFor((snapshot) => snapshot.matches("cancelled"));
    expect(next.verify().faults).toEqual([]);
  });

  it("takes a result by hand, and the effects of what follows stay open", async () => {
    const { store } = place(kind);
    const clock = simulatedClock();
    const points = faultPoints();
    const first = await past(store, clock, declined, points);
    await (await first.create(order, "a", { input: { total: 1 } })).send({ type: "order.pay" });
    await committed(points, () => first.effects({ state: "exhausted" }).length === 1);
    await first.close();
    const engine = await acting(store, clock);
    await engine.resolve(KEY, { output: "by hand" });
    expect(engine.get(order, "a")?.getSnapshot().value).toBe("paid");
    expect(engine.effects()).toMatchObject([{ name: "label", state: "open" }]);
    expect(engine.verify().faults).toEqual([]);
  });

  it("migrates nobody but those that it acts on", async () => {
    const { store } = place(kind);
    const clock = simulatedClock();
    const points = faultPoints();
    const first = await past(store, clock, declined, points);
    for (const id of ["a", "b"]) await (await first.create(order, id, { input: { total: 1 } })).send({ type: "order.pay" });
    await committed(points, () => first.effects({ state: "exhausted" }).length === 2);
    await first.close();
    const second = orderOf("2", { "1": { to: "2", migrate: (stored) => stored } });
    const engine = await acting(store, clock, second as typeof order);
    await engine.resolve(KEY, { output: "by hand" });
    expect(store.actor("order/a")).toMatchObject({ version: "2", state: "paid" });
    expect(store.actor("order/b")).toMatchObject({ version: "1", state: "charging" });
  });
});
