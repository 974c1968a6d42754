/**
 * Handoff: moving a live turn from its run to a successor run.
 *
 * Until the seal it follows what the run decides. From the seal on it owns the question "who continues this turn?": it gives the
 * claim once, and the successor that it creates is the only one there can be.
 */

import { and, assign, emit, setup } from "xstate";
import { z } from "zod";
import { engineActions } from "./action.ts";
import { doubts, evidence } from "./evidence.ts";
import { sealed } from "./run-migration.ts";
import {
  composition,
  configuration,
  digest,
  handoffIds,
  head,
  id,
  LINEAGE_LIMIT,
  origin,
  outcome,
  seal,
  seq,
  stopper,
  type Typed,
} from "./schema.ts";
import { withoutStamp } from "./stamp.ts";

const input = z.strictObject({
  ...handoffIds.shape,
  sessionId: id,
  turnId: id,
  rootRunId: id,
  sourceRunId: id,
  configuration,
  origin,
  /** The source run's; its successor has one more. */
  depth: z.number().int().positive().max(LINEAGE_LIMIT),
});

const context = z.strictObject({
  ...input.shape,
  preview: seal.nullable(),
  seal: seal.nullable(),
  /** Journal entry of the source run that holds the seal. */
  sealSeq: seq.nullable(),
  outcome: outcome.nullable(),
});

const events = {
  "handoff.held": z.strictObject({ preview: seal }),
  "handoff.committed": z.strictObject({}),
  "handoff.cancelled": z.strictObject({}),
  "handoff.sealed": z.strictObject({ seal, seq }),
  /** Observed outside: the head of the sealed run, its composition as stored, and what was seen around it. */
  "handoff.resume": z.strictObject({ source: head, sourceComposition: composition.nullable(), evidence }),
  "handoff.stop": z.strictObject({ by: stopper }),
  "run.ended": z.strictObject({ outcome }),
  "successor.dispatched": z.strictObject({}),
  "successor.sealed": z.strictObject({}),
  "successor.ended": z.strictObject({ outcome }),
};

const facts = {
  "handoff.claimed": z.strictObject({
    claimId: id,
    successorRunId: id,
    source: head.nullable(),
    boundary: digest.nullable(),
    stopped: z.boolean(),
  }),
  "handoff.resumed": z.strictObject({ successorRunId: id }),
  "handoff.ended": z.strictObject({ as: z.enum(["cancelled", "declined", "failed"]), outcome: outcome.nullable() }),
};

/** Version 1 did not know how many runs a turn had. */
const migrations = {
  "1": {
    to: "2",
    migrate: <Stored extends { readonly context: any }>(stored: Stored): Stored => ({
      ...stored,
      context: {
        ...stored.context,
        depth: 1,
        preview: sealed(stored.context.preview, stored.context.sourceRunId),
        seal: sealed(stored.context.seal, stored.context.sourceRunId),
      },
    }),
  },
};

type Context = z.infer<typeof context>;
type Event = Typed<typeof events>;
type Resume = Extract<Event, { type: "handoff.resume" }>;
type Stop = Extract<Event, { type: "handoff.stop" }>;

/** Why a handoff does not give its claim now. */
function refusal(snapshot: { value: unknown; context: Context }, event: Event): string | undefined {
  if (event.type === "handoff.resume") {
    if (snapshot.value === "claimed") return "continuation_claim_conflict";
    if (snapshot.value !== "sealed") return "not_sealed";
    if (event.source.runId !== snapshot.context.sourceRunId || event.source.seq !== snapshot.context.sealSeq)
      return "source_identity_changed";
    return doubts(event.evidence, "handoff")[0] ?? "source_composition_missing";
  }
  if (event.type !== "handoff.stop") return undefined;
  return snapshot.value === "claimed" ? "stop_in_progress" : "not_sealed";
}

function successor(context: Context, resume: Resume | undefined, stopBeforeDispatch: Stop["by"] | null) {
  return {
    machine: "run",
    id: context.successorRunId,
    // One run at most starts from a boundary, whoever asks.
    keys: [`boundary/${context.sourceRunId}`],
    input: {
      sessionId: context.sessionId,
      turnId: context.turnId,
      runId: context.successorRunId,
      rootRunId: context.rootRunId,
      previousRunId: context.sourceRunId,
      configuration: context.configuration,
      origin: context.origin,
      source: {
        kind: "handoff",
        handoffId: context.handoffId,
        claimId: context.claimId,
        runId: context.sourceRunId,
        head: resume?.source ?? null,
        boundary: resume?.evidence.boundary ?? null,
        denied: resume?.evidence.denied ?? false,
      },
      text: null,
      stepsLeft: context.seal?.remainingSteps ?? null,
      expected: resume?.sourceComposition ?? null,
      interaction: context.seal?.interaction ?? null,
      stopBeforeDispatch,
      depth: context.depth + 1,
      reconciled: [],
      copied: null,
    },
  };
}

const tellSession = {
  type: "deliver",
  params: ({ context }: { context: Context }) => ({
    to: `session/${context.sessionId}`,
    event: { type: "turn.resumed", runId: context.successorRunId },
  }),
} as const;

/** A live turn's way from its run to its only successor, as a machine. */
export const handoff = setup({
  schemas: {
    input,
    context,
    events,
    facts,
    refusal,
    migrations,
    supervisor: ({ sessionId }: z.infer<typeof input>) => `session/${sessionId}`,
  },
  types: { input: {} as z.infer<typeof input>, context: {} as Context, events: {} as Event, emitted: {} as Typed<typeof facts> },
  actions: {
    ...engineActions,
    recordPreview: assign(({ event }) => ({ preview: (event as Extract<Event, { type: "handoff.held" }>).preview })),
    recordSeal: assign(({ event }) => {
      const { seal, seq } = event as Extract<Event, { type: "handoff.sealed" }>;
      return { seal, sealSeq: seq };
    }),
    recordOutcome: assign(({ event }) => ({ outcome: (event as Extract<Event, { outcome: unknown }>).outcome })),
    claimed: emit(({ context, event }) => ({
      type: "handoff.claimed" as const,
      claimId: context.claimId,
      successorRunId: context.successorRunId,
      source: event.type === "handoff.resume" ? event.source : null,
      boundary: event.type === "handoff.resume" ? event.evidence.boundary : null,
      stopped: event.type === "handoff.stop",
    })),
    resumed: emit(({ context }) => ({ type: "handoff.resumed" as const, successorRunId: context.successorRunId })),
    ended: emit(({ context }, params: { as: "cancelled" | "declined" | "failed" }) => ({
      type: "handoff.ended" as const,
      as: params.as,
      outcome: context.outcome,
    })),
  },
  guards: {
    sourceIsUnchanged: ({ context, event }) => {
      const { source } = event as Resume;
      return source.runId === context.sourceRunId && source.seq === context.sealSeq;
    },
    nothingHasChangedAround: ({ event }) => doubts((event as Resume).evidence, "handoff").length === 0,
    sourceCompositionIsThere: ({ event }) => (event as Resume).sourceComposition !== null,
  },
}).createMachine({
  id: "handoff",
  version: "2",
  description: "Moving a live turn from its run to the only successor that its seal names.",
  context: ({ input }) => ({ ...withoutStamp(input), preview: null, seal: null, sealSeq: null, outcome: null }),
  initial: "requested",
  states: {
    requested: {
      description: "The run knows of the request and goes on; all identities of the successor are fixed and reserved.",
      on: {
        "handoff.held": { target: "boundary", actions: "recordPreview" },
        "handoff.cancelled": "cancelled",
        "run.ended": { target: "declined", actions: "recordOutcome" },
      },
    },
    boundary: {
      description: "The run is held between two steps; the preview is the exact seal that a commit leads to. Nothing is decided.",
      on: {
        "handoff.committed": "paused",
        "handoff.cancelled": "cancelled",
        "run.ended": { target: "declined", actions: "recordOutcome" },
      },
    },
    paused: {
      description: "The handoff is decided, durably; the seal is not written yet. Only a stop of the run can still end it.",
      on: {
        "handoff.sealed": { target: "sealed", actions: "recordSeal" },
        "run.ended": { target: "failed", actions: "recordOutcome" },
      },
    },
    sealed: {
      tags: "claimable",
      description: "The source run is sealed. Nobody has claimed the turn; it waits, for as long as it takes, for its successor.",
      on: {
        "handoff.resume": {
          guard: and(["sourceIsUnchanged", "nothingHasChangedAround", "sourceCompositionIsThere"]),
          target: "claimed",
          actions: ["claimed", tellSession, { type: "createActor", params: ({ context, event }) => successor(context, event, null) }],
        },
        "handoff.stop": {
          target: "claimed",
          actions: [
            "claimed",
            tellSession,
            { type: "createActor", params: ({ context, event }) => successor(context, undefined, event.by) },
          ],
        },
      },
    },
    claimed: {
      description: "The claim is given and the successor exists; it has not been dispatched.",
      on: {
        "successor.dispatched": "resumed",
        // It was handed off itself before it took a step, as a run that waits for a person can be.
        "successor.sealed": "resumed",
        "successor.ended": { target: "failed", actions: "recordOutcome" },
      },
    },
    resumed: {
      type: "final",
      description: "The successor was dispatched, or handed off itself: the turn goes on there.",
      entry: "resumed",
    },
    failed: {
      type: "final",
      description: "Decided, and not continued: the run was stopped before the seal, or the successor ended before its dispatch.",
      entry: { type: "ended", params: { as: "failed" } },
    },
    cancelled: {
      type: "final",
      description: "Withdrawn before it was decided; the run went on.",
      entry: { type: "ended", params: { as: "cancelled" } },
    },
    declined: { type: "final", description: "The run ended before it was decided.", entry: { type: "ended", params: { as: "declined" } } },
  },
});
