/**
 * Spec: a machine, and what is done with its actors, as plain data, so that a case prints as JSON and is built again from it.
 *
 * Every number that names something (a state, an actor, an event) is taken modulo what there is: each piece of data is a valid case,
 * and stays one while fast-check makes it smaller.
 */

/** Events that anyone may send: `{ v, tag?, gen? }`. */
export const EVENTS = ["e.zero", "e.one", "e.two"] as const;

/** Delays by name. `grown` is a function of the context. */
export const DELAYS = { short: 50, kept: 400, anew: 1500, grown: -1 } as const;
export const POLICIES = { kept: "remaining", anew: "restart" } as const;
export type DelayName = keyof typeof DELAYS;
export const DELAY_NAMES = Object.keys(DELAYS) as DelayName[];

/** `work` and `once` are requested on entry, and end with their state; `task` and `sole` elsewhere, and live with their actor. */
export const EFFECTS = ["work", "once", "task", "sole"] as const;
export type EffectName = (typeof EFFECTS)[number];

/** Events of these types come from the engine alone. */
export const RESERVED = [
  ...["xstate.stop", "xstate.init", "xstate.done.actor.0.m0.s0", "xstate.after.short.m0.s0"],
  ...["engine.reopened", "engine.quarantined", "engine.released", "engine.discarded", "effect.unknown"],
  ...["work.done", "work.failed", "work.aborted", "once.done", "once.failed", "task.done", "sole.done"],
] as const;

/** What machines may have transitions for. */
export const HANDLED = [
  ...EVENTS,
  ...DELAY_NAMES.map((delay) => `tick.${delay}`),
  ...["work.done", "work.failed", "work.aborted", "once.done", "once.failed", "task.done", "sole.done"],
  ...["effect.unknown", "engine.reopened", "engine.quarantined", "engine.released"],
];

export type Guard = "isOdd" | "isSmall" | "isGiven" | "isNever" | "isBroken";

export type Act =
  | { readonly do: "bump"; readonly by: number }
  | { readonly do: "take" | "tell" | "task" | "sole" }
  /** These do harm where the context's number leaves `mod - 1` behind. */
  | { readonly do: "boom" | "spoil" | "foul" | "mislead"; readonly mod: number }
  | { readonly do: "raise"; readonly event: number; readonly v: number }
  | { readonly do: "later"; readonly delay: DelayName; readonly named: boolean }
  | { readonly do: "cancel"; readonly delay: DelayName }
  | { readonly do: "deliver"; readonly to: number; readonly event: number; readonly v: number }
  | { readonly do: "create"; readonly machine: number; readonly keyed: boolean }
  | { readonly do: "drop"; readonly effect: EffectName }
  | { readonly do: "abort" }
  /** On entry only. */
  | { readonly do: "work" | "once" };

export interface Move {
  /** Null: no target. */
  readonly target: number | null;
  readonly reenter: boolean;
  readonly guard: Guard | null;
  readonly acts: readonly Act[];
}

export interface Node {
  readonly kind: "atomic" | "compound" | "parallel" | "final" | "shallow" | "deep";
  readonly states: readonly Node[];
  readonly entry: readonly Act[];
  readonly exit: readonly Act[];
  readonly on: readonly { readonly type: string; readonly move: Move }[];
  readonly always: Move | null;
  readonly after: readonly { readonly delay: DelayName; readonly move: Move }[];
  readonly invoke: { readonly done: Move; readonly failed: Move | null } | null;
  readonly done: Move | null;
}

export interface MachineSpec {
  readonly root: Node;
  /** Which actor hears of a quarantine; null: nobody. */
  readonly boss: number | null;
}

/** What a handler does; drawn by the effect's key and attempt, so that it does not depend on any order. */
export type Conduct = "done" | "fails" | "fails for good" | "wrong" | "never" | "slow" | "deaf" | "sends" | "forges" | "progress";

export interface Send {
  readonly actor: number;
  readonly event: number;
  readonly v: number;
  readonly key: number | null;
  /** Names another actor's revision: as it is, or one that it cannot have. */
  readonly expect: "right" | "wrong" | null;
}

export const POINTS = ["commit.before", "commit.inside", "commit.after", "effect.before", "effect.after"] as const;
export type Point = (typeof POINTS)[number];

export interface Strike {
  readonly point: Point;
  readonly nth: number;
  /** Else it is the store that fails. */
  readonly dies: boolean;
}

export type Op =
  | { readonly op: "burst"; readonly sends: readonly Send[] }
  | { readonly op: "forge"; readonly actor: number; readonly type: number }
  | { readonly op: "advance"; readonly ms: number }
  | { readonly op: "error"; readonly point: "commit.before" | "commit.inside"; readonly nth: number }
  | { readonly op: "death"; readonly point: Point; readonly nth: number }
  | { readonly op: "takeover"; readonly sends: readonly Send[] }
  /** `strike`: a fault that meets the recovery. */
  | { readonly op: "reopen"; readonly closedMs: number; readonly damage: number | null; readonly strike: Strike | null }
  | { readonly op: "recover" }
  | { readonly op: "create"; readonly machine: number; readonly id: number; readonly start: number }
  | { readonly op: "stop" | "delete"; readonly actor: number }
  | { readonly op: "retry"; readonly effect: number }
  | { readonly op: "resolve"; readonly effect: number; readonly well: boolean }
  | { readonly op: "release"; readonly actor: number; readonly discard: boolean };

export interface Case {
  readonly machines: readonly MachineSpec[];
  readonly conducts: readonly Conduct[];
  readonly ops: readonly Op[];
}

/** Ids of a machine's state nodes besides its root, in document order. */
export function nodeIds(machine: string, root: Node): string[] {
  const below = (id: string, node: Node): string[] =>
    node.states.flatMap((child, index) => [`${id}.s${index}`, ...below(`${id}.s${index}`, child)]);
  return below(machine, root);
}

/** The actors that a case begins with; machines address each other by these. */
export function firstActors(machines: readonly MachineSpec[]): string[] {
  return machines.flatMap((_, index) => [`m${index}/a`, ...(index === 0 ? [`m${index}/b`] : [])]);
}
