/**
 * Paths: ways through a machine that cover all of it, made from the machine.
 *
 * The graph is `@xstate/graph`'s over the model of one actor (`path-model.ts`), so it knows what the engine adds to a machine: open
 * effects and what they come to, timers, restarts. Every edge of it is reached by its shortest prefix.
 */

import { adjacencyMapToArray, getAdjacencyMap } from "@xstate/graph";
import type { AnyStateMachine, AnyStateNode, EventFrom, InputFrom, SnapshotFrom } from "xstate";
import { nodesOf } from "../actor/structure.ts";
import { stateName } from "../actor/transition.ts";
import { checkFunction, checkList, checkMachineGiven, checkOptions, checkWhole, notA } from "./option-check.ts";
import { boundary, exactKey, Model, type ModelState } from "./path-model.ts";
import { type Move, movesOf, moveText, unknownVariants, withoutWay } from "./path-move.ts";
import { Watched } from "./path-trace.ts";
import { differences, type NamedVariant, type Told, told, type Variant } from "./path-variant.ts";

/** From what paths are made. */
export interface PathOptions<Machine extends AnyStateMachine = AnyStateMachine> {
  /**
   * Payload variants: each is tried in each state. Of an effect's outcome only the payload is given, for the path knows its key; its
   * failure needs none: it is `effect_failed` unless one is given. `engine.quarantined` names the actors that may be set aside. What else
   * the engine makes is made by itself. Of several variants of one type, names of paths say which: by its name, where it is given as
   * `{ name, event }`, or by what differs.
   */
  readonly events: readonly (EventFrom<Machine> | Variant | NamedVariant)[];
  /** What the actor is created with; a list: one start of paths for each. */
  readonly input: InputFrom<Machine> | readonly InputFrom<Machine>[];
  /** Id of the actor. Default `path`. */
  readonly id?: string;
  /** States that are gone on from, for each input, 1 or more, the nearest first. Default 2,000. */
  readonly limit?: number;
  /**
   * Which snapshots are the same state: what differs only in what this leaves out is not told apart. Default: all of the snapshot.
   * Only the first of them that is found is gone on from. Needed where a context grows for ever. Effects, timers and identities are told
   * apart in any case.
   */
  readonly serialize?: (snapshot: SnapshotFrom<Machine>) => string;
}

/** One way through a machine. */
export interface MachinePath {
  readonly input: unknown;
  readonly moves: readonly Move[];
  /** What it does, for people, unlike any other path's: `order.pay {amount: 9}, order.pay {amount: 10}, chargeCard done`. */
  readonly text: string;
  /** Ids of the transitions that it takes. */
  readonly transitions: readonly string[];
  /** Answers of guards on it: `<guard>: yes` or `<guard>: no`. Of a guard with params each use is one: `atLeast {"n":1}: yes`. */
  readonly guards: readonly string[];
}

/** All ways through a machine, and what they cover. */
export interface MachinePaths {
  readonly machine: string;
  /** The number of its states, of its transitions, and of its guards, which count once for each of the params that they are used with. */
  readonly states: number;
  readonly transitions: number;
  readonly guards: number;
  readonly paths: readonly MachinePath[];
  /** Ids of the transitions that are covered: `<state node id>|<event type>|<index>`. */
  readonly covered: readonly string[];
  /** Transitions that no path takes, guards that give one answer only, states that are never entered; empty where all is covered. */
  readonly uncovered: readonly string[];
  /** Event types of the machine that nothing can bring about, for no variant is given. */
  readonly withoutWay: readonly string[];
  /** False where the limit left states without going on from them. */
  readonly isComplete: boolean;
}

/** The names of all of them. */
export const PATH_OPTIONS = ["events", "input", "id", "limit", "serialize"] as const satisfies readonly (keyof PathOptions)[];

export const LIMIT = 2000;
/** When a path begins, in ms: any time will do that is the same for all. */
export const BEGIN_MS = 1_767_225_600_000;

/**
 * Paths that cover every transition and every guard both ways, as far as the variants allow. Deterministic. Throws `machine_invalid`,
 * `input_invalid` for an input, a TypeError for a variant that does not fit its schema or that the machine does not have and for an option
 * that there is not, a RangeError for a limit below 1, and `machine_threw` for what the machine throws, or does that is not pure.
 */
export function pathsFor<Machine extends AnyStateMachine>(machine: Machine, options: PathOptions<Machine>): MachinePaths {
  checkOptions("pathsFor", options, PATH_OPTIONS);
  checkMachineGiven("machine", machine);
  return pathsOf(new Watched(machine), options as PathOptions);
}

/** The same, of a machine that is watched already. */
export function pathsOf(watched: Watched, options: PathOptions): MachinePaths {
  const { limit = LIMIT, input } = options;
  checkWhole("limit", limit, 1);
  checkFunction("serialize", options.serialize);
  checkList("events", options.events);
  const events = told(options.events);
  const variants = events.map(({ event }) => event);
  const strange = unknownVariants(watched.registration, variants);
  if (strange.length > 0) throw new TypeError(`the machine ${watched.registration.id} has no event ${strange.join(", ")}`);
  const inputs: readonly unknown[] = Array.isArray(input) ? input : [input];
  const absent = inputs.indexOf(undefined);
  if (absent >= 0) throw notA(Array.isArray(input) ? `input[${absent}]` : "input", undefined, "what the actor is created with");
  const starts = inputs.length === 1 ? [""] : differences(inputs).map((text) => `of ${text}: `);
  const found = inputs.map((one, index) => explore(watched, { input: one, text: starts[index] as string }, events, { ...options, limit }));
  const seen: Seen = { transitions: new Set(), guards: new Set(), nodes: new Set(), types: new Set() };
  const paths = [...found.flatMap((one) => longest(one.ways)), ...found.flatMap((one) => one.refusals)].flatMap(
    ({ isRefusal, states, ...way }) => {
      // What is refused adds nothing but the answer of a guard, and the transition that forbids it.
      const isKnown = way.guards.every((answer) => seen.guards.has(answer)) && way.transitions.every((id) => seen.transitions.has(id));
      if (isRefusal && isKnown) return [];
      for (const id of way.transitions) seen.transitions.add(id);
      for (const answer of way.guards) seen.guards.add(answer);
      for (const { trace, timers } of states) {
        for (const node of trace.nodes) seen.nodes.add(node);
        for (const { event } of timers) seen.types.add((JSON.parse(event) as { type: string }).type);
      }
      return [way];
    },
  );
  return {
    machine: watched.registration.id,
    states: [...nodesOf(watched.registration.machine.root)].length - 1,
    transitions: watched.transitions.length,
    guards: watched.guards.length,
    paths,
    covered: watched.transitions.flatMap(({ id }) => (seen.transitions.has(id) ? [id] : [])),
    uncovered: uncovered(watched, seen),
    withoutWay: withoutWay(watched.registration, variants, seen.types),
    isComplete: found.every((one) => one.isComplete),
  };
}

interface Seen {
  readonly transitions: Set<string>;
  readonly guards: Set<string>;
  readonly nodes: Set<string>;
  /** Event types of timers that were set. */
  readonly types: Set<string>;
}

function uncovered({ registration, transitions, guards }: Watched, seen: Seen): string[] {
  const arrows = transitions.filter(({ id }) => !seen.transitions.has(id)).map(({ text }) => `transition ${text}`);
  const answers = guards.flatMap((name) =>
    ["yes", "no"].filter((answer) => !seen.guards.has(`${name}: ${answer}`)).map((answer) => `guard ${name} never says ${answer}`),
  );
  const { root } = registration.machine;
  const entered = new Set([...seen.nodes, ...initialNodes(root)]);
  const nodes = [...nodesOf(root)].filter((node) => node.type !== "history");
  const states = nodes.filter(({ id }) => !entered.has(id)).map(({ id }) => `state ${id}`);
  return [...arrows, ...answers, ...states];
}

/** The states in which each path begins; XState does not show the first of its microsteps. */
function initialNodes(node: AnyStateNode): string[] {
  const children = node.type === "parallel" ? Object.values(node.states) : ((node.initial?.target ?? []) as readonly AnyStateNode[]);
  return [node.id, ...children.flatMap((child) => initialNodes(child))];
}

interface Way extends MachinePath {
  readonly states: readonly ModelState[];
  /** True where its last move is one that the machine takes no notice of. */
  readonly isRefusal: boolean;
}

interface Explored {
  readonly ways: readonly Way[];
  readonly refusals: readonly Way[];
  readonly isComplete: boolean;
}

/** The way by which a state was found first. */
interface Reached {
  readonly state: ModelState;
  readonly before?: { readonly reached: Reached; readonly move: Move };
}

/** An input, and what tells its paths from those of others. */
interface Begin {
  readonly input: unknown;
  readonly text: string;
}

type Bounds = Pick<PathOptions, "limit" | "id" | "serialize">;

function explore(watched: Watched, begin: Begin, events: readonly Told[], { limit = LIMIT, id = "path", serialize }: Bounds): Explored {
  const model = new Model(watched, id);
  const start = model.create(begin.input, BEGIN_MS, 1);
  const key = (state: ModelState) =>
    serialize
      ? JSON.stringify([stateName(state.snapshot.value), serialize(state.snapshot as never), ...boundary(state)])
      : exactKey(watched, state);
  let expanded = 0;
  const logic = { transition: (state: ModelState, move: Move) => model.step(state, move), getInitialSnapshot: () => start };
  const graph = getAdjacencyMap(
    logic as never,
    {
      serializeState: (state: ModelState) => key(state),
      serializeEvent: (move: Move) => JSON.stringify(move),
      events: (state: ModelState) => movesOf(watched.registration, state, events),
      stopWhen: () => ++expanded > limit,
    } as never,
  );
  const edges = adjacencyMapToArray(graph) as unknown as { state: ModelState; event: Move; nextState: ModelState }[];
  // The graph lists states in the order in which it found them, so the first edge to a state is the last of its shortest prefix.
  const reached = new Map<string, Reached>([[key(start), { state: start }]]);
  const ways: Way[] = [way(begin, { state: start })];
  const refusals: Way[] = [];
  for (const { state, event: move, nextState } of edges) {
    const from = reached.get(key(state));
    if (!from || nextState.last === "impossible") continue;
    const to: Reached = { state: nextState, before: { reached: from, move } };
    if (nextState.last === "ignored") {
      refusals.push(way(begin, to));
      continue;
    }
    if (!reached.has(key(nextState))) reached.set(key(nextState), to);
    ways.push(way(begin, to));
  }
  return { ways, refusals, isComplete: expanded <= limit };
}

function way({ input, text }: Begin, end: Reached): Way {
  const states: ModelState[] = [];
  const moves: Move[] = [];
  for (let at: Reached | undefined = end; at; at = at.before?.reached) {
    states.unshift(at.state);
    if (at.before) moves.unshift(at.before.move);
  }
  return {
    input,
    moves,
    text: `${text}${moves.map(moveText).join(", ") || "(creation)"}`,
    transitions: [...new Set(states.flatMap((state) => [...state.trace.transitions]))],
    guards: [...new Set(states.flatMap((state) => [...state.trace.guards]))],
    states,
    isRefusal: end.state.last === "ignored",
  };
}

/** Without those that another one begins with. */
function longest(ways: readonly Way[]): Way[] {
  const passed = new Set<ModelState>();
  for (const { states } of ways) for (const state of states.slice(0, -1)) passed.add(state);
  return ways.filter(({ states }) => !passed.has(states.at(-1) as ModelState));
}
