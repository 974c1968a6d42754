/** Machines whose schemas are of Standard Schema, and not zod's: written by hand, and those of another library. */

import * as Schema from "effect/Schema";
import { describe, expect, expectTypeOf, it } from "vitest";
import { assign, type EmittedFrom, type EventFrom, emit, type InputFrom, setup } from "xstate";
import { z } from "zod";
import type { TypesOf } from "../../machines/infer.ts";
import type { MachineSchemas, StandardResult, StandardSchema } from "../../src/actor/declaration.ts";
import { openEngine } from "../../src/actor/engine.ts";
import { checkMachine } from "../../src/actor/machine-check.ts";
import { entriesOf } from "../../src/actor/page.ts";
import { checkAgainst } from "../../src/actor/schema.ts";
import { memoryStore } from "../../src/store/memory.ts";

/** A schema by hand; `check` gives what is wrong. */
function schemaOf<Output>(check: (value: any) => StandardResult<Output> | Promise<StandardResult<Output>>): StandardSchema<Output> {
  return { "~standard": { version: 1, vendor: "test", validate: check } };
}

/** A record of numbers with these fields. */
function numbers<Field extends string>(...fields: Field[]): StandardSchema<Record<Field, number>> {
  return schemaOf((value) => {
    const wrong = fields.filter((field) => typeof value[field] !== "number");
    if (wrong.length === 0) return { value };
    return { issues: wrong.map((field) => ({ message: "is not a number", path: [field] })) };
  });
}

const anything = schemaOf<object>((value) => ({ value }));

const schemas = {
  input: numbers("start"),
  context: numbers("total"),
  events: {
    "sum.add": numbers("by"),
    "sum.spoil": anything,
    "sum.lie": anything,
    "sum.worked": anything,
  },
  facts: { "sum.added": numbers("total") },
  effects: { work: { params: numbers("by"), done: "sum.worked", delivery: "at_least_once" } },
} satisfies MachineSchemas;

const sum = setup({
  schemas,
  types: {} as TypesOf<typeof schemas>,
  actions: { work: (_, _params: { by: any }) => {} },
}).createMachine({
  id: "sum",
  version: "1",
  context: ({ input }) => ({ total: input.start }),
  initial: "open",
  states: {
    open: {
      on: {
        "sum.add": {
          actions: [
            assign({ total: ({ context, event }) => context.total + event.by }),
            emit(({ context }) => ({ type: "sum.added" as const, total: context.total })),
            { type: "work", params: ({ event }) => ({ by: event.by === 13 ? "13" : event.by }) },
          ],
        },
        "sum.spoil": { actions: assign({ total: () => "much" as never }) },
        "sum.lie": { actions: emit({ type: "sum.added", total: "much" as never }) },
      },
    },
  },
});

async function open() {
  const engine = await openEngine(memoryStore(), { machines: [sum], effects: { work: async () => null } });
  return { engine, actor: await engine.create(sum, "a", { input: { start: 1 } }) };
}

describe("a machine with schemas of no library", () => {
  it("has no problem", () => {
    expect(checkMachine(sum)).toEqual([]);
  });

  it("takes what fits them", async () => {
    const { engine, actor } = await open();
    await using _ = engine;
    expect(await actor.send({ type: "sum.add", by: 2 })).toMatchObject({ kind: "accepted", seq: 2 });
    expect([...entriesOf(engine.reader, "sum/a")].at(-1)?.facts).toBe('[{"type":"sum.added","total":3}]');
    expect(actor.getSnapshot().context).toEqual({ total: 3 });
  });

  it("refuses what does not, with the path", async () => {
    const { engine, actor } = await open();
    await using _ = engine;
    expect(await actor.send({ type: "sum.add", by: "2" } as never)).toMatchObject({
      ...{ kind: "refused", code: "event_invalid" },
      message: "sum.add does not fit its schema: by is not a number",
    });
    await expect(engine.create(sum, "b", { input: {} as never })).rejects.toMatchObject({
      code: "input_invalid",
      details: { path: "start" },
    });
    await expect(actor.send({ type: "sum.spoil" })).rejects.toMatchObject({ code: "context_invalid" });
    await expect(actor.send({ type: "sum.lie" })).rejects.toMatchObject({ code: "fact_invalid" });
    await expect(actor.send({ type: "sum.add", by: 13 })).rejects.toMatchObject({ code: "action_invalid" });
  });

  it("has the types that they say", () => {
    expectTypeOf<EventFrom<typeof sum>>().toEqualTypeOf<
      { type: "sum.add"; by: number } | { type: "sum.spoil" } | { type: "sum.lie" } | { type: "sum.worked" }
    >();
    expectTypeOf<EmittedFrom<typeof sum>>().toEqualTypeOf<{ type: "sum.added"; total: number }>();
    expectTypeOf<InputFrom<typeof sum>>().toEqualTypeOf<{ start: number }>();
    // @ts-expect-error: the event's field is a number
    const wrong: EventFrom<typeof sum> = { type: "sum.add", by: "1" };
    expect(wrong).toMatchObject({ by: "1" });
  });
});

describe("a schema", () => {
  it("of another library is taken as it is, with its paths and types", () => {
    const page = Schema.toStandardSchemaV1(Schema.Struct({ page: Schema.Struct({ size: Schema.Number }) }));
    expectTypeOf(page).toExtend<StandardSchema<{ readonly page: { readonly size: number } }>>();
    expect(checkAgainst(page, { page: { size: 1 } })).toEqual({ ok: true, data: { page: { size: 1 } } });
    expect(checkAgainst(page, { page: { size: "1" } })).toMatchObject({ ok: false, path: "page.size" });
  });

  it("may be a function, and may give another value than it got", () => {
    const schema = Object.assign(
      () => {},
      schemaOf((value: string) => ({ value: value.trim() })),
    );
    expect(checkAgainst(schema, " a ")).toEqual({ ok: true, data: "a" });
    const machine = setup({ schemas: { ...schemas, context: schema } as never }).createMachine({ id: "odd", version: "1" });
    expect(checkMachine(machine as never)).toEqual([]);
  });

  it("may name the parts of a path by objects, or none", () => {
    const issues = [{ message: "is wrong", path: [{ key: "a" }, 0, { key: Symbol.for("b") }] }, { message: "is worse" }];
    expect(
      checkAgainst(
        schemaOf(() => ({ issues })),
        1,
      ),
    ).toEqual({ ok: false, path: "a.0.Symbol(b)", message: "is wrong" });
    expect(
      checkAgainst(
        schemaOf(() => ({ issues: [] })),
        1,
      ),
    ).toEqual({ ok: false, path: "$", message: "is invalid" });
  });

  it.each([
    ["answers", async () => ({ value: 1 })],
    ["fails", () => Promise.reject(new Error("later"))],
  ])("that %s later fits nothing, and ends no process", async (_, check) => {
    const left: unknown[] = [];
    const note = (reason: unknown) => left.push(reason);
    process.on("unhandledRejection", note);
    expect(checkAgainst(schemaOf(check), 1)).toMatchObject({ ok: false, path: "$", message: expect.stringContaining("later") });
    // Node tells of what nobody handles after its microtasks.
    await new Promise(setImmediate);
    process.off("unhandledRejection", note);
    expect(left).toEqual([]);
  });

  it("that throws fits nothing", () => {
    const schema = schemaOf(() => {
      throw new Error("no");
    });
    expect(checkAgainst(schema, 1)).toEqual({ ok: false, path: "$", message: "the schema threw: no" });
  });

  it.each([
    ["is nothing", undefined],
    ["is text", "schema"],
    ["has no validate", { "~standard": { version: 1, vendor: "test" } }],
    ["is of another version", { "~standard": { version: 2, vendor: "test", validate: () => ({ value: 1 }) } }],
  ])("that %s is none", (_, context) => {
    const machine = setup({ schemas: { ...schemas, context } as never }).createMachine({ id: "odd", version: "1" });
    expect(checkMachine(machine as never).map(({ path }) => path)).toEqual(["schemas.context"]);
  });

  it("of another library is asked by the standard, also where it has a `safeParse` of its own", () => {
    const schema = { ...schemaOf((value) => ({ value })), safeParse: () => "something else" };
    expect(checkAgainst(schema, 1)).toEqual({ ok: true, data: 1 });
  });

  it("of zod keeps its words", () => {
    const schema = z.strictObject({ a: z.int() });
    expect(checkAgainst(schema, { a: "1" })).toEqual({ ok: false, path: "a", message: "Invalid input: expected number, received string" });
  });
});
