/** Observation: what was seen of a run from outside the engine, as plain data, so that a child process can print it line by line. */

export type Observation =
  /** An ownership began, after this position; `last`: the last entry then. */
  | {
      readonly saw: "epoch";
      readonly gen: number;
      readonly atMs: number;
      readonly position: number;
      readonly last: { readonly position: number; readonly atMs: number };
    }
  /** An ownership ended in order at this time; or the last entry went with its actor, which was of this time. */
  | { readonly saw: "rest"; readonly atMs: number }
  | { readonly saw: "last gone"; readonly position: number; readonly atMs: number }
  /** An attempt to open; `error` where it failed. `excused`: a fault was planned for it. */
  | { readonly saw: "opening"; readonly error: string | null; readonly excused: boolean }
  | Answered
  /** A handler was called. `requested`: its request could be read as a committed entry; `row`: the state of its row then. */
  | {
      readonly saw: "call";
      readonly gen: number;
      readonly key: string;
      readonly name: string;
      readonly requested: boolean;
      readonly row: string | null;
    }
  /** A write of an owner threw. `planned`: as it should; `left`: what it changed all the same. */
  | { readonly saw: "failed write"; readonly planned: boolean; readonly left: string | null; readonly error: string }
  /** It went on and on: there are machines that never come to rest. */
  | { readonly saw: "restless" }
  /** A person had an effect tried again. */
  | { readonly saw: "retry"; readonly key: string }
  /** A person spoiled a stored snapshot. */
  | { readonly saw: "damage"; readonly actor: string };

/** An event from outside and what came of it. */
export interface Answered {
  readonly saw: "answer";
  readonly gen: number;
  readonly actor: string;
  readonly type: string;
  /** In the payload of the event; unique, or shared by all repetitions under one key. */
  readonly tag: string;
  readonly key: string | null;
  /** `ping`: one that every machine takes in every state. */
  readonly how: "outside" | "handler" | "ping";
  /** An expectation was named that cannot hold. */
  readonly wrong: boolean;
  /** What could be read of the actor just before. */
  readonly was: "missing" | "active" | "final" | "quarantined";
  /** `accepted`, `ignored`, or the code of a refusal or a failure. */
  readonly came: string;
  readonly seq: number | null;
  readonly repeated: boolean;
  /** Another owner had begun before it was sent. */
  readonly fenced: boolean;
  readonly failed: boolean;
}
