/** Config: a machine's config, changed in one place; all else in it stays the same objects, also where several places share one. */

export type Config = Readonly<Record<string, unknown>>;
export type Path = readonly (string | number)[];

/** The config with another value at a path; undefined takes the key, or the item of a list, away. */
export function changed<Whole>(whole: Whole, path: Path, change: (value: unknown) => unknown): Whole {
  const [key, ...rest] = path;
  if (key === undefined) return change(whole) as Whole;
  const within = whole as Record<string | number, unknown>;
  const value = rest.length === 0 ? change(within[key]) : changed(within[key], rest, change);
  if (Array.isArray(whole)) return (value === undefined ? whole.toSpliced(key as number, 1) : whole.with(key as number, value)) as Whole;
  const { [key]: _, ...others } = within;
  // Not to the end: XState goes by the order of the states.
  return (
    value === undefined ? others : Object.fromEntries(Object.entries(within).map(([name, old]) => [name, name === `${key}` ? value : old]))
  ) as Whole;
}

/** The config without a state: no transition leads into it any more, and where it was the initial one, a sibling is. */
export function dropped(whole: Config, path: Path, names: readonly string[], machine: string): Config {
  const parent = changed(whole, path.slice(0, -2), (value) => {
    const { initial, states, ...rest } = value as Config;
    const { [names.at(-1) as string]: _, ...others } = states as Config;
    const [first] = Object.keys(others);
    if (first === undefined) return rest;
    return { ...rest, initial: initial === names.at(-1) ? first : initial, states: others };
  });
  const isGone = (target: string, from: readonly string[]) => {
    const way = wayTo(target, from, machine);
    return names.every((name, index) => way[index] === name);
  };
  return retargeted(parent, [], isGone);
}

/** The names on the way to a target, as XState resolves it. A state has no id of its own here. */
function wayTo(target: string, from: readonly string[], machine: string): readonly string[] {
  const names = target.split(".");
  if (!target.startsWith("#")) return target.startsWith(".") ? [...from, ...names.slice(1)] : [...from.slice(0, -1), ...names];
  if (names[0] !== `#${machine}`) throw new Error(`the target ${target} is not named from #${machine} on`);
  return names.slice(1);
}

type Gone = (target: string, from: readonly string[]) => boolean;

function retargeted(config: Config, names: readonly string[], isGone: Gone): Config {
  const transition = (value: unknown): unknown => {
    if (typeof value === "string") return isGone(value, names) ? {} : value;
    const { target, ...rest } = value as Config;
    if (Array.isArray(target)) throw new Error(`the mutator knows no list of targets: ${target.join(", ")}`);
    return target !== undefined && isGone(target as string, names) ? rest : value;
  };
  const either = (value: unknown) => (Array.isArray(value) ? value.map(transition) : transition(value));
  const each = (value: unknown, change: (value: any, name: string) => unknown) =>
    Object.fromEntries(Object.entries(value as Config).map(([name, one]) => [name, change(one, name)]));
  const parts = Object.entries(config).map(([part, value]): [string, unknown] => {
    if (part === "always" || part === "onDone") return [part, either(value)];
    if (part === "on" || part === "after") return [part, each(value, either)];
    return [part, part === "states" ? each(value, (state, name) => retargeted(state, [...names, name], isGone)) : value];
  });
  return Object.fromEntries(parts);
}
