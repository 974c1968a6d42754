/** Options of an engine: what it runs, and its bounds. */

import type { AnyStateMachine, InputFrom } from "xstate";
import { type Clock, systemClock, wholeClock } from "./clock.ts";
import type { Probe } from "./commit.ts";
import { engineError } from "./error.ts";
import type { EffectHandler } from "./handler.ts";
import { machineOf } from "./input.ts";
import { checkOwn, own } from "./own-schema.ts";
import type { SizeRules } from "./rules.ts";
import type { Enclosure } from "./transition.ts";

/** Characters of JSON that a snapshot may have, where nothing else is said. */
export const CONTEXT_LIMIT = 1_048_576;

/** What an engine runs, and its bounds. An option that is out of its bounds, or has another name, is `input_invalid`. */
export interface EngineOptions {
  /** Machines made by `setup({ schemas, … }).createMachine(…)`; each is checked, `machine_invalid` says what and where. */
  readonly machines: readonly AnyStateMachine[];
  /** A handler for each effect that the machines declare; `machine_invalid` where one lacks. Other names are taken no notice of. */
  readonly effects?: Readonly<Record<string, EffectHandler>>;
  readonly clock?: Clock;
  /** Transitions in one macrostep, 1 or more. Default 1,000. */
  readonly cascadeLimit?: number;
  /** Pieces of work in one transaction, 1 or more. Default 1,000. */
  readonly groupLimit?: number;
  /** Events that may wait for one actor, 1 or more. Default 10,000. */
  readonly mailboxLimit?: number;
  /** How long `close()` waits for handlers to take notice of their signal, in ms; 2,147,483,647 at most. Default 2,000. */
  readonly closeGraceMs?: number;
  /** Snapshots that stay in memory, 0 or more. Default 10,000. */
  readonly cacheLimit?: number;
  /**
   * What becomes of an unfinished actor whose machine has another definition under the same version. `refuse` (default): it is parked
   * as `machine_changed`. `refold`: it goes on where its whole journal, folded through the machine, gives the same facts and snapshot.
   */
  readonly changed?: "refuse" | "refold";
  /**
   * Characters of JSON that an actor's snapshot may have, 1 or more; beyond, a macrostep fails with `context_too_large`. Default
   * 1,048,576.
   */
  readonly contextLimit?: number;
  /** Characters of JSON beyond which a snapshot is worth a warning of the process, once per machine. Default 65,536. */
  readonly contextWarning?: number;
  /**
   * False: start no handler and no timer, recover nothing but what parked actors were told and can take now, only act. For a tool that
   * retries, resolves, releases or retains by hand: what it opens is for the next owner to start, to whom nothing else of recovery is
   * lost. Handlers need not be given. Default true.
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

const positive = own.optional(own.int().check(own.minimum(1)));
const orNone = own.optional(own.int().check(own.minimum(0)));
const isObject = (value: unknown) => typeof value === "object" && value !== null;
const isClock = (value: unknown) =>
  isObject(value) && (["now", "after"] as const).every((part) => typeof (value as Partial<Clock>)[part] === "function");
const called = own.optional(own.custom((value) => typeof value === "function", "is not a function"));
const optionsSchema = own.strictObject({
  machines: own.custom(Array.isArray, "is not a list of machines"),
  effects: own.optional(own.custom(isObject, "is not a record of handlers")),
  clock: own.optional(own.custom(isClock, "is not a clock")),
  cascadeLimit: positive,
  groupLimit: positive,
  mailboxLimit: positive,
  // No timer of Node's waits longer: it would end at once.
  closeGraceMs: own.optional(own.int().check(own.minimum(0), own.maximum(2_147_483_647))),
  cacheLimit: orNone,
  changed: own.optional(own.enum(["refuse", "refold"])),
  contextLimit: positive,
  contextWarning: orNone,
  start: own.optional(own.boolean()),
  release: called,
  probe: called,
  enclose: called,
});

/** The options with what is absent filled in. Throws `input_invalid` with the path. */
export function completeOptions(given: EngineOptions): Required<EngineOptions> {
  const checked = checkOwn(optionsSchema, given);
  if (!checked.ok) {
    const { issue } = checked;
    const path = [...issue.path, ...(issue.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [])].join(".") || "$";
    throw engineError("input_invalid", `the options are wrong at ${path}: ${issue.message}`, { details: { path } });
  }
  const { machines, effects = {}, clock = systemClock, changed = "refuse", start = true, release = () => {} } = given;
  const { cascadeLimit = 1000, groupLimit = 1000, mailboxLimit = 10_000, cacheLimit = 10_000, closeGraceMs = 2000 } = given;
  const { contextLimit = CONTEXT_LIMIT, contextWarning = 65_536, probe = () => {}, enclose = (transition) => transition() } = given;
  const whole = wholeClock(clock);
  if (!Number.isSafeInteger(whole.now()))
    throw engineError("input_invalid", "the options are wrong at clock: its now() gives no time in ms", { details: { path: "clock" } });
  return {
    ...{ machines, effects, clock: whole, changed, start, release, probe, enclose },
    ...{ cascadeLimit, groupLimit, mailboxLimit, cacheLimit, closeGraceMs, contextLimit, contextWarning },
  };
}

/** Large snapshots are said once per machine, for the fault is the machine's. */
export function sizeRules({ contextLimit, contextWarning }: Pick<Required<EngineOptions>, "contextLimit" | "contextWarning">): SizeRules {
  const warned = new Set<string>();
  return {
    limit: contextLimit,
    warnAt: contextWarning,
    warn(actor, size) {
      const machine = machineOf(actor);
      if (warned.has(machine)) return;
      warned.add(machine);
      process.emitWarning(`The snapshot of ${actor} has ${size} characters, and is written with each step: keep large values in blobs.`, {
        code: "HOLDFAST_LARGE_CONTEXT",
      });
    },
  };
}
