/** `holdfast resolve KEY`: settles an effect by hand; its machine takes the outcome as if its handler had given it. */

import type { Resolution } from "../../actor/resolution.ts";
import { agentError } from "../../agent/error.ts";
import { type ActingOptions, openedSince, stateOf, waitsForOwner, withEngine } from "../acting.ts";
import { EXIT } from "../exit.ts";
import { oneLine } from "../format.ts";
import { findEffect } from "../id.ts";
import type { Result } from "../result.ts";
import type { Screen } from "../screen.ts";

export interface ResolveOptions extends ActingOptions {
  /** JSON text. */
  readonly output?: string;
  /** `CODE` or `CODE:MESSAGE`. */
  readonly error?: string;
}

/** Throws `effect_gone`, `effect_at_work`, `effect_result_invalid`, `machine_threw` and its like, `ambiguous`, what makes the actor unavailable, and `root_owned`. */
export async function resolveCommand(given: string, options: ResolveOptions, screen: Screen): Promise<Result> {
  const outcome = resolutionOf(options);
  return withEngine(options, async (engine) => {
    const { key, actor, name } = findEffect(engine.reader, given);
    const before = engine.reader.actor(actor);
    const known = new Set(engine.effects({ actor }, { limit: 1000 }).map((effect) => effect.key));
    await engine.resolve(key, outcome);
    const after = engine.reader.actor(actor);
    const opened = openedSince(engine, actor, known);
    const kind = "output" in outcome ? "done" : "failed";
    return {
      exit: EXIT.done,
      document: { effect: key, name, outcome: kind, was: before?.state ?? null, ...(after ? stateOf(after) : { actor }), opened },
      lines: [
        `${screen.style("green", "settled")}  ${oneLine(name)} of ${oneLine(actor)} ${kind === "done" ? "is done" : "has failed"}`,
        `${oneLine(actor)}: ${moved(before?.state, after?.state)}${after?.status === "final" ? ", where it ends" : ""}`,
        ...waitsForOwner(opened),
      ],
    };
  });
}

function moved(from: string | undefined, to: string | undefined): string {
  return oneLine(from === to ? `still ${to}` : `${from} → ${to}`);
}

function resolutionOf({ output, error }: ResolveOptions): Resolution {
  const refuse = (field: string, problem: string, cause?: unknown) =>
    agentError("argument_invalid", `${field}: ${problem}`, { cause, details: { path: field } });
  if ((output === undefined) === (error === undefined)) throw refuse("--output", "say one of --output JSON and --error CODE[:MESSAGE]");
  if (output !== undefined) {
    try {
      return { output: JSON.parse(output) };
    } catch (cause) {
      throw refuse("--output", `expected JSON, such as '"text"', 17 or '{"a":1}'`, cause);
    }
  }
  const [, code, message] = /^([a-z][a-z0-9_.-]{0,127})(?::(.*))?$/s.exec(error ?? "") ?? [];
  if (code === undefined)
    throw refuse("--error", "expected a code in small letters, then a colon and a message if wanted: card_declined:No");
  return { error: { code, message: message?.trim() || `resolved by hand as ${code}` } };
}
