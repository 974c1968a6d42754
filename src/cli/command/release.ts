/** `holdfast release ID`: takes an actor out of quarantine after a check, and delivers what waited for it. */

import type { Engine } from "../../actor/engine.ts";
import { type ActingOptions, openedSince, stateOf, waitsForOwner, withEngine } from "../acting.ts";
import { EXIT } from "../exit.ts";
import { oneLine, plural } from "../format.ts";
import { findActor } from "../id.ts";
import type { Result } from "../result.ts";
import type { Screen } from "../screen.ts";

export interface ReleaseOptions extends ActingOptions {
  readonly discard?: boolean;
}

/** Throws `actor_not_found`, `actor_not_quarantined`, `ambiguous`, the fault that is still there, and `root_owned`. */
export async function releaseCommand(given: string, options: ReleaseOptions, screen: Screen): Promise<Result> {
  return withEngine(options, async (engine) => {
    const before = findActor(engine.store, given);
    const { address } = before;
    const waited = lettersTo(engine, address, "actor_quarantined");
    const dead = lettersTo(engine, address);
    await engine.release(address, { discard: options.discard === true });
    const left = lettersTo(engine, address) - (dead - waited);
    const after = engine.store.actor(address) ?? before;
    const open = openedSince(engine, address, new Set());
    return {
      exit: EXIT.done,
      document: { ...stateOf(after), was: before.quarantine?.code ?? null, delivered: waited - left, left, open },
      lines: [
        `${screen.style("green", "released")}  ${oneLine(address)} is ${after.state}${after.status === "final" ? ", where it ends" : ""}; it was set aside as ${before.quarantine?.code}`,
        ...(waited > 0 ? [`${plural(waited, "dead letter")} waited for it: ${waited - left} delivered, ${left} left and listed.`] : []),
        ...waitsForOwner(open),
      ],
    };
  });
}

/** Dead letters to an actor. */
function lettersTo(engine: Engine, receiver: string, reason?: string): number {
  const filter = { receiver, ...(reason === undefined ? {} : { reason }) };
  let count = 0;
  for (let after = 0; ; ) {
    const page = engine.deadLetters(filter, { after, limit: 1000 });
    count += page.length;
    const last = page.at(-1);
    if (!last || page.length < 1000) return count;
    after = last.position;
  }
}
