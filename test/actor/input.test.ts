import { describe, expect, it } from "vitest";
import { z } from "zod";
import { effect } from "../../machines/action.ts";
import { openEngine } from "../../src/actor/engine.ts";
import type { HoldfastError } from "../../src/actor/error.ts";
import { actorAddress, checkEvent, checkKeys, checkPage, ID_LIMIT, idOf, machineOf, parseInput } from "../../src/actor/input.ts";
import { PAYLOAD_LIMIT } from "../../src/actor/journal.ts";
import { register } from "../../src/actor/registration.ts";
import { make, open, place, rejection, STORES } from "./counter.ts";
import { schemas, thing } from "./thing.ts";

/** Where what is given is refused; undefined where it is taken. */
function refusedAt(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    const { code, details } = error as HoldfastError;
    return [code, details];
  }
  return undefined;
}

describe("an id", () => {
  it.each(["a", "a/b", "ä ö", "x".repeat(ID_LIMIT), "\u{1f600}"])("may be %j", (id) => {
    expect(actorAddress("thing", id)).toBe(`thing/${id}`);
  });

  it.each(["", " a", "a ", "a\nb", "\u0000", "\ud800", "x".repeat(ID_LIMIT + 1), 5, undefined])("may not be %j", (id) => {
    expect(refusedAt(() => actorAddress("thing", id as string))).toEqual(["input_invalid", { path: "id" }]);
  });

  it("ends an address, and may have slashes of its own", () => {
    expect([machineOf("thing/a/b"), idOf("thing/a/b")]).toEqual(["thing", "a/b"]);
  });
});

describe("keys", () => {
  it("are what was given, as a list of their own", () => {
    const keys = ["a", " b\n", "x".repeat(2 * ID_LIMIT)];
    const checked = checkKeys(keys);
    expect(checked).toEqual(keys);
    expect(checked).not.toBe(keys);
  });

  it.each<[unknown, string]>([
    ["a", "keys"],
    [{ length: 1, 0: "a" }, "keys"],
    [["a", 5], "keys.1"],
    [["a", ""], "keys.1"],
    [["x".repeat(2 * ID_LIMIT + 1)], "keys.0"],
    [["\ud800"], "keys.0"],
    [["a", "b", "a"], "keys"],
  ])("may not be %j: it is refused at %s", (keys, path) => {
    expect(refusedAt(() => checkKeys(keys as string[]))).toEqual(["input_invalid", { path }]);
  });
});

it("a page has what was asked for, and by default 100 rows from the first", () => {
  expect([checkPage({}), checkPage({ after: 7, limit: 1 }), checkPage({ limit: 1000 })]).toEqual([
    { after: 0, limit: 100 },
    { after: 7, limit: 1 },
    { after: 0, limit: 1000 },
  ]);
});

describe("an input", () => {
  const withInput = (input: z.ZodType) => register(thing({}, { schemas: { input } }));

  it("is what its schema makes of it, as a copy", () => {
    const list = [1];
    const parsed = parseInput(withInput(z.object({ list: z.any(), n: z.number().default(2) })), { list });
    list.push(3);
    expect(parsed).toEqual({ list: [1], n: 2 });
  });

  it.each<[string, z.ZodType, unknown, string]>([
    ["is not plain JSON", z.any(), { at: new Date(0) }, "$.at"],
    ["does not fit", z.object({ n: z.number() }), { n: "1" }, "n"],
    ["is not plain JSON after its schema", z.any().transform(() => ({ at: new Date(0) })), {}, "$.at"],
    ["is nothing after its schema", z.any().transform(() => undefined), {}, "$"],
    ["is null", z.any(), null, "$"],
    ["is text", z.any(), "text", "$"],
    ["is a list", z.any(), [], "$"],
    ["has the engine's stamp", z.any(), { stamp: 1 }, "stamp"],
    ["has the engine's stamp after its schema", z.any().transform(() => ({ stamp: 1 })), {}, "stamp"],
    ["has the engine's stamp, which its schema takes away", z.any().transform(() => ({})), { stamp: 1 }, "stamp"],
  ])("that %s is refused with its machine and the path", (_, schema, input, path) => {
    expect(refusedAt(() => parseInput(withInput(schema), input))).toEqual(["input_invalid", { machine: "thing", path }]);
  });
});

describe("an event", () => {
  const { events } = schemas;
  const odd = { "odd.list": z.any(), "odd.date": z.any().transform(() => ({ at: new Date(0) })), "odd.few": z.object({ n: z.number() }) };
  const stamping = { "odd.stamp": z.any().transform(() => ({ stamp: 1 })), "odd.unstamp": z.any().transform(() => ({})) };
  const registration = register(
    thing(
      { initial: "one", states: { one: { entry: "job" } } },
      {
        schemas: {
          events: { ...events, ...odd, ...stamping, "engine.reopened": z.any(), xstate: z.any(), "my.effect.x": z.any() },
          effects: { job: { params: z.any(), done: "job.done", delivery: "at_least_once" } },
        },
        actions: { job: effect() },
      },
    ),
  );
  const asked = (event: unknown, from: "outside" | "delivery" | "engine" = "outside") => checkEvent(registration, event as never, from);

  it("that fits is taken, with its text, as a copy", () => {
    const list = [1];
    const checked = asked({ type: "odd.list", list });
    list.push(2);
    expect(checked).toEqual({ ok: true, event: { type: "odd.list", list: [1] }, text: '{"list":[1],"type":"odd.list"}' });
  });

  it("has the type that it was given, whatever its schema makes of it", () => {
    const typed = register(thing({}, { schemas: { events: { go: z.any().transform(() => ({ type: "other" })) } } }));
    expect(checkEvent(typed, { type: "go" }, "outside")).toMatchObject({ ok: true, event: { type: "go" } });
  });

  it.each<[string, unknown, object]>([
    ["is nothing", undefined, { code: "event_invalid" }],
    ["is null", null, { code: "event_invalid" }],
    ["is text", "go", { code: "event_invalid" }],
    ["has no type", {}, { code: "event_invalid" }],
    ["has a type that is no text", { type: 5 }, { code: "event_invalid" }],
    ["nobody declares", { type: "lost" }, { code: "event_unknown" }],
    ["is called as what every object has", { type: "constructor" }, { code: "event_unknown" }],
    ["is XState's", { type: "xstate.init" }, { code: "event_reserved" }],
    ["is the engine's", { type: "engine.reopened" }, { code: "event_reserved" }],
    ["is of effects", { type: "effect.unknown" }, { code: "event_reserved" }],
    ["is an effect's outcome", { type: "job.done" }, { code: "event_reserved" }],
    ["does not fit", { type: "odd.few", n: "1" }, { code: "event_invalid", path: "n" }],
    ["is not plain JSON", { type: "odd.list", at: new Date(0) }, { code: "event_invalid", path: "$.at" }],
    ["is not plain JSON after its schema", { type: "odd.date" }, { code: "event_invalid", path: "$.at" }],
    ["has the engine's stamp", { type: "odd.list", stamp: 1 }, { code: "event_invalid", path: "stamp" }],
    ["has the engine's stamp, which its schema takes away", { type: "odd.unstamp", stamp: 1 }, { code: "event_invalid", path: "stamp" }],
    ["has the engine's stamp after its schema", { type: "odd.stamp" }, { code: "event_invalid", path: "stamp" }],
  ])("that %s is refused", (_, event, refusal) => {
    expect(asked(event)).toMatchObject({ ok: false, ...refusal });
    expect(asked(event, "delivery")).toMatchObject({ ok: false, ...refusal });
  });

  it("of the engine may be of a reserved type, and may have a stamp", () => {
    const from = (event: object) => asked(event, "engine");
    expect([from({ type: "job.done" }), from({ type: "engine.reopened", stamp: 1 }), from({ type: "odd.stamp" })]).toMatchObject(
      Array(3).fill({ ok: true }),
    );
  });

  it("whose type is only like a reserved one is taken", () => {
    expect([asked({ type: "xstate" }), asked({ type: "my.effect.x" })]).toMatchObject([{ ok: true }, { ok: true }]);
  });

  it("is as large as its text, up to a limit", () => {
    const room = PAYLOAD_LIMIT - '{"text":"","type":"odd.list"}'.length;
    const of = (length: number) => asked({ type: "odd.list", text: "x".repeat(length) });
    expect(of(room)).toMatchObject({ ok: true });
    expect(of(room + 1)).toMatchObject({ ok: false, code: "event_invalid", path: "$" });
  });
});

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
