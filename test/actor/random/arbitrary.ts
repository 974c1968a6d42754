/** Arbitrary machines, of bounded shape, and arbitrary runs of their actors. */

import fc from "fast-check";
import {
  type Act,
  type Case,
  type Conduct,
  DELAY_NAMES,
  EFFECTS,
  EVENTS,
  type Guard,
  HANDLED,
  type MachineSpec,
  type Move,
  type Node,
  type Op,
  POINTS,
  RESERVED,
  type Send,
} from "./spec.ts";

/** Plain objects only, which print as they are written. */
const record = <T>(parts: { [Name in keyof T]: fc.Arbitrary<T[Name]> }) => fc.record(parts, { noNullPrototype: true });
const index = fc.nat({ max: 11 });
const v = fc.nat({ max: 9 });
const mod = fc.integer({ min: 3, max: 9 });
const delay = fc.constantFrom(...DELAY_NAMES);
/** Null, mostly: one time in `times` it is something. */
const maybe = <T>(arbitrary: fc.Arbitrary<T>, times = 4) =>
  fc.oneof({ weight: times - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });

const guard = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom<Guard>("isOdd", "isSmall", "isGiven", "isNever") },
  { weight: 1, arbitrary: fc.constant<Guard>("isBroken") },
);

const pure: fc.WeightedArbitrary<Act>[] = [
  { weight: 5, arbitrary: record({ do: fc.constant("bump" as const), by: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 4, arbitrary: record({ do: fc.constantFrom("take" as const, "tell" as const) }) },
  {
    weight: 1,
    arbitrary: record({ do: fc.constantFrom("boom" as const, "spoil" as const, "foul" as const, "mislead" as const), mod }),
  },
  { weight: 2, arbitrary: record({ do: fc.constant("raise" as const), event: index, v }) },
  { weight: 4, arbitrary: record({ do: fc.constant("later" as const), delay, named: fc.boolean() }) },
  { weight: 1, arbitrary: record({ do: fc.constant("cancel" as const), delay }) },
  { weight: 4, arbitrary: record({ do: fc.constant("deliver" as const), to: index, event: index, v }) },
  { weight: 1, arbitrary: record({ do: fc.constant("create" as const), machine: index, keyed: fc.boolean() }) },
  { weight: 1, arbitrary: record({ do: fc.constant("drop" as const), effect: fc.constantFrom(...EFFECTS) }) },
  { weight: 1, arbitrary: record({ do: fc.constant("abort" as const) }) },
];
const act = fc.oneof(...pure, { weight: 2, arbitrary: record({ do: fc.constantFrom("task" as const, "sole" as const) }) });
const acts = fc.array(act, { maxLength: 2 });
// An effect that some state's entry requests ends with that state: those of transitions have names of their own.
const onEntry = fc.array(fc.oneof(...pure, { weight: 10, arbitrary: record({ do: fc.constantFrom("work" as const, "once" as const) }) }), {
  maxLength: 2,
});

const move: fc.Arbitrary<Move> = record({
  target: fc.option(index, { nil: null, freq: 3 }),
  reenter: fc.boolean(),
  guard: maybe(guard, 3),
  acts,
});

const type = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...EVENTS) }, { weight: 2, arbitrary: fc.constantFrom(...HANDLED) });

/** What a state does, beside what it holds. */
const body = {
  entry: onEntry,
  exit: fc.array(act, { maxLength: 1 }),
  on: fc.array(record({ type, move }), { maxLength: 4 }),
  always: maybe(move, 5).map((found) => found && { ...found, guard: found.guard ?? ("isOdd" as const) }),
  after: maybe(record({ delay, move })).map((found) => (found ? [found] : [])),
  invoke: maybe(record({ done: move, failed: maybe(move, 2) }), 6),
};
const bare = { entry: [], exit: [], on: [], always: null, after: [], invoke: null, done: null, states: [] };
const none = fc.constant([] as Node[]);

const atomic: fc.Arbitrary<Node> = record({ kind: fc.constant("atomic" as const), states: none, done: fc.constant(null), ...body });
const end: fc.Arbitrary<Node> = fc.constant({ ...bare, kind: "final" as const });
const past: fc.Arbitrary<Node> = fc.constantFrom({ ...bare, kind: "shallow" as const }, { ...bare, kind: "deep" as const });
const last = (others: fc.Arbitrary<Node>[]) => fc.array(fc.oneof(...others), { maxLength: 2 });

function compound(first: fc.Arbitrary<Node>, others: fc.Arbitrary<Node>[]): fc.Arbitrary<Node> {
  return record({
    kind: fc.constant("compound" as const),
    states: fc.tuple(first, last(others)).map(([one, more]) => [one, ...more]),
    done: maybe(move),
    ...body,
  });
}

const inner = compound(atomic, [atomic, end, past]);
const parallel: fc.Arbitrary<Node> = record({
  kind: fc.constant("parallel" as const),
  states: fc.array(fc.oneof(inner, atomic), { minLength: 2, maxLength: 2 }),
  done: maybe(move),
  ...body,
});
const root = record({
  kind: fc.constant("compound" as const),
  states: fc
    .tuple(fc.oneof(atomic, inner, parallel), fc.array(fc.oneof(atomic, inner, parallel), { minLength: 1, maxLength: 2 }), maybe(end, 2))
    .map(([first, more, final]) => [first, ...more, ...(final ? [final] : [])]),
  done: fc.constant(null),
  ...body,
  always: fc.constant(null),
});

const machine: fc.Arbitrary<MachineSpec> = record({ root, boss: maybe(index, 2) });

const send: fc.Arbitrary<Send> = record({
  actor: index,
  event: index,
  v,
  key: maybe(fc.nat({ max: 3 })),
  expect: fc.oneof(
    { weight: 8, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constantFrom("right" as const, "wrong" as const) },
  ),
});
const burst = fc.array(send, { minLength: 1, maxLength: 4 });

/** Ways to go on that need nothing of the process. */
const ordinary: fc.WeightedArbitrary<Op>[] = [
  { weight: 14, arbitrary: record({ op: fc.constant("burst" as const), sends: burst }) },
  { weight: 1, arbitrary: record({ op: fc.constant("forge" as const), actor: index, type: fc.nat({ max: RESERVED.length - 1 }) }) },
  {
    weight: 6,
    arbitrary: record({ op: fc.constant("advance" as const), ms: fc.constantFrom(10, 60, 200, 500, 2000, 11_000, 130_000) }),
  },
  { weight: 1, arbitrary: record({ op: fc.constant("recover" as const) }) },
  { weight: 1, arbitrary: record({ op: fc.constant("create" as const), machine: index, id: fc.nat({ max: 2 }), start: v }) },
  { weight: 1, arbitrary: record({ op: fc.constantFrom("stop" as const, "delete" as const), actor: index }) },
  { weight: 1, arbitrary: record({ op: fc.constant("retry" as const), effect: index }) },
  { weight: 1, arbitrary: record({ op: fc.constant("resolve" as const), effect: index, well: fc.boolean() }) },
  { weight: 1, arbitrary: record({ op: fc.constant("release" as const), actor: index, discard: fc.boolean() }) },
];

const nth = fc.integer({ min: 1, max: 4 });
const faults: fc.WeightedArbitrary<Op>[] = [
  {
    weight: 2,
    arbitrary: record({
      op: fc.constant("error" as const),
      point: fc.constantFrom("commit.before" as const, "commit.inside" as const),
      nth,
    }),
  },
  { weight: 3, arbitrary: record({ op: fc.constant("death" as const), point: fc.constantFrom(...POINTS), nth }) },
  { weight: 1, arbitrary: record({ op: fc.constant("takeover" as const), sends: burst }) },
  {
    weight: 3,
    arbitrary: record({
      op: fc.constant("reopen" as const),
      closedMs: fc.constantFrom(0, 30, 300, 5000, -40, -1000),
      damage: maybe(index, 5),
      strike: maybe(record({ point: fc.constantFrom(...POINTS), nth: fc.integer({ min: 1, max: 2 }), dies: fc.boolean() }), 3),
    }),
  },
];

const conduct = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Conduct>("done") },
  {
    weight: 5,
    arbitrary: fc.constantFrom<Conduct>("fails", "fails for good", "wrong", "never", "slow", "deaf", "sends", "forges", "progress"),
  },
);

function cases(ops: fc.WeightedArbitrary<Op>[]): fc.Arbitrary<Case> {
  return record({
    machines: fc.array(machine, { minLength: 2, maxLength: 3 }),
    conducts: fc.array(conduct, { minLength: 1, maxLength: 6 }),
    ops: fc.array(fc.oneof(...ops), { minLength: 5, maxLength: 25 }),
  });
}

/** Cases with every fault that can be made within one process. */
export const anyCase = cases([...ordinary, ...faults]);

/** Cases for a process that is killed from outside. */
export const plainCase = cases(ordinary);
