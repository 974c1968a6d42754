/**
 * Runs of version 1: they knew neither their workspace nor how many runs came before them, and asked persons without an actor for it.
 * Runs of version 2 did in vain, when they were completed, what only those have to do that end otherwise.
 */

import { unchanged } from "./schema.ts";

/** What a migration reads of a stored run. */
export interface Stored {
  readonly value: unknown;
  readonly context: any;
}

/**
 * A question of version 1 in the form of version 2. No actor stands behind it, so nobody can answer it any more: whoever waits for the
 * answer is stopped, and continued.
 */
export function asked(interaction: { readonly id: string; readonly question: string } | null, runId: string) {
  if (interaction === null) return null;
  const { id, question } = interaction;
  return { id: `${runId}.${id}`.slice(0, 256), kind: "question", question, subject: null, hash: "0".repeat(64) };
}

/** A seal, or its preview, of version 1. */
export function sealed<Seal extends { readonly interaction: any }>(seal: Seal | null, runId: string) {
  return seal && { ...seal, interaction: asked(seal.interaction, runId) };
}

export const migrations = {
  "1": {
    to: "2",
    migrate: <Old extends Stored>(stored: Old): Old => {
      const { source, interaction, preview, runId, stopBeforeDispatch } = stored.context;
      const bound = source.kind === "fresh" ? source : { ...source, boundary: null };
      const migrated = { source: bound, workspace: null, depth: 1, stopBeforeDispatch: stopBeforeDispatch ? "user" : null };
      const questions = { interaction: asked(interaction, runId), preview: sealed(preview, runId) };
      return { ...stored, context: { ...stored.context, ...migrated, ...questions } };
    },
  },
  "2": { to: "3", migrate: unchanged },
};
