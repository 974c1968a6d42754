/** `holdfast/actors`: durable XState actors on SQLite, the engine alone. */

import type { AnyStateMachine } from "xstate";
import { type Engine, type EngineOptions, openEngine, registerAll } from "./actor/engine.ts";
import { completeOptions } from "./actor/engine-option.ts";
import { type UpgradeReport, checkUpgrade as upgradeReports } from "./actor/upgrade.ts";
import { type OwnedStoreOptions, openOwnedStore, openRootReader } from "./store/root-store.ts";

export { abortEffect, cancelEffect, createActor, deliver, effect, engineActions } from "../machines/action.ts";
export type { Typed, TypesOf } from "../machines/infer.ts";
export type { ActorObserver, ActorRef, Answer, SendOptions } from "./actor/actor-ref.ts";
export type { Clock } from "./actor/clock.ts";
export type {
  EffectSchema,
  MachineSchemas,
  MigratedActor,
  Migration,
  StandardResult,
  StandardSchema,
  StoredActor,
  StoredEffect,
  StoredTimer,
} from "./actor/declaration.ts";
export type { CreateOptions, Engine, EngineOptions } from "./actor/engine.ts";
export { type CodeEntry, ENGINE_CODES, type ErrorDetails, HoldfastError } from "./actor/error.ts";
export type { Entry, WatchOptions } from "./actor/feed.ts";
export type { Fault } from "./actor/fold.ts";
export type { EffectCall, EffectHandler } from "./actor/handler.ts";
export type { Json } from "./actor/json.ts";
export type { Resolution } from "./actor/resolution.ts";
export type { Retained, RetentionPolicy } from "./actor/retention.ts";
export type {
  ActorFilter,
  ActorRow,
  EffectRow,
  Page,
  PlacedDeadLetterRow,
  Quarantine,
  TimerPolicy,
  TimerRow,
} from "./actor/store.ts";
export type { EngineEvent, Fact, Stamp } from "./actor/transition.ts";
export type { UpgradeReport } from "./actor/upgrade.ts";
export type { Verified } from "./actor/verify.ts";
export type { Expectation } from "./actor/work.ts";
export { type Adoption, type AdoptOptions, adoptRoot } from "./store/adopt.ts";
export { type Backup, type BackupOptions, backupRoot, type RestoreOptions, restoreRoot } from "./store/backup.ts";
export type { Root } from "./store/root.ts";

/** Where the state root is, and what lives in it. */
export interface OpenActorsOptions extends Omit<EngineOptions, "release">, Pick<OwnedStoreOptions, "busyTimeoutMs" | "synchronous"> {
  /** Directory of the state root; created, with mode 0700, where there is none. */
  readonly root: string;
}

/**
 * Opens a state root as its owner and recovers what an earlier process left. Throws `root_owned` while another process owns it,
 * `input_invalid` where an option is, `machine_invalid`, `machine_version_newer`, `schema_newer`, `root_invalid`, `root_insecure`,
 * `root_moved` where the directory was copied and not adopted, `journal_damaged`, `storage_failed`.
 */
export async function openActors(options: OpenActorsOptions): Promise<Engine> {
  const { root, busyTimeoutMs, synchronous, ...engineOptions } = options;
  const owned = openOwnedStore({ ...options, path: root, create: true });
  try {
    return await openEngine(owned.store, { ...engineOptions, release: () => owned.release() });
  } catch (error) {
    owned.release();
    throw error;
  }
}

/** Which root is checked against which machines. */
export interface CheckUpgradeOptions extends Pick<EngineOptions, "changed" | "contextLimit"> {
  readonly root: string;
  readonly machines: readonly AnyStateMachine[];
}

/**
 * Reports, without writing and without a lock, what these machines would make of each unfinished actor of a root: before a deploy.
 * Throws `input_invalid`, `machine_invalid`, `root_not_found`, `root_invalid`, `root_insecure`, `schema_newer`, `storage_failed`;
 * `schema_older` for a root that an older program wrote: look at a restored backup of it instead.
 */
export function checkUpgrade(options: CheckUpgradeOptions): UpgradeReport[] {
  const { root, ...engineOptions } = options;
  const { machines, changed, contextLimit, enclose } = completeOptions(engineOptions);
  const registrations = registerAll(machines);
  const reader = openRootReader(root);
  try {
    return reader.snapshot(() => [...upgradeReports(reader, registrations, enclose, changed, contextLimit)]);
  } finally {
    reader.close();
  }
}
