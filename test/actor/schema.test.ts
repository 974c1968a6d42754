import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { checkAgainst } from "../../src/actor/schema.ts";

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

  it("may be no schema of zod's", () => {
    const schema = { safeParse: (data: unknown) => ({ success: true, data }) } as unknown as z.ZodType;
    for (let times = 0; times < OFTEN; times++) expect(checkAgainst(schema, times)).toEqual({ ok: true, data: times });
  });
});
