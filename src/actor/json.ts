/** Plain JSON: the only data that may be stored. What does not survive a round trip is refused, not converted. */

import { hash } from "node:crypto";
import canonicalize from "canonicalize";

/** Plain JSON: what events, facts, params, contexts and outputs are made of. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Levels of nesting that a stored value may have; what refers to itself has no end and is refused by the same bound. */
export const JSON_DEPTH = 100;

/** The path of the first value that is not plain JSON (dotted, `$` for the whole), or undefined where all is well. */
export function notJson(value: unknown, path = "$"): string | undefined {
  const place = oddPlace(value, 0);
  return place === undefined ? undefined : `${path}${place}`;
}

/** The same from here: empty for the value itself. No path is made where all is well. */
function oddPlace(value: unknown, depth: number): string | undefined {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? undefined : "";
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : "";
    case "object":
      break;
    default:
      return "";
  }
  if (value === null) return undefined;
  if (depth === JSON_DEPTH) return "";
  const prototype = Object.getPrototypeOf(value);
  if (Array.isArray(value)) {
    // JSON drops what an array has besides its items, as the match of a regular expression does.
    if (prototype !== Array.prototype || Object.keys(value).length !== value.length) return "";
    for (let index = 0; index < value.length; index++) {
      const place = oddPlace(value[index], depth + 1);
      if (place !== undefined) return `.${index}${place}`;
    }
    return undefined;
  }
  if (prototype !== Object.prototype && prototype !== null) return "";
  for (const key of Object.keys(value)) {
    const place = oddPlace((value as Record<string, unknown>)[key], depth + 1);
    if (place !== undefined) return `.${key}${place}`;
  }
  return undefined;
}

/** The path of the first place where two plain JSON values differ (dotted, `$` for the whole); undefined where they are the same. */
export function differenceAt(one: unknown, other: unknown, path = "$"): string | undefined {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null)
    return Object.is(one, other) || (one === 0 && other === 0) ? undefined : path;
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  for (const key of keys) {
    const [left, right] = [one, other].map((value) => (Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined));
    const found = differenceAt(left, right, `${path}.${key}`);
    if (found) return found;
  }
  return undefined;
}

/** A copy of a plain JSON value; anything else as it is, to be refused where it is looked at. */
export function plainCopy<T>(value: T): T {
  return notJson(value) === undefined ? copyOf(value) : value;
}

/** A copy that shares nothing with a plain JSON value, so that nobody can change what was stored. */
export function copyOf<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** True where a plain JSON value holds a negative zero, which JSON writes as zero. */
export function hasNegativeZero(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return Object.is(value, -0);
  return Object.values(value).some(hasNegativeZero);
}

/**
 * Freezes a plain JSON value to its depths and returns it. All of it is walked: what its maker froze may be frozen at its surface only,
 * and to remember each object that was frozen here takes longer than the walk.
 */
export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  Object.freeze(value);
  for (const key of Object.keys(value)) frozen((value as Record<string, unknown>)[key]);
  return value;
}

/** RFC 8785 text of a plain JSON value: equal values give equal text. */
export function canonical(value: unknown): string {
  return (canonicalize as unknown as (value: unknown) => string)(value);
}

/** SHA-256 in lower-case hex. */
export function sha256(data: string | Uint8Array): string {
  return hash("sha256", data, "hex");
}
