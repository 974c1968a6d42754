import { describe, expect, it } from "vitest";
import { machines } from "../../machines/index.ts";
import { json } from "../../machines/schema.ts";
import type { MachineSchemas } from "../../src/actor/declaration.ts";

const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
const cycle: { self?: unknown } = {};
cycle.self = cycle;
class Thing {
  readonly one = 1;
}

describe("json", () => {
  it.each([
    ["null", null],
    ["a text", "text"],
    ["a number", -1.5],
    ["a list", [1, ["two", { three: null }], true]],
    ["an object without a prototype", Object.assign(Object.create(null), { one: 1 })],
    ["an own key __proto__", JSON.parse('{ "__proto__": { "one": 1 } }')],
    ["100 levels", nested(100)],
  ])("takes %s", (_, value) => {
    expect(json.safeParse(value).success).toBe(true);
  });

  it.each([
    ["undefined", undefined],
    ["what is no number", Number.NaN],
    ["more than any number", Number.POSITIVE_INFINITY],
    ["a bigint", 1n],
    ["a function", () => 1],
    ["a symbol", Symbol("one")],
    ["a date", new Date(0)],
    ["a map", new Map()],
    ["bytes", new Uint8Array(1)],
    ["an error", new Error("one")],
    ["an instance of a class", new Thing()],
    ["a list with a hole", Object.assign([1, 2], { length: 3 })],
    ["a list with more than its items", Object.assign([1], { more: 1 })],
    ["a value in a list that is none", [[undefined]]],
    ["101 levels", nested(101)],
    ["what refers to itself", cycle],
  ])("refuses %s", (_, value) => {
    expect(json.safeParse(value).success).toBe(false);
  });
});

describe.each(machines.map((machine) => ({ id: machine.id, machine })))("$id", ({ machine }) => {
  it("has a way from each of its versions to the one that it has now", () => {
    const { migrations = {} } = machine.schemas as MachineSchemas;
    const now = String((machine.config as { version?: string }).version);
    for (let version = 1; version < Number(now); version++) expect(migrations[version]?.to).toBe(`${version + 1}`);
    expect(Object.keys(migrations)).toHaveLength(Number(now) - 1);
  });
});
