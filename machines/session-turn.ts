/** How a session begins turns: the inputs of the runs that it creates. */

import type { Context, Input, Of } from "./session-schema.ts";

type Begin = Of<"session.send"> | Of<"session.continue">;

/** A new turn's root run. It owns its turn and, where it continues another run, that run's boundary. */
export function rootRun({ context, event }: { context: Context; event: Begin }) {
  const continued = event.type === "session.continue" ? event : null;
  return {
    machine: "run",
    id: event.runId,
    keys: [`turn/${event.turnId}`, ...(continued ? [`boundary/${continued.source.runId}`] : [])],
    input: {
      ...common(context, event),
      previousRunId: continued?.source.runId ?? context.lastRunId,
      origin: event.origin,
      source: continued ? plainSource(continued) : { kind: "fresh" },
      text: event.type === "session.send" ? event.text : null,
      stepsLeft: event.maxSteps,
      depth: continued?.depth ?? 1,
      reconciled: continued?.reconciled ?? [],
      copied: null,
    },
  };
}

function plainSource({ source, evidence: { boundary, denied } }: Of<"session.continue">) {
  return { kind: "plain", head: source, boundary, denied, runId: source.runId };
}

/** The runs of a copy: each has ended when it is made, and holds what its turn stated. */
export function copiedRuns(context: Context, { turns, sessionId }: NonNullable<Input["copied"]>) {
  return turns.map(({ turnId, runId, from, origin, facts, outcome }, index) => ({
    machine: "run",
    id: runId,
    keys: [`turn/${turnId}`],
    input: {
      ...common(context, { turnId, runId }),
      previousRunId: turns[index - 1]?.runId ?? null,
      origin,
      source: { kind: "copy", sessionId, turnId: from.turnId, runIds: from.runIds },
      text: null,
      stepsLeft: null,
      depth: 1,
      reconciled: [],
      copied: { facts, outcome },
    },
  }));
}

function common({ sessionId, configuration }: Context, { turnId, runId }: { turnId: string; runId: string }) {
  return { sessionId, turnId, runId, rootRunId: runId, configuration, expected: null, interaction: null, stopBeforeDispatch: null };
}
