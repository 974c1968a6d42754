/** What the suites of the kit are given, checked: a slip in an option must not make them prove less and stay green. */

import type { AnyStateMachine } from "xstate";

/** Throws a TypeError where `options` is no object, or has a name that is not `known`. `what` is whose options they are. */
export function checkOptions(what: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== "object" || options === null) throw notA(`options of ${what}`, options, "an object");
  const strange = Object.keys(options).filter((name) => !known.includes(name));
  if (strange.length > 0) throw new TypeError(`${what} has no option ${strange.join(", ")}; there are ${known.join(", ")}`);
}

/** Throws a RangeError where `value` is given and is no whole number from `from`. */
export function checkWhole(name: string, value: unknown, from: 0 | 1): void {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= from)) return;
  throw new RangeError(`${name} is ${shown(value)}; expected a whole number from ${from}`);
}

/** Throws a TypeError where `value` is no machine. */
export function checkMachineGiven(name: string, value: unknown): void {
  const { root, getInitialSnapshot } = Object(value) as Partial<AnyStateMachine>;
  if (typeof root !== "object" || typeof getInitialSnapshot !== "function") throw notA(name, value, "a machine of XState");
}

/** Throws a TypeError where `value` is no list. */
export function checkList(name: string, value: unknown): void {
  if (!Array.isArray(value)) throw notA(name, value, "a list");
}

/** Throws a TypeError where `value` is given and is no function. */
export function checkFunction(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== "function") throw notA(name, value, "a function");
}

/** What is wrong with a value of a name. */
export function notA(name: string, value: unknown, expected: string): TypeError {
  return new TypeError(
    value === undefined ? `${name} is missing; expected ${expected}` : `${name} is ${shown(value)}; expected ${expected}`,
  );
}

/** A value in a message. */
function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  return Array.isArray(value) ? "a list" : typeof value === "object" && value !== null ? "an object" : String(value);
}
