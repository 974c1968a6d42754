/** `holdfast retry KEY`: opens an effect again that is exhausted, or of which nobody knows whether it ran. */

import { type ActingOptions, waitsForOwner, withEngine } from "../acting.ts";
import { EXIT } from "../exit.ts";
import { oneLine } from "../format.ts";
import { findEffect } from "../id.ts";
import { listEffect } from "../list/waiting.ts";
import type { Result } from "../result.ts";
import type { Screen } from "../screen.ts";

/** Throws `effect_gone`, `effect_at_work`, `ambiguous`, what makes the actor unavailable, and `root_owned`. */
export async function retryCommand(given: string, options: ActingOptions, screen: Screen): Promise<Result> {
  return withEngine(options, async (engine) => {
    const before = findEffect(engine.reader, given);
    const { item } = listEffect(engine.reader, before, (name) => name);
    await engine.retry(before.key);
    const { key, actor, name } = before;
    return {
      exit: EXIT.done,
      document: {
        effect: key,
        actor,
        name,
        state: engine.reader.effect(key)?.state ?? null,
        was: { state: item.state, error: item.error },
      },
      lines: [
        `${screen.style("green", "open")}  ${oneLine(name)} of ${oneLine(actor)}; it was ${oneLine(before.state)}`,
        ...waitsForOwner([{ name }]),
      ],
    };
  });
}
