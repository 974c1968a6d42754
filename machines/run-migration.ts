/** Runs of version 1: they knew neither their workspace nor how many runs came before them, and asked persons without an actor for it. */

/** What a migration reads of a stored run. */
export interface Stored {
  readonly value: unknown;
  readonly context: any;
}

/** Version 2 refuses to guess: a run whose question has no actor of its own is parked, and finished by the version that asked. */
export const migrations = {
  "1": {
    to: "2",
    migrate: <Old extends Stored>(stored: Old): Old => {
      const { source, interaction } = stored.context;
      if (interaction !== null) throw new Error("it waits for an answer in the form of version 1");
      const bound = source.kind === "fresh" ? source : { ...source, boundary: null };
      return { ...stored, context: { ...stored.context, source: bound, workspace: null, depth: 1 } };
    },
  },
};
