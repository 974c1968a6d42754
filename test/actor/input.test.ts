import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openEngine } from "../../src/actor/engine.ts";
import { make, open, place, rejection, STORES } from "./counter.ts";
import { schemas, thing } from "./thing.ts";

describe("a field `stamp`", () => {
  const loose = z.looseObject({});
  const machine = thing({ on: { go: {} } }, { schemas: { input: loose, events: { ...schemas.events, go: loose } } });
  const stamp = { at: 1, seq: 1, id: "mine" };

  it("is refused in an input, for the engine's own takes its place", async () => {
    const engine = await openEngine(place().store, { machines: [machine] });
    const error = await rejection(engine.create(machine, "a", { input: { stamp } as never }));
    expect(error).toMatchObject({ code: "input_invalid", details: { path: "stamp" } });
    await engine.close();
  });

  it("is refused in an event from outside", async () => {
    const engine = await openEngine(place().store, { machines: [machine] });
    const actor = await engine.create(machine, "a", { input: {} });
    const answer = await actor.send({ type: "go", stamp } as never);
    expect(answer).toMatchObject({ kind: "refused", code: "event_invalid", path: "stamp" });
    expect(actor.can({ type: "go", stamp } as never)).toBe(false);
    await engine.close();
  });

  it("is refused in what another actor delivers, and where a schema adds it", async () => {
    const adding = thing({ id: "adding" }, { schemas: { events: { go: z.strictObject({}).transform(() => ({ stamp })) } } });
    const teller = thing(
      { id: "teller", on: { go: { actions: { type: "deliver", params: { to: "thing/a", event: { type: "go", stamp } } } } } },
      {},
    );
    const engine = await openEngine(place().store, { machines: [machine, adding, teller] });
    await engine.create(machine, "a", { input: {} });
    const told = await engine.create(teller, "b", { input: {} });
    expect(await rejection(told.send({ type: "go" } as never))).toMatchObject({ code: "action_invalid" });
    const added = await engine.create(adding, "c", { input: {} });
    expect(await added.send({ type: "go" } as never)).toMatchObject({ code: "event_invalid", path: "stamp" });
    await engine.close();
  });
});

describe.each(STORES)("a page (%s)", (kind) => {
  it.each<[string, unknown]>([
    ["page.limit", { limit: 0 }],
    ["page.limit", { limit: 1001 }],
    ["page.limit", { limit: 1.5 }],
    ["page.limit", { limit: Number.NaN }],
    ["page.limit", { limit: "5" }],
    ["page.after", { after: -1 }],
    ["page.after", { after: Number.POSITIVE_INFINITY }],
    ["page", null],
    ["page", 5],
  ])("out of its bounds is refused at %s: %j", async (path, page) => {
    const engine = await open(place(kind).store);
    for (const list of ["list", "effects", "timers", "deadLetters"] as const)
      expect(() => engine[list]({}, page as never)).toThrow(expect.objectContaining({ code: "input_invalid", details: { path } }));
  });

  it("at its bounds is given, and one without bounds has 100 rows from the first", async () => {
    const engine = await open(place(kind).store);
    await Promise.all(Array.from({ length: 101 }, (_, index) => make(engine, `${index}`)));
    const [first, second] = engine.list({}, { limit: 1000 });
    expect(engine.list()).toHaveLength(100);
    expect(engine.list({}, { limit: undefined as never, after: 0 })).toHaveLength(100);
    expect(engine.list({}, { after: first?.ordinal ?? 0, limit: 1 })).toEqual([second]);
  });
});
