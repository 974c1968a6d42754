/**
 * Denials: whether a person denied a permission in the runs that a continuation goes on from.
 *
 * A denial is inherited and a grant never is. Only a decision counts: a permission whose turn ended before anybody decided was not
 * denied. Evidence that cannot be read blocks, for a denial must not be lost by a fault.
 */

import type { StoreReader } from "../actor/store.ts";
import type { Segment } from "./boundary.ts";
import { agentError } from "./error.ts";
import { contextOf } from "./snapshot.ts";

/** An embedder's own record of denials: asked with all segments, oldest first. True: something was denied in one of them. */
export type LookUpDenials = (segments: readonly Segment[]) => boolean | Promise<boolean>;

/** Throws `denial_lookup_failed`, with its cause, where the record cannot be read. */
export async function isDenied(
  reader: StoreReader,
  segments: readonly Segment[],
  permissions: readonly string[],
  lookUp?: LookUpDenials,
): Promise<boolean> {
  try {
    const own = permissions.map((id) => isDeniedHere(reader, id)).includes(true);
    const theirs: unknown = lookUp ? await lookUp(segments) : false;
    if (typeof theirs !== "boolean") throw new TypeError("denials gives true or false");
    return own || theirs;
  } catch (cause) {
    throw agentError("denial_lookup_failed", "whether a permission was denied before could not be found out", { cause });
  }
}

function isDeniedHere(reader: StoreReader, id: string): boolean {
  const interaction = contextOf(reader, "interaction", id);
  if (!interaction) throw agentError("interaction_not_found", `there is no interaction ${id}`, { details: { actor: `interaction/${id}` } });
  return interaction.answer?.kind === "decision" && !interaction.answer.allow;
}
