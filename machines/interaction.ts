/**
 * Interaction: a question to a person, or leave that a person gives or denies.
 *
 * It owns the question "what was answered?": the first durable answer stands. It is durable before anybody is shown it, outlives the
 * process and the run that asked, and gives its answer once, to whichever run of the turn waits for it.
 */

import { assign, emit, setup } from "xstate";
import { z } from "zod";
import { engineActions } from "./action.ts";
import { answer, interaction as asked, digest, id, runId, type Typed } from "./schema.ts";
import { withoutStamp } from "./stamp.ts";

const input = z.strictObject({ ...asked.shape, sessionId: id, turnId: id, runId });

const context = z.strictObject({
  ...input.shape,
  /** The run that waits for the answer; null while none does. */
  listener: runId.nullable(),
  answer: answer.nullable(),
});

const events = {
  "interaction.listen": z.strictObject({ runId }),
  "interaction.hold": z.strictObject({}),
  "interaction.answer": z.strictObject({ hash: digest, answer }),
  "interaction.close": z.strictObject({}),
};

const facts = {
  "interaction.asked": asked,
  /** The answer is the entry's own: `event.answer`. */
  "interaction.answered": z.strictObject({ interactionId: id }),
  "interaction.given": z.strictObject({ interactionId: id, runId }),
  "interaction.closed": z.strictObject({ interactionId: id, answered: z.boolean() }),
};

type Context = z.infer<typeof context>;
type Event = Typed<typeof events>;
type Of<Type extends Event["type"]> = Extract<Event, { type: Type }>;

/** Why an interaction does not take an answer now. */
function refusal({ context }: { value: unknown; context: Context }, event: Event): string | undefined {
  if (event.type !== "interaction.answer") return undefined;
  if (context.answer !== null) return "interaction_answered";
  return event.hash === context.hash ? "answer_unfit" : "interaction_changed";
}

const tell = {
  type: "deliver",
  params: ({ context }: { context: Context }) => ({
    to: `run/${context.listener}`,
    event: { type: "interaction.answered", interactionId: context.id, answer: context.answer },
  }),
} as const;
const answerWith = { guard: "answerFits", actions: ["recordAnswer", "answered"] } as const;

/** A question to a person, as a machine. */
export const interaction = setup({
  schemas: { input, context, events, facts, refusal },
  types: { input: {} as z.infer<typeof input>, context: {} as Context, events: {} as Event, emitted: {} as Typed<typeof facts> },
  actions: {
    ...engineActions,
    asked: emit(({ context: { id, kind, question, subject, hash } }) => ({
      type: "interaction.asked" as const,
      id,
      kind,
      question,
      subject,
      hash,
    })),
    answered: emit(({ context }) => ({ type: "interaction.answered" as const, interactionId: context.id })),
    given: emit(({ context }) => ({ type: "interaction.given" as const, interactionId: context.id, runId: context.listener ?? "" })),
    closed: emit(({ context }) => ({
      type: "interaction.closed" as const,
      interactionId: context.id,
      answered: context.answer !== null,
    })),
    recordListener: assign({ listener: ({ event }) => (event as Of<"interaction.listen">).runId }),
    forgetListener: assign({ listener: null }),
    recordAnswer: assign({ answer: ({ event }) => (event as Of<"interaction.answer">).answer }),
  },
  guards: {
    answerFits: ({ context, event }) => {
      const given = event as Of<"interaction.answer">;
      return given.hash === context.hash && (given.answer.kind === "decision") === (context.kind === "permission");
    },
  },
}).createMachine({
  id: "interaction",
  version: "1",
  description: "A question to a person, or leave that a person gives or denies.",
  context: ({ input }) => ({ ...withoutStamp(input), listener: null, answer: null }),
  entry: "asked",
  initial: "unawaited",
  states: {
    unawaited: {
      tags: "open",
      description: "Asked, durably. It can be answered, and no run waits for the answer: the turn is held, sealed or not there yet.",
      on: {
        "interaction.listen": { target: "awaited", actions: "recordListener" },
        "interaction.answer": { ...answerWith, target: "kept" },
        "interaction.close": "closed",
      },
    },
    awaited: {
      tags: "open",
      description: "Asked, durably, and a run waits for the answer.",
      on: {
        "interaction.answer": { ...answerWith, target: "given" },
        "interaction.hold": { target: "unawaited", actions: "forgetListener" },
        // The run outlived its process, and says again that it waits.
        "interaction.listen": { actions: "recordListener" },
        "interaction.close": "closed",
      },
    },
    kept: {
      description: "Answered, durably. The answer waits for the run that will go on with the turn.",
      on: {
        "interaction.listen": { target: "given", actions: "recordListener" },
        "interaction.close": "closed",
      },
    },
    given: { type: "final", description: "Answered, and the answer was given to a run, once.", entry: ["given", tell] },
    closed: { type: "final", description: "The turn ended before a run had an answer.", entry: "closed" },
  },
});
