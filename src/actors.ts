/** `holdfast/actors`: durable XState actors on SQLite, the engine alone. */

import { type Engine, type EngineOptions, openEngine } from "./actor/engine.ts";
import { type OwnedStoreOptions, openOwnedStore } from "./store/root-store.ts";

export { abortEffect, cancelEffect, createActor, deliver, effect, engineActions } from "../machines/action.ts";
export type { Typed, TypesOf } from "../machines/infer.ts";
export type { ActorRef, Answer, SendOptions } from "./actor/actor-ref.ts";
export type { Clock } from "./actor/clock.ts";
export type { CreateOptions, Engine, EngineOptions } from "./actor/engine.ts";
export { type CodeEntry, ENGINE_CODES, type ErrorDetails, HoldfastError } from "./actor/error.ts";
export type { Entry, WatchOptions } from "./actor/feed.ts";
export type { Fault } from "./actor/fold.ts";
export type { EffectCall, EffectHandler } from "./actor/handler.ts";
export type { Json } from "./actor/json.ts";
export type { Expectation } from "./actor/macrostep.ts";
export type { EffectSchema, MachineSchemas } from "./actor/registration.ts";
export type { ActorFilter, ActorRow, EffectRow, Page, PlacedDeadLetterRow, Quarantine } from "./actor/store.ts";
export type { EngineEvent, Fact, Stamp } from "./actor/transition.ts";
export type { Verified } from "./actor/verify.ts";

/** Where the state root is, and what lives in it. */
export interface OpenActorsOptions extends Omit<EngineOptions, "release">, Pick<OwnedStoreOptions, "busyTimeoutMs" | "synchronous"> {
  /** Directory of the state root; created, with mode 0700, where there is none. */
  readonly root: string;
}

/**
 * Opens a state root as its owner and recovers what an earlier process left. Throws `root_owned` while another process owns it,
 * `machine_invalid`, `machine_version_newer`, `schema_newer`, `root_invalid`, `root_insecure`.
 */
export async function openActors(options: OpenActorsOptions): Promise<Engine> {
  const owned = openOwnedStore({ ...options, path: options.root, create: true });
  try {
    return await openEngine(owned.store, { ...options, release: () => owned.release() });
  } catch (error) {
    owned.release();
    throw error;
  }
}
