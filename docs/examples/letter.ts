/** A letter that is posted at most once: where nobody knows whether it was, a person looks. */

import { effect, type TypesOf } from "holdfast/actors";
import { setup } from "xstate";
import { z } from "zod";

const schemas = {
  input: z.object({ to: z.string() }),
  context: z.object({ to: z.string() }),
  events: {
    "post.done": z.object({ output: z.null(), effect: z.string() }),
    "post.failed": z.object({ error: z.object({ code: z.string(), message: z.string() }), effect: z.string() }),
    "effect.unknown": z.object({ effect: z.string(), name: z.string() }),
  },
  facts: {},
  effects: {
    post: { params: z.object({ to: z.string() }), done: "post.done", failed: "post.failed", delivery: "at_most_once" },
  },
} as const;

export const letter = setup({
  schemas,
  types: {} as TypesOf<typeof schemas>,
  actions: { post: effect<{ to: string }>() },
}).createMachine({
  id: "letter",
  version: "1",
  context: ({ input }) => ({ to: input.to }),
  initial: "posting",
  states: {
    posting: {
      entry: { type: "post", params: ({ context }) => ({ to: context.to }) },
      on: { "post.done": "posted", "post.failed": "kept", "effect.unknown": "unsure" },
    },
    posted: { type: "final" },
    kept: { type: "final" },
    unsure: { type: "final", description: "The process died while it was posted: it may be in the post, or not." },
  },
});
