import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { checkAgainst, firstIssue, isSchema } from "../../src/actor/schema.ts";

const OFTEN = 1100;

/** Resolves when a value that fits is not held against the schema itself any more, but against what was compiled of it. */
async function compiled(schema: z.ZodType, fitting: unknown): Promise<void> {
  const run = vi.spyOn(schema._zod, "run");
  await expect.poll(() => run.mockClear() && checkAgainst(schema, fitting).ok && run.mock.calls.length).toBe(0);
}

describe("a schema that is used often", () => {
  it("says of every value what it said before", async () => {
    const schema = z.strictObject({ id: z.string().min(1), kind: z.enum(["a", "b"]).nullable(), at: z.array(z.number()).optional() });
    const values = [
      { id: "x", kind: "a", at: [1] },
      { kind: null, id: "y" },
      { id: "", kind: "a" },
      { id: "x", kind: "a", at: ["1"] },
      { id: "x" },
      7,
    ];
    const asked = () => values.map((value) => checkAgainst(schema, value));
    const first = asked();
    for (let times = 0; times < OFTEN; times++) checkAgainst(schema, values[0]);
    expect(asked()).toEqual(first);
    await compiled(schema, values[0]);
    expect(asked()).toEqual(first);
    expect(JSON.stringify(asked())).toBe(JSON.stringify(first));
  });

  /** True where a value is still held against the schema itself, when all that was under way is done. */
  async function isAsked(schema: z.ZodType, times: number): Promise<boolean> {
    for (let time = 0; time < times; time++) checkAgainst(schema, "a");
    await import("zod/v4/core");
    await new Promise(setImmediate);
    const run = vi.spyOn(schema._zod, "run");
    expect(checkAgainst(schema, "a").ok).toBe(true);
    return run.mock.calls.length > 0;
  }

  it("is not compiled before", async () => {
    expect(await isAsked(z.string(), 900)).toBe(true);
  });

  it("is not compiled where another copy of zod has made it", async () => {
    const schema = z.string();
    Object.defineProperty(schema._zod, "version", { value: { ...schema._zod.version } });
    expect(await isAsked(schema, OFTEN)).toBe(true);
  });

  it("may be no schema of zod's", () => {
    const schema = { safeParse: (data: unknown) => ({ success: true, data }) } as unknown as z.ZodType;
    for (let times = 0; times < OFTEN; times++) expect(checkAgainst(schema, times)).toEqual({ ok: true, data: times });
  });
});

describe("a value", () => {
  const standard = { version: 1, vendor: "mine", validate: (value: unknown) => ({ value }) };

  it.each<[string, unknown]>([
    ["of zod", z.string()],
    ["of Standard Schema", { "~standard": standard }],
    ["that is a function", Object.assign(() => {}, { "~standard": standard })],
    ["of a copy of zod that knows no standard", { safeParse: () => ({ success: true }) }],
  ])("%s is a schema", (_, value) => {
    expect(isSchema(value)).toBe(true);
  });

  it.each<[string, unknown]>([
    ["that is absent", undefined],
    ["that is null", null],
    ["that is text", "string"],
    ["of nothing", {}],
    ["of no standard", { "~standard": null }],
    ["of another version", { "~standard": { ...standard, version: 2 } }],
    ["that cannot be asked", { "~standard": { ...standard, validate: true } }],
    ["that only has what zod has", { safeParse: true }],
    ["of another library with a part of zod's name", { safeParse: () => {}, "~standard": { vendor: "mine" } }],
  ])("%s is none", (_, value) => {
    expect(isSchema(value)).toBe(false);
  });
});

it("a schema of zod says where a value departs from it, also deep in it, and where it does not say", () => {
  expect(checkAgainst(z.object({ a: z.array(z.number()) }), { a: ["1"] })).toMatchObject({ ok: false, path: "a.0" });
  expect(checkAgainst(z.number(), "1")).toMatchObject({ ok: false, path: "$" });
  expect(firstIssue({ issues: [] } as unknown as z.ZodError)).toEqual({ path: "$", message: "is invalid" });
});
