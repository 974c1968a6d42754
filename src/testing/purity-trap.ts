/** The purity trap: transitions that ask for time, chance or the outside world fail, because no fold could repeat them (ACT-4). */

import { createRequire, syncBuiltinESMExports } from "node:module";
import type { Enclosure } from "../actor/transition.ts";

const nodeCrypto = createRequire(import.meta.url)("node:crypto") as Record<string, unknown>;

/** Functions that give another answer each time, or that act later. */
const TRAPPED: readonly (readonly [string, object, string])[] = [
  ["Math.random", Math, "random"],
  ["performance.now", performance, "now"],
  ["crypto.randomUUID", globalThis.crypto, "randomUUID"],
  ["crypto.getRandomValues", globalThis.crypto, "getRandomValues"],
  ["process.hrtime", process, "hrtime"],
  ["process.uptime", process, "uptime"],
  ["process.nextTick", process, "nextTick"],
  ...["randomUUID", "randomBytes", "randomInt", "randomFillSync"].map((name) => [`node:crypto ${name}`, nodeCrypto, name] as const),
  ...["setTimeout", "setInterval", "setImmediate", "queueMicrotask", "fetch"].map((name) => [name, globalThis, name] as const),
];

/**
 * Encloses a transition: inside, `Date.now`, `new Date()`, `Date()`, `Intl.DateTimeFormat` without a date, `Math.random`, random UUIDs and
 * bytes, `performance.now`, timers and `fetch` throw, and the engine refuses the event with `machine_threw`. `new Date(value)` is pure and
 * stays. Everything is put back before it returns. Pass it to `openActors` as `enclose`.
 *
 * Not trapped: a function that was taken from its place before, as by `const { now } = Date`; the time zone and the locale; variables
 * outside the machine, files, and what else a process can ask its system.
 */
export const purityTrap: Enclosure = (transition) => {
  const restore: (() => void)[] = [];
  try {
    for (const [name, owner, key] of TRAPPED) restore.push(replace(owner, key, () => forbid(name)));
    restore.push(replace(globalThis, "Date", trappedDate(Date)));
    for (const [key, trapped] of FORMATS) restore.push(define(Intl.DateTimeFormat.prototype, key, trapped));
    syncBuiltinESMExports();
    return transition();
  } finally {
    for (const step of restore.reverse()) step();
    syncBuiltinESMExports();
  }
};

function forbid(name: string): never {
  throw new Error(`${name} was called inside a transition: take time, ids and chance from the event's stamp`);
}

function trappedDate(original: DateConstructor): DateConstructor {
  return new Proxy(original, {
    apply: () => forbid("Date()"),
    construct(target, args, newTarget) {
      return args.length === 0 ? forbid("new Date()") : Reflect.construct(target, args, newTarget);
    },
    get(target, key) {
      return key === "now" ? () => forbid("Date.now") : Reflect.get(target, key);
    },
  });
}

/** Methods of `Intl.DateTimeFormat` that take the present where they are given no date; one of them is made for each object. */
const FORMATS: readonly (readonly [string, PropertyDescriptor])[] = (["format", "formatToParts"] as const).map((key) => {
  const { get, value } = Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, key) as PropertyDescriptor;
  return [
    key,
    {
      get(this: Intl.DateTimeFormat) {
        const original = get ? get.call(this) : value.bind(this);
        return (date?: unknown) => (date === undefined ? forbid(`Intl.DateTimeFormat ${key} without a date`) : original(date));
      },
    },
  ];
});

/** Replaces a property and returns the step that puts it back exactly as it was. */
function replace(owner: object, key: string, value: unknown): () => void {
  return define(owner, key, { value, writable: true });
}

function define(owner: object, key: string, trapped: PropertyDescriptor): () => void {
  const before = Object.getOwnPropertyDescriptor(owner, key);
  Object.defineProperty(owner, key, { ...trapped, configurable: true, enumerable: before?.enumerable ?? false });
  return () => {
    // What was inherited comes back by taking ours away.
    if (before) Object.defineProperty(owner, key, before);
    else Reflect.deleteProperty(owner, key);
  };
}
