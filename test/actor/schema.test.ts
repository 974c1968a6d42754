import { describe, expect, it } from "vitest";
import { z } from "zod";
import { checkAgainst } from "../../src/actor/schema.ts";

const OFTEN = 1100;

describe("a schema that is used often", () => {
  it("says of every value what it said before", () => {
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
    expect(JSON.stringify(asked())).toBe(JSON.stringify(first));
  });

  it("may be no schema of zod's", () => {
    const schema = { safeParse: (data: unknown) => ({ success: true, data }) } as unknown as z.ZodType;
    for (let times = 0; times < OFTEN; times++) expect(checkAgainst(schema, times)).toEqual({ ok: true, data: times });
  });
});
