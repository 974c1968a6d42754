/** What an engine commits by, without the engine: each group is asked for by hand, and what is remembered can be looked at. */

import type { AnyStateMachine } from "xstate";
import type { Journaled } from "../../src/actor/commit.ts";
import { register } from "../../src/actor/registration.ts";
import type { Store } from "../../src/actor/store.ts";
import type { Work } from "../../src/actor/work.ts";

/** Begins an ownership of a store by programs that have these machines. */
export function committing(store: Store, machines: readonly AnyStateMachine[], more: Partial<Journaled> = {}): Journaled {
  const registrations = new Map(machines.map((machine) => [machine.id, register(machine)]));
  const size = { limit: 1_000_000, warnAt: 1_000_000, warn: () => {} };
  const rules = { registrations, cascadeLimit: 100, enclose: <T>(act: () => T) => act(), now: () => 1000, size };
  const common = { cache: new Map(), cacheLimit: 10, changed: "refuse" as const, probe: () => {} };
  return { store, epoch: store.beginEpoch(1000), rules, ...common, ...more };
}

export function creation(machine: string, id: string, input: object = {}): Work {
  return { kind: "create", machine, id, input, keys: [] };
}

export function sent(to: string, event: { type: string; [key: string]: unknown }): Work {
  return { kind: "event", to, event };
}

export function setAside(actor: string): Work {
  return { kind: "setAside", actor, code: "journal_damaged", message: "damaged" };
}
