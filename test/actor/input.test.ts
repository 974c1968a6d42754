import { describe, expect, it } from "vitest";
import { make, open, place, STORES } from "./counter.ts";

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
