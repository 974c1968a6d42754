/** Events, facts and requests: what engine and machines say to each other. */

import type { Json } from "./json.ts";

/** An event as machines see it: `stamp` is added by the engine, so that time and fresh ids reach a pure transition from outside. */
export interface Stamp {
  /** Milliseconds since 1970, taken once per macrostep. */
  readonly at: number;
  /** Number of the journal entry that this transition writes. */
  readonly seq: number;
  /** `<actor>:<seq>` of the journal entry that this transition writes: unique in the root, the same in every fold. */
  readonly id: string;
}

/** The stamp of the entry `seq` of an actor, taken at this time. */
export function stampOf(actor: string, seq: number, at: number): Stamp {
  return { at, seq, id: `${actor}:${seq}` };
}

/** An event or fact: a type, and a payload of plain JSON. */
export interface EngineEvent {
  readonly type: string;
  readonly [key: string]: Json;
}

/** What a machine stated by `emit`. */
export type Fact = EngineEvent;

/** What a machine asked for, in order: the closed list of a transition's outputs besides its facts. */
export type Request =
  /** `child`: the invoked child that it stands for. */
  | { readonly type: "effect"; readonly name: string; readonly params: Json; readonly child?: string }
  /** `id` is empty where the machine gave none. */
  | { readonly type: "timer"; readonly id: string; readonly event: EngineEvent; readonly delay: string; readonly delayMs: number }
  | { readonly type: "cancelTimer"; readonly id: string }
  | { readonly type: "deliver"; readonly to: string; readonly event: EngineEvent }
  | { readonly type: "create"; readonly machine: string; readonly id: string; readonly input: Json; readonly keys: readonly string[] }
  | { readonly type: "cancel"; readonly effect: string }
  | { readonly type: "abort"; readonly effect: string };
