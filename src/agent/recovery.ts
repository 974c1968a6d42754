/**
 * Recovery: what the agent runtime settles after the engine, at each start and whenever it is asked.
 *
 * Guarantees: only what is unfinished is looked at; one that is damaged or parked keeps its place and stops nobody else; a second time
 * changes nothing.
 */

import { handoff as handoffMachine, run as runMachine, workPlan } from "../../machines/index.ts";
import type { Engine } from "../actor/engine.ts";
import { HoldfastError } from "../actor/error.ts";
import { PAGE, pages } from "../actor/page.ts";
import type { ActorRow } from "../actor/store.ts";
import { damageOf } from "./boundary.ts";
import { isRootFailure } from "./error.ts";

/** Sets damaged sources of sealed turns aside, and interrupts work plans whose turns have ended. Throws where the root fails. */
export async function settle(engine: Engine): Promise<void> {
  await eachUnfinished(engine, handoffMachine.id, (id) => setDamagedSourceAside(engine, id));
  await eachUnfinished(engine, workPlan.id, (id) => settlePlan(engine, id));
}

/** Does it for every actor of a machine that has not ended, a page at once, so that they share commits. */
async function eachUnfinished(engine: Engine, machine: string, act: (id: string) => Promise<void>): Promise<void> {
  const unfinished = pages(
    (after) => engine.list({ machine, status: "active", quarantined: false }, { after, limit: PAGE }),
    (row) => row.ordinal,
  );
  let together: Promise<void>[] = [];
  for (const { id } of unfinished) {
    together.push(act(id).catch(unlessOfOneActor));
    if (together.length < PAGE) continue;
    await Promise.all(together);
    together = [];
  }
  await Promise.all(together);
}

/** What is wrong with one actor is listed there, and its own ways out are taken; anything else is not to be passed over. */
function unlessOfOneActor(error: unknown): void {
  if (!(error instanceof HoldfastError) || isRootFailure(error)) throw error;
}

/** A sealed run has ended, so nothing else would find out, before somebody resumes it, that its journal does not hold. */
async function setDamagedSourceAside(engine: Engine, id: string): Promise<void> {
  const handoff = engine.get(handoffMachine, id)?.getSnapshot();
  const source = handoff?.hasTag("claimable") ? engine.reader.actor(`run/${handoff.context.sourceRunId}`) : undefined;
  if (!source || source.quarantine) return;
  const damage = damageOf(engine.reader, source);
  if (damage) await engine.setAside(source.address, "journal_damaged", damage);
  else await setUnreadableAside(engine, source);
}

async function setUnreadableAside(engine: Engine, { address, id }: ActorRow): Promise<void> {
  try {
    engine.get(runMachine, id)?.getSnapshot();
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "snapshot_damaged") throw error;
    await engine.setAside(address, error.code, error.message);
  }
}

/** After a recovery nobody goes on with a plan unasked whose last turn has ended. */
async function settlePlan(engine: Engine, id: string): Promise<void> {
  const plan = engine.get(workPlan, id);
  if (plan?.can({ type: "plan.recover" })) await plan.send({ type: "plan.recover" });
}
