/** Known: what a commit knows of an actor, and what it stands on. */

import type { AnyMachineSnapshot } from "xstate";
import type { Cause } from "./journal.ts";
import type { Registration } from "./registration.ts";
import type { EffectRow, StoreReader, TimerRow } from "./store.ts";
import type { Enclosure } from "./transition.ts";

/** An actor that can take events. Immutable but for its position: a transition makes a new one. */
export interface Live {
  readonly kind: "live";
  readonly address: string;
  readonly id: string;
  readonly registration: Registration;
  /** Digest of the definition that wrote its row. */
  readonly definition: string;
  readonly snapshot: AnyMachineSnapshot;
  /** The snapshot as its row has it, where that was made already. */
  readonly text: string | undefined;
  readonly seq: number;
  readonly hash: string;
  /** Position of its last stored entry, where that is known already. Moved on by the commit that writes the entry which led to this. */
  position: number | undefined;
  readonly epoch: number;
  readonly createdMs: number;
  readonly updatedMs: number;
  /** Effects that are requested and not settled. */
  readonly effects: readonly EffectRow[];
  /** Timers that are set. */
  readonly timers: readonly TimerRow[];
}

/** An actor that exists and cannot take events, with the code that says why. */
export interface Unavailable {
  readonly kind: "unavailable";
  readonly address: string;
  readonly code:
    | "actor_final"
    | "actor_quarantined"
    | "machine_changed"
    | "machine_unknown"
    | "machine_version_unknown"
    | "migration_failed";
  readonly message: string;
  readonly seq: number;
  /** What the group had made of it before it was set aside: those entries stay. */
  readonly last?: Live;
}

export type Known = Live | Unavailable;

/** Snapshots of earlier commits, by address. Emptied where another connection has committed. */
export type Cache = Map<string, Live>;

/** What the root of a draft reads from: the transaction and what the engine knows. */
export interface Ground {
  readonly reader: StoreReader;
  readonly cache: Cache;
  readonly registrations: ReadonlyMap<string, Registration>;
  readonly epoch: number;
  readonly enclose: Enclosure;
  readonly now: () => number;
  /** Characters of JSON that a snapshot may have. */
  readonly sizeLimit: number;
  /** What to do with an actor whose machine was changed under the same version. */
  readonly changed: "refuse" | "refold";
}

/** What an entry says. */
export interface EntryContent {
  readonly atMs: number;
  readonly version: string;
  readonly cause: Cause;
  readonly event: unknown;
  /** The event's JSON, where it is at hand. */
  readonly text?: string;
  readonly facts: unknown;
  readonly actions: unknown;
}
