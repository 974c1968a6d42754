/**
 * Denials: whether a person denied a permission in the runs that a continuation goes on from.
 *
 * A denial is inherited and a grant never is. Only a decision counts: a permission whose turn ended before anybody decided was not
 * denied. Evidence that cannot be read blocks, for a denial must not be lost by a fault.
 */

import { differenceAt } from "../actor/json.ts";
import { wholeEntriesOf } from "../actor/page.ts";
import type { StoreReader } from "../actor/store.ts";
import { damageOf, type Segment } from "./boundary.ts";
import { agentError } from "./error.ts";
import type { History } from "./history.ts";
import { contextOf } from "./snapshot.ts";

/** An embedder's own record of denials: asked with all segments, oldest first. True: something was denied in one of them. */
export type LookUpDenials = (segments: readonly Segment[]) => boolean | Promise<boolean>;

/** Throws `denial_lookup_failed`, with its cause, where the record cannot be read. */
export async function lookUpDenials(
  reader: StoreReader,
  segments: readonly Segment[],
  { isDenied, undecided }: Pick<History, "isDenied" | "undecided">,
  lookUp?: LookUpDenials,
): Promise<boolean> {
  try {
    // Each is looked at, whatever the others say: one that cannot be read blocks.
    const own = [isDenied, ...undecided.map((id) => isDeniedUnheard(reader, id))].includes(true);
    const theirs: unknown = lookUp ? await lookUp(segments) : false;
    if (typeof theirs !== "boolean") throw new TypeError("denials gives true or false");
    return own || theirs;
  } catch (cause) {
    throw agentError("denial_lookup_failed", "whether a permission was denied before could not be found out", { cause });
  }
}

/** What a person decided and no run was told; nothing vouches for it but the interaction itself, so all of it is checked. */
function isDeniedUnheard(reader: StoreReader, id: string): boolean {
  const row = reader.actor(`interaction/${id}`);
  const interaction = contextOf(reader, "interaction", id);
  if (!row || !interaction)
    throw agentError("interaction_not_found", `there is no interaction ${id}`, { details: { actor: `interaction/${id}` } });
  const fault = (problem: string) => agentError("snapshot_damaged", `${row.address} ${problem}`, { details: { actor: row.address } });
  if (row.quarantine) throw fault(`is set aside: ${row.quarantine.message}`);
  const damage = damageOf(reader, row);
  if (damage) throw fault(damage);
  const told = [...wholeEntriesOf(reader, row.address)].findLast(({ facts }) => facts.includes('"interaction.answered"'));
  const answer = told === undefined ? null : JSON.parse(told.event).answer;
  if (differenceAt(answer, interaction.answer)) throw fault("says another answer than its journal");
  return answer?.kind === "decision" && !answer.allow;
}
