/** Declaration: what a machine tells the engine of itself, as `schemas` of `setup()`. Every word of it is checked by schema-check.ts. */

import type { StateValue } from "xstate";
import type { Json } from "./json.ts";
import type { TimerPolicy } from "./store.ts";

/**
 * A schema of zod, or of any other library that implements [Standard Schema](https://standardschema.dev). It answers at once: one that
 * gives a promise fits nothing.
 */
export interface StandardSchema<Output = any> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

/** What a schema says of a value: the value as it is to be kept, or what is wrong with it. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/** An effect type, declared in a machine's schemas: what it takes, which events bring its outcome, and its limits. */
export interface EffectSchema {
  readonly params: StandardSchema;
  /**
   * Event that brings the handler's result, as `{ output, effect }`. Absent only for invoked promise logic, whose outcome is XState's
   * own event; `failed` and `aborted` are then absent too.
   */
  readonly done?: string;
  /** Event that brings the final failure, as `{ error: { code, message }, effect }`. Absent: the effect is listed as exhausted. */
  readonly failed?: string;
  /** Event that says that the handler ended because `abortEffect` asked it to, as `{ effect }`. Needed for `abortEffect`. */
  readonly aborted?: string;
  /**
   * `at_least_once`: started again until a result is committed; the handler uses `key` to recognise a repetition.
   * `at_most_once`: admitted by a commit of its own; where its outcome is lost the machine gets `effect.unknown`.
   */
  readonly delivery: "at_least_once" | "at_most_once";
  /** Bound on one attempt in ms. Default 300,000; null: none. */
  readonly timeoutMs?: number | null;
  /** Attempts in one process, 1 or more. Default 5 for at least once; always 1 for at most once. */
  readonly attempts?: number;
  /** Wait before the second attempt in ms. Default 100. */
  readonly backoffMs?: number;
  /** What the wait is multiplied by for each further attempt, 1 or more. Default 2. */
  readonly backoffFactor?: number;
  /** Longest wait between two attempts in ms. Default 60,000. */
  readonly backoffLimitMs?: number;
  /**
   * Handlers of this type that may run at once, of those that heed their signal: one that is interrupted, or takes longer than its
   * `timeoutMs` or `abortGraceMs`, no longer counts, though it may still be at work. Default 64.
   */
  readonly concurrency?: number;
  /** How long a handler may take to end after `abortEffect`, in ms. Default 10,000; then it is interrupted and left behind. */
  readonly abortGraceMs?: number;
}

/** What `setup({ schemas })` of a durable machine must hold. Payload schemas describe an event or fact without its `type`. */
export interface MachineSchemas {
  readonly input: StandardSchema;
  readonly context: StandardSchema;
  readonly events: Readonly<Record<string, StandardSchema>>;
  readonly facts: Readonly<Record<string, StandardSchema>>;
  readonly effects?: Readonly<Record<string, EffectSchema>>;
  /** By name of a delay: what time without an owner does to its timers (ACT-8). Default `absolute`. */
  readonly delays?: Readonly<Record<string, TimerPolicy>>;
  /** By older version: the way to a newer one, to be followed until the machine's own version. */
  readonly migrations?: Readonly<Record<string, Migration>>;
  /** Pure. Names the reason why this snapshot does not take this event now, as a stable code; undefined where it has none to give. */
  readonly refusal?: (snapshot: any, event: any) => string | undefined;
  /**
   * Pure, of the input that the actor was created with, which stays readable when its snapshot is not. The actor that is to know
   * when this one is set aside, and when a delivery could not reach it for that: in the same commit it gets `engine.quarantined`
   * as `{ actor, code }`, where its machine has that event. Null: nobody.
   */
  readonly supervisor?: (input: any) => string | null;
}

/** What a migration takes and gives: the whole state of an actor, as plain JSON. */
export interface StoredActor<Context = Json> {
  /** XState's state value. */
  readonly value: StateValue;
  readonly context: Context;
  /** XState's memory of history states, as it persists it. */
  readonly historyValue: Json;
  readonly timers: readonly StoredTimer[];
  readonly effects: readonly StoredEffect[];
}

/** A pending timer. One without a `key` is new. */
export interface StoredTimer {
  readonly key?: string;
  /** `xstate.after.<delay>.<state node id>` for an `after`; the raise's own id, or empty, for a delayed raise. */
  readonly id: string;
  readonly event: { readonly type: string; readonly [key: string]: Json };
  readonly delay: string;
  readonly delayMs: number;
  readonly dueMs: number;
}

/** A requested effect. One without a `key` is new. */
export interface StoredEffect {
  readonly key?: string;
  readonly name: string;
  readonly params: Json;
  /** Id of the state node that it ends with; empty: it lives with its actor. */
  readonly scope: string;
}

/** What a migration gives. A timer without `dueMs` is due `delayMs` after the migration, whose time is nothing that it can know. */
export interface MigratedActor extends Omit<StoredActor, "timers"> {
  readonly timers: readonly (Omit<StoredTimer, "dueMs"> & { readonly dueMs?: number })[];
}

/** From one version of a machine to a later one. `migrate` is pure; what it leaves out of `timers` and `effects` ends. */
export interface Migration {
  readonly to: string;
  migrate(stored: StoredActor<any>): MigratedActor;
}

/** Type of the event that an entry of a migration holds: the actor as it was made. No machine is asked about it. */
export const MIGRATED = "engine.migrated";

/**
 * Type of the event that an entry of a discarded timer or notice holds: its cause names the timer, its `event` is the notice. No machine
 * is asked about it.
 */
export const DISCARDED = "engine.discarded";

/** Actions that the engine itself carries out; see `machines/action.ts` for their params. */
export const ENGINE_ACTIONS = ["deliver", "createActor", "cancelEffect", "abortEffect"] as const;
