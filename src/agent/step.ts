/**
 * The handlers of a run's three effects: prepare, step, flush.
 *
 * They carry out what the run machine asked for and report what came of it; what that means is the machine's.
 * Next: `tool.ts`
 */

import { z } from "zod";
import type { Engine } from "../actor/engine.ts";
import type { EffectCall, EffectHandler } from "../actor/handler.ts";
import { firstIssue } from "../actor/input.ts";
import type { Backend, StepInput, StepReport } from "./backend.ts";
import { recordOf } from "./composition.ts";
import { agentError } from "./error.ts";
import { type ContextOf, contextOf } from "./snapshot.ts";
import { ToolCalls } from "./tool.ts";
import { headAnchor, transcript } from "./transcript.ts";

const wait = z.strictObject({ id: z.string().min(1).max(256), question: z.string().max(65_536) });
const common = {
  text: z.string().max(1_048_576).optional(),
  remainingSteps: z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER).nullable().optional(),
};
const reportSchema = z.discriminatedUnion("next", [
  z.strictObject({ ...common, next: z.literal("continue") }),
  z.strictObject({ ...common, next: z.literal("end"), stopReason: z.string().min(1).max(64) }),
  z.strictObject({ ...common, next: z.literal("wait"), interaction: wait }),
]);

/** What the handlers need of the runtime; the engine exists only after they were given to it. */
export interface StepDuties {
  readonly backends: Readonly<Record<string, Backend>>;
  engine(): Engine;
}

/** Handlers for `prepare`, `step` and `flush`. */
export function runHandlers(duties: StepDuties): Record<"prepare" | "step" | "flush", EffectHandler> {
  const at = (call: EffectCall): { context: ContextOf<"run">; backend: Backend } => {
    const context = contextOf(duties.engine().reader, "run", call.actor.slice("run/".length)) as ContextOf<"run">;
    const { backend: name } = context.configuration;
    const backend = Object.hasOwn(duties.backends, name) ? duties.backends[name] : undefined;
    if (!backend) throw agentError("backend_unknown", `no backend ${name} was passed to openHoldfast`);
    return { context, backend };
  };
  return {
    prepare: async (call) => {
      const { context, backend } = at(call);
      const successor = context.source.kind === "handoff";
      if (!backend.prepare) {
        if (successor)
          throw agentError("composition_preparation_unsupported", `the backend ${context.configuration.backend} has no prepare`);
        return null;
      }
      const { sessionId, turnId, runId, configuration } = context;
      const declared = await backend.prepare({
        sessionId,
        turnId,
        runId,
        cwd: configuration.cwd,
        continuation: context.source.kind !== "fresh",
        signal: call.signal,
      });
      return declared === null || declared === undefined ? null : recordOf(declared, call.putBlob);
    },
    step: async (call) => {
      const { context, backend } = at(call);
      return stepOnce(duties.engine(), context, backend, call);
    },
    flush: async (call) => {
      const { context, backend } = at(call);
      await backend.flush?.({ sessionId: context.sessionId, turnId: context.turnId, runId: context.runId, signal: call.signal });
      return null;
    },
  };
}

async function stepOnce(
  engine: Engine,
  context: ContextOf<"run">,
  backend: Backend,
  call: EffectCall<{ step: number; maxSteps: number | null }>,
) {
  const { sessionId, turnId, runId, rootRunId, configuration, source } = context;
  const calls = new ToolCalls(engine, context, backend, call);
  const input: StepInput = {
    sessionId,
    turnId,
    runId,
    rootRunId,
    cwd: configuration.cwd,
    step: call.params.step,
    maxSteps: call.params.maxSteps,
    text: source.kind === "fresh" ? (headAnchor(engine.reader, runId)?.text ?? "") : "",
    headAnchor: source.kind === "fresh" ? null : headAnchor(engine.reader, runId),
    continuation: source.kind === "fresh" ? null : { purpose: source.kind, sourceRunId: source.runId, denied: source.denied },
    signal: call.signal,
    transcript: () => transcript(engine.reader, runId),
    getBlob: (digest) => engine.getBlob(digest),
    callTool: (name, args, options) => calls.make(name, args, options?.callId),
    progress: call.progress,
  };
  let report: StepReport;
  try {
    report = await backend.step(input);
  } finally {
    await calls.end();
  }
  return checkReport(report);
}

function checkReport(given: unknown) {
  const parsed = reportSchema.safeParse(given);
  if (!parsed.success) {
    const { path, message } = firstIssue(parsed.error);
    throw agentError("step_report_invalid", `the backend's report does not fit: ${path} ${message}`, { details: { path } });
  }
  const report = parsed.data;
  return {
    text: report.text ?? null,
    remainingSteps: report.remainingSteps ?? null,
    next: report.next,
    stopReason: report.next === "end" ? report.stopReason : null,
    interaction: report.next === "wait" ? report.interaction : null,
  };
}
