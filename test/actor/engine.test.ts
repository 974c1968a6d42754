import { describe, expect, it } from "vitest";
import { type Engine, openEngine } from "../../src/actor/engine.ts";
import { counter, counterOf, handlers, make, open, place, rejection, STORES } from "./counter.ts";
import { held } from "./held.ts";
import { makeTimed, openTimed, settableClock } from "./timed.ts";

describe.each(STORES)("an engine (%s)", (kind) => {
  it("is handed over before its recovery starts a handler", async () => {
    const { store } = place(kind);
    const first = await open(store, { start: false });
    await (await make(first)).send({ type: "work.start", by: 1 });
    await first.close();
    const work = held();
    const calls: number[] = [];
    let handed: Engine | undefined;
    const options = { machines: [counter], effects: { ...handlers, work: work.handler }, closeGraceMs: 0 };
    const engine = await openEngine(store, options, (made) => {
      handed = made;
      calls.push(work.calls.length);
    });
    await work.called(1);
    expect([handed === engine, calls]).toEqual([true, [0]]);
    await engine.close();
  });

  it("waits for no timer once it is closed", async () => {
    const clock = settableClock();
    const engine = await openTimed(place(kind).store, clock);
    await makeTimed(engine, "a", { type: "absolute" });
    expect(clock.waiting).toBe(1);
    await engine.close();
    expect(clock.waiting).toBe(0);
  });

  it("waits for no timer once another process owns its root", async () => {
    const { store } = place(kind);
    const clock = settableClock();
    const engine = await openTimed(store, clock);
    const actor = await makeTimed(engine, "a", { type: "absolute" });
    store.beginEpoch(clock.now());
    expect(await actor.send({ type: "note" } as never)).toMatchObject({ kind: "refused", code: "not_owner" });
    expect(clock.waiting).toBe(0);
  });

  it("says which actor or effect it refuses something for", async () => {
    const engine = await open(place(kind).store);
    await make(engine);
    expect(await rejection(make(engine, "a", 1))).toMatchObject({ code: "actor_exists", details: { actor: "counter/a" } });
    expect(await rejection(engine.release("counter/a"))).toMatchObject({ details: { subject: "counter/a" } });
    expect(await rejection(engine.retry("counter/a:9:0"))).toMatchObject({ details: { subject: "counter/a:9:0" } });
  });

  it("knows the machines that it was given, and no others of their names", async () => {
    const engine = await open(place(kind).store);
    await make(engine);
    const other = counterOf("1");
    expect(() => engine.get(other, "a")).toThrow(expect.objectContaining({ code: "machine_unknown" }));
    expect(await rejection(engine.create(other, "b", { input: { start: 0 } }))).toMatchObject({ code: "machine_unknown" });
    expect(engine.get(counter, "none")).toBeUndefined();
  });
});
