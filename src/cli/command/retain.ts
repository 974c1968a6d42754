/** `holdfast retain`: forgets what is old and finished. */

import type { RetentionPolicy } from "../../actor/retention.ts";
import { agentError } from "../../agent/error.ts";
import { retainSessions, SESSION_PARTS } from "../../agent/retention.ts";
import { withEngine } from "../acting.ts";
import { EXIT } from "../exit.ts";
import { plural } from "../format.ts";
import type { CommonOptions, Result } from "../result.ts";
import type { Screen } from "../screen.ts";

/** Ages are in ms. */
export interface RetainOptions extends CommonOptions {
  readonly final?: number;
  readonly machine?: readonly string[];
  readonly state?: readonly string[];
  readonly keys?: number;
  readonly deadLetters?: number;
  readonly blobs?: number;
}

/** Removes what the options let go. Throws `argument_invalid`, `root_owned`. */
export async function retainCommand(options: RetainOptions, screen: Screen): Promise<Result> {
  const policy = policyOf(options);
  return withEngine({ root: options.root }, async (engine) => {
    screen.bar.update("looking for what is old");
    const went = await retainSessions(engine, policy);
    const told = [
      ...(policy.finalMs === undefined ? [] : [plural(went.actors, "final actor")]),
      ...(policy.keysMs === undefined ? [] : [plural(went.keys, "recorded answer")]),
      ...(policy.deadLettersMs === undefined ? [] : [plural(went.deadLetters, "dead letter")]),
      ...(policy.blobsMs === undefined ? [] : [plural(went.blobs, "blob")]),
    ];
    return { exit: EXIT.done, document: { ...went }, lines: [`Forgotten: ${told.join(", ")}.`] };
  });
}

function policyOf({ final, machine, state, keys, deadLetters, blobs }: RetainOptions): RetentionPolicy {
  const refuse = (field: string, problem: string) => agentError("argument_invalid", `${field}: ${problem}`, { details: { path: field } });
  if (final === undefined && (machine ?? state) !== undefined)
    throw refuse(machine ? "--machine" : "--state", "narrows what --final lets go; say --final AGE too");
  const part = machine?.find((name) => SESSION_PARTS.includes(name));
  if (part) throw refuse("--machine", `a ${part} goes with its session; say --machine session`);
  if ([final, keys, deadLetters, blobs].every((age) => age === undefined))
    throw agentError("argument_invalid", "say what may go: --final, --keys, --dead-letters or --blobs, each with an age", {
      details: { path: "--final" },
    });
  return {
    ...(final === undefined ? {} : { finalMs: final }),
    ...(machine === undefined ? {} : { machines: machine }),
    ...(state === undefined ? {} : { states: state }),
    ...(keys === undefined ? {} : { keysMs: keys }),
    ...(deadLetters === undefined ? {} : { deadLettersMs: deadLetters }),
    ...(blobs === undefined ? {} : { blobsMs: blobs }),
  };
}
