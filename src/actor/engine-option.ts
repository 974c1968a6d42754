/** Options of an engine: what it runs, and its bounds. */

import type { AnyStateMachine, InputFrom } from "xstate";
import type { Clock } from "./clock.ts";
import type { Probe } from "./commit.ts";
import type { EffectHandler } from "./handler.ts";
import type { SizeRules } from "./rules.ts";
import type { Enclosure } from "./transition.ts";

/** What an engine runs, and its bounds. */
export interface EngineOptions {
  /** Machines made by `setup({ schemas, … }).createMachine(…)`; each is checked, `machine_invalid` says what and where. */
  readonly machines: readonly AnyStateMachine[];
  /** A handler for each effect that the machines declare. */
  readonly effects?: Readonly<Record<string, EffectHandler>>;
  readonly clock?: Clock;
  /** Transitions in one macrostep. Default 1,000. */
  readonly cascadeLimit?: number;
  /** Pieces of work in one transaction. Default 1,000. */
  readonly groupLimit?: number;
  /** Events that may wait for one actor. Default 10,000. */
  readonly mailboxLimit?: number;
  /** How long `close()` waits for handlers to take notice of their signal, in ms. Default 2,000. */
  readonly closeGraceMs?: number;
  /** Snapshots that stay in memory. Default 10,000. */
  readonly cacheLimit?: number;
  /**
   * What becomes of an unfinished actor whose machine has another definition under the same version. `refuse` (default): it is parked
   * as `machine_changed`. `refold`: it goes on where its whole journal, folded through the machine, gives the same facts and snapshot.
   */
  readonly changed?: "refuse" | "refold";
  /** Characters of JSON that an actor's snapshot may have; beyond, a macrostep fails with `context_too_large`. Default 1,048,576. */
  readonly contextLimit?: number;
  /** Characters of JSON beyond which a snapshot is worth a warning of the process, once per machine. Default 65,536. */
  readonly contextWarning?: number;
  /**
   * False: recover nothing, start no handler and no timer, only act. For a tool that retries, resolves, releases or retains by hand:
   * what it opens is for the next owner to start, to whom nothing of recovery is lost. Handlers need not be given. Default true.
   */
  readonly start?: boolean;
  /** Called once by `close()`, after the last commit: closes the store and gives the root up. */
  readonly release?: () => void;
  /** For tests: called at each fault point. */
  readonly probe?: Probe;
  /** For tests: encloses each transition, as the purity trap does. */
  readonly enclose?: Enclosure;
}

/** How an actor is created. */
export interface CreateOptions<Machine extends AnyStateMachine> {
  readonly input: InputFrom<Machine>;
  /** Identities that the new actor shall own besides its address; `identity_taken` where one is owned already. */
  readonly keys?: readonly string[];
}

/** Large snapshots are said once per machine, for the fault is the machine's. */
export function sizeRules({ contextLimit = 1_048_576, contextWarning = 65_536 }: EngineOptions): SizeRules {
  const warned = new Set<string>();
  return {
    limit: contextLimit,
    warnAt: contextWarning,
    warn(actor, size) {
      const machine = actor.slice(0, actor.indexOf("/"));
      if (warned.has(machine)) return;
      warned.add(machine);
      process.emitWarning(`The snapshot of ${actor} has ${size} characters, and is written with each step: keep large values in blobs.`, {
        code: "HOLDFAST_LARGE_CONTEXT",
      });
    },
  };
}
