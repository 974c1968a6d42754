/** Variants: the payloads with which an event may come, and the names by which a path tells them apart. */

import { canonical } from "../actor/json.ts";
import { notA } from "./option-check.ts";

/** An event variant: a type with a payload. Of an effect's outcome, `effect` is left out: the path knows its key. */
export interface Variant {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** An event variant with a name, of which there is one for its type: paths, tests and failures show it. */
export interface NamedVariant {
  /** 1..60 characters. */
  readonly name: string;
  readonly event: Variant;
}

/** A variant, and what shows which one of its type it is; nothing where there is no other. */
export interface Told {
  readonly event: Variant;
  readonly variant?: string;
}

/** Characters of a name, of a payload that stands for one, and of one value in it. */
const NAME_LIMIT = 60;
const VALUE_LIMIT = 24;
/** Levels of a payload that are looked into. */
const DEPTH_LIMIT = 8;

/**
 * The variants of a list, each with what tells it from others of its type: its name, or else the parts in which they differ. One that is there
 * twice counts once. Throws a TypeError for what is no variant, and for a name that is none or is given twice.
 */
export function told(events: readonly unknown[]): Told[] {
  const given = distinct(events.map((event, index) => parsed(event, index)));
  const groups = Map.groupBy(given, ({ event }) => event.type);
  for (const [type, group] of groups) {
    const names = group.flatMap(({ name }) => name ?? []);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw new TypeError(`two variants of ${type} have the name ${JSON.stringify(twice)}`);
  }
  const shown = new Map<Variant, string | undefined>();
  for (const group of groups.values()) {
    const texts = group.length === 1 ? [undefined] : differences(group.map(({ event: { type: _, ...payload } }) => payload));
    group.forEach(({ event, name }, index) => void shown.set(event, name === undefined ? texts[index] : JSON.stringify(name)));
  }
  return given.map(({ event }) => {
    const variant = shown.get(event);
    return variant === undefined ? { event } : { event, variant };
  });
}

interface Parsed {
  readonly event: Variant;
  readonly name?: string;
}

function parsed(given: unknown, index: number): Parsed {
  const hasType = (one: unknown): one is Variant => typeof (Object(one) as Partial<Variant>).type === "string";
  if (hasType(given)) return { event: given };
  const { name, event } = Object(given) as Partial<NamedVariant>;
  if (!hasType(event)) throw notA(`events[${index}]`, given, "an event with a type, or { name, event }");
  if (typeof name !== "string" || name === "" || name.length > NAME_LIMIT || /\p{Cc}/u.test(name))
    throw notA(`events[${index}].name`, name, `a text of 1 to ${NAME_LIMIT} characters in one line`);
  // A variant may be given again under another name.
  return { event: { ...event }, name };
}

/** Without those that say the same as one before, and have no name either. */
function distinct(given: readonly Parsed[]): Parsed[] {
  const seen = new Set<string>();
  return given.filter(({ event, name }) => {
    if (name !== undefined) return true;
    const text = textOf(event);
    return !seen.has(text) && seen.add(text);
  });
}

/** For each of several values a short text, unlike those of the others: as few of its parts as tell it from each of them. */
export function differences(values: readonly unknown[]): string[] {
  const all = values.map((value) => new Map(leavesOf(value, "", 0)));
  const paths = [...new Set(all.flatMap((leaves) => [...leaves.keys()]))];
  const texts = all.map((leaves) => {
    const telling = tellingPaths(leaves, all, paths);
    const parts = [...leaves].flatMap(([path, leaf]) => {
      if (!telling.has(path)) return [];
      return [`${path === "" ? "" : `${path}: `}${cut(leaf, VALUE_LIMIT)}`];
    });
    return `{${cut(parts.join(", "), NAME_LIMIT)}}`;
  });
  // What is cut short may be alike.
  return texts.map((text, index) => (texts.indexOf(text) === texts.lastIndexOf(text) ? text : `${text} #${index + 1}`));
}

type Leaves = ReadonlyMap<string, string>;

/** Paths by which a value is unlike all others: first the one that tells it from most of them. */
function tellingPaths(own: Leaves, all: readonly Leaves[], paths: readonly string[]): Set<string> {
  const chosen = new Set<string>();
  for (let others = all.filter((leaves) => leaves !== own); others.length > 0; ) {
    const alike = (path: string) => others.filter((leaves) => leaves.get(path) === own.get(path));
    // What it has itself can be shown.
    const best = [...own.keys(), ...paths].toSorted((a, b) => alike(a).length - alike(b).length)[0] as string;
    const left = alike(best);
    if (left.length === others.length) break;
    chosen.add(best);
    others = left;
  }
  return chosen;
}

/** The parts of a value that have no parts, by their paths. */
function* leavesOf(value: unknown, path: string, depth: number): Generator<[string, string]> {
  const parts = typeof value === "object" && value !== null && depth < DEPTH_LIMIT ? Object.entries(value) : [];
  if (parts.length === 0) yield [path, textOf(value)];
  for (const [name, part] of parts) yield* leavesOf(part, path === "" ? name : `${path}.${name}`, depth + 1);
}

/** The same for the same value; what is no JSON is refused where it is checked against its schema. */
function textOf(value: unknown): string {
  try {
    return canonical(value) ?? String(value);
  } catch {
    return String(value);
  }
}

const cut = (text: string, limit: number): string => (text.length > limit ? `${text.slice(0, limit - 1)}…` : text);
