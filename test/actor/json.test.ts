import { describe, expect, it } from "vitest";
import { canonical, copyOf, differenceAt, frozen, hasNegativeZero, JSON_DEPTH, notJson, plainCopy, sha256 } from "../../src/actor/json.ts";

/** A value inside this many lists and objects, by turns. */
function nested(levels: number, value: unknown = 1): unknown {
  let whole = value;
  for (let level = 0; level < levels; level++) whole = level % 2 === 0 ? [whole] : { in: whole };
  return whole;
}

class Point {
  readonly x = 1;
}

const circle: Record<string, unknown> = {};
circle.self = circle;

describe("plain JSON", () => {
  it.each<[string, unknown]>([
    ["null", null],
    ["true", true],
    ["a text", "text, and ü"],
    ["an empty text", ""],
    ["a number", -1.5],
    ["an empty list", []],
    ["a list", [1, [null]]],
    ["an empty object", {}],
    ["an object", { a: { b: [true] } }],
    ["an object without a prototype", Object.assign(Object.create(null), { a: 1 })],
    ["a key that objects have by themselves", JSON.parse('{"__proto__":1}')],
    ["lists and objects as deep as the bound", nested(JSON_DEPTH)],
  ])("is %s", (_, value) => {
    expect(notJson(value)).toBeUndefined();
  });

  it.each<[string, unknown, string]>([
    ["undefined", undefined, "$"],
    ["a function", () => 1, "$"],
    ["a symbol", Symbol("s"), "$"],
    ["a large integer", 1n, "$"],
    ["half a character", "\ud800", "$"],
    ["no number", Number.NaN, "$"],
    ["an infinite number", Number.NEGATIVE_INFINITY, "$"],
    ["a date", new Date(0), "$"],
    ["an object of a class", new Point(), "$"],
    ["a list of a class", new (class extends Array<number> {})(), "$"],
    ["bytes", new Uint8Array(1), "$"],
    ["a list with a hole", Object.assign([1], { length: 2 }), "$"],
    ["a list with more than its items", Object.assign([1], { index: 0 }), "$"],
    ["a list with a hole and more than its items", Object.assign([], { 1: 1, index: 0 }), "$.0"],
    ["a list with what is none", [1, [2, undefined]], "$.1.1"],
    ["an object with what is none", { a: 1, b: { c: undefined } }, "$.b.c"],
    ["what refers to itself", circle, `$${".self".repeat(JSON_DEPTH)}`],
  ])("is not %s, and the path says where", (_, value, path) => {
    expect(notJson(value)).toBe(path);
  });

  it("is not one level deeper than the bound", () => {
    expect(notJson(nested(JSON_DEPTH + 1))?.split(".")).toHaveLength(JSON_DEPTH + 1);
  });

  it("is named by the path that is given for the whole", () => {
    expect(notJson({ a: 1n }, "output")).toBe("output.a");
  });
});

describe("two plain JSON values", () => {
  it.each<[unknown, unknown]>([
    [1, 1],
    [0, -0],
    [-0, 0],
    ["a", "a"],
    [null, null],
    [
      [1, 2],
      [1, 2],
    ],
    [
      { a: 1, b: [2] },
      { b: [2], a: 1 },
    ],
  ])("are the same: %j and %j", (one, other) => {
    expect(differenceAt(one, other)).toBeUndefined();
  });

  it.each<[unknown, unknown, string]>([
    [1, 2, "$"],
    [0, 1, "$"],
    [1, 0, "$"],
    [0, null, "$"],
    [1, "1", "$"],
    [null, {}, "$"],
    [{}, null, "$"],
    [{}, 1, "$"],
    [1, {}, "$"],
    [{ a: 1 }, {}, "$.a"],
    [{}, { a: 1 }, "$.a"],
    [{ a: { b: [1, 2] } }, { a: { b: [1, 3] } }, "$.a.b.1"],
    [[1], [1, 2], "$.1"],
    [{ toString: 1 }, {}, "$.toString"],
  ])("differ: %j and %j", (one, other, path) => {
    expect(differenceAt(one, other)).toBe(path);
  });
});

describe("a copy", () => {
  it("shares nothing with what it was made of", () => {
    const value = { list: [{ a: 1 }] };
    for (const copy of [copyOf(value), plainCopy(value)]) {
      expect(copy).toEqual(value);
      expect([copy === value, copy.list === value.list, copy.list[0] === value.list[0]]).toEqual([false, false, false]);
    }
  });

  it("of what is not plain JSON is left to be refused", () => {
    const value = { at: new Date(0) };
    expect(plainCopy(value)).toBe(value);
  });
});

describe("a negative zero", () => {
  it.each<[unknown, boolean]>([
    [-0, true],
    [[1, { a: -0 }], true],
    [0, false],
    [null, false],
    [["-0", { a: 0, b: null }], false],
  ])("is found wherever it stands (%#)", (value, found) => {
    expect(hasNegativeZero(value)).toBe(found);
  });
});

describe("a frozen value", () => {
  it("is itself, to its depths", () => {
    const value = { a: [{ b: null }], c: "text" };
    expect(frozen(value)).toBe(value);
    expect([value, value.a, value.a[0]].map(Object.isFrozen)).toEqual([true, true, true]);
  });

  it("is frozen below what somebody froze at its surface", () => {
    const value = Object.freeze({ a: { b: 1 } });
    expect(Object.isFrozen(frozen(value).a)).toBe(true);
  });

  it("may be one that nothing can change", () => {
    expect([frozen(null), frozen("text"), frozen(1)]).toEqual([null, "text", 1]);
  });
});

it("equal values have one canonical text and one digest", () => {
  const texts = [{ b: 1, a: [null] }, JSON.parse('{"a":[null],"b":1.0}')].map(canonical);
  expect(texts).toEqual(['{"a":[null],"b":1}', '{"a":[null],"b":1}']);
  expect(sha256("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect(sha256(Buffer.from("abc"))).toBe(sha256("abc"));
});
