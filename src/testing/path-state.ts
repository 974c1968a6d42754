/** Path state: what the model of a path knows of its actor. */

import type { AnyMachineSnapshot } from "xstate";
import type { EngineEvent } from "../actor/event.ts";
import type { EffectRow, TimerRow } from "../actor/store.ts";
import type { Trace } from "./path-trace.ts";

/** What is known of the actor. Never changed in place. */
export interface ModelState {
  readonly snapshot: AnyMachineSnapshot;
  /** Its last journal entry, and the event of that; none is looked at of the creation. */
  readonly seq: number;
  readonly event?: EngineEvent;
  readonly nowMs: number;
  readonly epoch: number;
  readonly effects: readonly EffectRow[];
  readonly timers: readonly TimerRow[];
  /** Keys of effects whose handlers were asked to stop. */
  readonly aborting: ReadonlySet<string>;
  /** Those of them that an event from outside asked to stop with the last move. */
  readonly abortedNow: ReadonlySet<string>;
  /** Identities by their owners. */
  readonly owned: ReadonlyMap<string, string>;
  /** Supervised actors that are set aside. */
  readonly aside: ReadonlySet<string>;
  /** What the last move did: `ignored` wrote nothing; `impossible`, the engine would refuse it for a reason that is not the machine's. */
  readonly last: "taken" | "ignored" | "impossible";
  readonly trace: Trace;
}
