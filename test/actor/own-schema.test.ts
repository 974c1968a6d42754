import { describe, expect, it } from "vitest";
import { z } from "zod";
import { checkOwn, later, own } from "../../src/actor/own-schema.ts";

describe("a schema of the engine's own", () => {
  const schema = own.strictObject({ limit: own.optional(own.int().check(own.minimum(1))) });

  it("gives the value that fits it", () => {
    expect(checkOwn(schema, { limit: 1 })).toEqual({ ok: true, data: { limit: 1 } });
  });

  it("says where a value departs from it, and how", () => {
    const words = "Too small: expected number to be >=1";
    expect(checkOwn(schema, { limit: 0 })).toMatchObject({ ok: false, path: "limit", message: words, issue: { code: "too_small" } });
    expect(checkOwn(schema, [])).toMatchObject({ path: "$", message: "Invalid input: expected object, received array" });
  });

  it("says so in English, whatever language the program has chosen for its own schemas", () => {
    const { localeError } = z.config();
    z.config(z.locales.de());
    try {
      expect(z.string().safeParse(1).error?.issues[0]?.message).toMatch(/^Ungültige Eingabe/);
      expect(checkOwn(schema, 1)).toMatchObject({ message: "Invalid input: expected object, received number" });
    } finally {
      z.config({ localeError });
    }
  });

  it("is made once, when it is first used", () => {
    let made = 0;
    const lazy = later(() => own.literal(++made));
    expect(made).toBe(0);
    expect([lazy(), lazy()]).toEqual([lazy(), lazy()]);
    expect(made).toBe(1);
  });
});
