/**
 * Recovery: what the agent runtime settles after the engine, at each start and whenever it is asked.
 *
 * Guarantees: only what is unfinished is looked at; one that is damaged stops nobody else; a second time changes nothing.
 */

import { handoff as handoffMachine } from "../../machines/index.ts";
import type { Engine } from "../actor/engine.ts";
import { PAGE, pages } from "../actor/page.ts";
import { damageOf } from "./boundary.ts";
import { settlePlans } from "./work-plan.ts";

/** Sets damaged sources of sealed turns aside, and interrupts work plans whose turns have ended. Throws where the root fails. */
export async function settle(engine: Engine): Promise<void> {
  await setDamagedSourcesAside(engine);
  await settlePlans(engine);
}

/** A sealed run has ended, so nothing else would find out, before somebody resumes it, that its journal does not hold. */
async function setDamagedSourcesAside(engine: Engine): Promise<void> {
  const { reader } = engine;
  const unfinished = pages(
    (after) => engine.list({ machine: handoffMachine.id, status: "active", quarantined: false }, { after, limit: PAGE }),
    (row) => row.ordinal,
  );
  for (const { id } of unfinished) {
    const handoff = engine.get(handoffMachine, id)?.getSnapshot();
    const source = handoff?.hasTag("claimable") ? reader.actor(`run/${handoff.context.sourceRunId}`) : undefined;
    const damage = source && !source.quarantine ? damageOf(reader, source) : undefined;
    if (source && damage) await engine.setAside(source.address, "journal_damaged", damage);
  }
}
