import * as nodeCrypto from "node:crypto";
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { purityTrap } from "../../src/testing/index.ts";

const impure: [string, () => unknown][] = [
  ["Date.now", () => Date.now()],
  ["new Date()", () => new Date()],
  ["Date()", () => Date()],
  ["Math.random", () => Math.random()],
  ["crypto.randomUUID", () => crypto.randomUUID()],
  ["crypto.getRandomValues", () => crypto.getRandomValues(new Uint8Array(1))],
  ["node:crypto randomUUID", () => randomUUID()],
  ["node:crypto randomBytes", () => nodeCrypto.randomBytes(1)],
  ["Intl.DateTimeFormat format", () => new Intl.DateTimeFormat().format()],
  ["Intl.DateTimeFormat format", () => new Intl.DateTimeFormat().format(undefined)],
  ["Intl.DateTimeFormat formatToParts", () => new Intl.DateTimeFormat().formatToParts()],
  ["new Date()", () => new Date().toLocaleString()],
  ["process.uptime", () => process.uptime()],
  ["performance.now", () => performance.now()],
  ["process.hrtime", () => process.hrtime()],
  ["setTimeout", () => setTimeout(() => undefined, 0)],
  ["setInterval", () => setInterval(() => undefined, 1000)],
  ["setImmediate", () => setImmediate(() => undefined)],
  ["queueMicrotask", () => queueMicrotask(() => undefined)],
  ["process.nextTick", () => process.nextTick(() => undefined)],
  ["fetch", () => fetch("data:,x")],
];

it.each(impure)("%s throws inside, by its name", (name, act) => {
  expect(() => purityTrap(act)).toThrow(name);
});

it("everything is as it was afterwards, also when a transition threw", () => {
  const before = [Date, Math.random, crypto.randomUUID, randomUUID, performance.now, setTimeout, process.nextTick, fetch];
  const own = Object.getOwnPropertyNames(crypto);
  expect(() => purityTrap(() => Date.now())).toThrow();
  purityTrap(() => 1);
  expect([Date, Math.random, crypto.randomUUID, randomUUID, performance.now, setTimeout, process.nextTick, fetch]).toEqual(before);
  expect(Object.getOwnPropertyNames(crypto)).toEqual(own);
  expect(randomUUID()).toHaveLength(36);
  expect(Date.now()).toBeGreaterThan(0);
});

it("a date is formatted inside as outside", () => {
  const formats = () => {
    const format = new Intl.DateTimeFormat("en", { timeZone: "UTC" });
    return [
      [0, new Date(86_400_000)].map(format.format),
      format.formatToParts(0),
      new Date(0).toLocaleDateString("en", { timeZone: "UTC" }),
    ];
  };
  expect(purityTrap(formats)).toEqual(formats());
  expect(new Intl.DateTimeFormat().format()).not.toBe("");
});

it("what is pure stays possible, and the result is the transition's", () => {
  const found = purityTrap(() => [new Date(0).toISOString(), new Date(0) instanceof Date, Date.UTC(1970, 0), Math.max(1, 2)]);
  expect(found).toEqual(["1970-01-01T00:00:00.000Z", true, 0, 2]);
});
