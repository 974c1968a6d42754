/** `holdfast release ID`: takes an actor out of quarantine after a check, and delivers what waited for it. */

import { WAITING } from "../../actor/letter.ts";
import { PAGE, pages } from "../../actor/page.ts";
import type { StoreReader } from "../../actor/store.ts";
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
    const before = findActor(engine.reader, given);
    const { address } = before;
    const dead = lettersTo(engine.reader, address);
    const waited = dead.filter((reason) => WAITING.includes(reason)).length;
    await engine.release(address, { discard: options.discard === true });
    const left = lettersTo(engine.reader, address).length - (dead.length - waited);
    const after = engine.reader.actor(address) ?? before;
    const open = openedSince(engine, address, new Set());
    return {
      exit: EXIT.done,
      document: { ...stateOf(after), was: before.quarantine?.code ?? null, delivered: waited - left, left, open },
      lines: [
        `${screen.style("green", "released")}  ${oneLine(address)} is ${oneLine(after.state)}${after.status === "final" ? ", where it ends" : ""}; it was set aside as ${oneLine(before.quarantine?.code ?? "")}`,
        ...(waited > 0 ? [`${plural(waited, "dead letter")} waited for it: ${waited - left} delivered, ${left} left and listed.`] : []),
        ...waitsForOwner(open),
      ],
    };
  });
}

/** Why the dead letters to an actor are such. */
function lettersTo(reader: StoreReader, receiver: string): string[] {
  const letters = pages(
    (after) => reader.deadLetters({ receiver }, { after, limit: PAGE }),
    (row) => row.position,
  );
  return Array.from(letters, ({ reason }) => reason);
}
