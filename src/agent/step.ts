/**
 * The handlers of a run's three effects: prepare, step, flush.
 *
 * They carry out what the run machine asked for and report what came of it; what that means is the machine's.
 * Next: `tool.ts`
 */

import { z } from "zod";
import type { CompositionRecord, Interaction as InteractionRecord } from "../../machines/index.ts";
import { json } from "../../machines/schema.ts";
import type { Engine } from "../actor/engine.ts";
import { codeOf, messageOf } from "../actor/error.ts";
import type { EffectCall, EffectHandler } from "../actor/handler.ts";
import { firstIssue } from "../actor/input.ts";
import { canonical, type Json, sha256 } from "../actor/json.ts";
import type { Backend, StepInput, StepReport } from "./backend.ts";
import { recordOf } from "./composition.ts";
import type { Embedding } from "./embedding.ts";
import { Endings } from "./ended.ts";
import { agentError } from "./error.ts";
import { type ContextOf, contextOf } from "./snapshot.ts";
import { inspectSurroundings } from "./surroundings.ts";
import { ToolCalls } from "./tool.ts";
import { headAnchor, transcript } from "./transcript.ts";

/** Characters of the JSON of what a permission is about, at most. */
const SUBJECT_LIMIT = 65_536;

const name = z
  .string()
  .min(1)
  .max(64)
  .refine((value) => !/\p{Cc}/u.test(value) && value === value.trim() && value.isWellFormed(), "has control characters or outer blanks")
  // `<run>.<name>` is an id that no other run can make.
  .refine((value) => !value.includes("."), "has a dot");
const wait = z.strictObject({
  id: name,
  question: z.string().max(65_536),
  kind: z.enum(["question", "permission"]).default("question"),
  subject: json
    .refine((value) => JSON.stringify(value).length <= SUBJECT_LIMIT, `has more than ${SUBJECT_LIMIT} characters of JSON`)
    .default(null),
});
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
  readonly embedding: Embedding;
  engine(): Engine;
}

/** Handlers for `prepare`, `step` and `flush`. */
export function runHandlers(duties: StepDuties): Record<"prepare" | "step" | "flush", EffectHandler> {
  const endings = new Endings();
  const at = (call: EffectCall): { context: ContextOf<"run">; backend: Backend } => {
    const context = contextOf(duties.engine().reader, "run", call.actor.slice("run/".length)) as ContextOf<"run">;
    const { backend: name } = context.configuration;
    const { backends } = duties.embedding;
    const backend = Object.hasOwn(backends, name) ? backends[name] : undefined;
    if (!backend) throw agentError("backend_unknown", `no backend ${name} was passed to openHoldfast`);
    endings.watch(duties.engine(), context, backend);
    return { context, backend };
  };
  return {
    prepare: async (call) => {
      const { context, backend } = at(call);
      const { sessionId, configuration } = context;
      const { driftPolicy, inspect } = duties.embedding;
      const composition = await declared(context, backend, call);
      // A run may go on where nobody can tell; it only cannot be continued then.
      const seen = await inspectSurroundings({ sessionId, ...configuration }, backend, inspect).catch((error) => {
        process.emitWarning(`${messageOf(error)}: run/${context.runId} cannot be continued later`, { code: "HOLDFAST_SURROUNDINGS" });
        return null;
      });
      return { composition, driftPolicy, workspace: seen?.workspace ?? null };
    },
    step: async (call) => {
      const { context, backend } = at(call);
      return stepOnce(duties.engine(), context, backend, call);
    },
    flush: async (call) => {
      const { context, backend } = at(call);
      const { sessionId, turnId, runId } = context;
      await backend.flush?.({
        ...{ sessionId, turnId, runId, signal: call.signal },
        fail: async (error) => {
          const { code, message } = { code: codeOf(error, "effect_failed"), message: messageOf(error).slice(0, 4000).toWellFormed() };
          const failed: { readonly type: string; readonly error: Json } = { type: "backend.failed", error: { code, message } };
          await call.send(failed);
        },
      });
      return null;
    },
  };
}

/** What the backend declares, as a run records it; null where it declares nothing. */
async function declared(context: ContextOf<"run">, backend: Backend, call: EffectCall): Promise<CompositionRecord | null> {
  const { sessionId, turnId, runId, configuration, source } = context;
  if (!backend.prepare) {
    if (source.kind === "handoff")
      throw agentError("composition_preparation_unsupported", `the backend ${configuration.backend} has no prepare`);
    return null;
  }
  const continuation = source.kind !== "fresh";
  const composition = await backend.prepare({ sessionId, turnId, runId, cwd: configuration.cwd, continuation, signal: call.signal });
  return composition === null || composition === undefined ? null : recordOf(composition, call.putBlob);
}

async function stepOnce(
  engine: Engine,
  context: ContextOf<"run">,
  backend: Backend,
  call: EffectCall<{ step: number; maxSteps: number | null }>,
) {
  const { sessionId, turnId, runId, rootRunId, configuration, source } = context;
  const continues = source.kind === "handoff" || source.kind === "plain";
  const calls = new ToolCalls(engine, context, backend, call);
  const input: StepInput = {
    sessionId,
    turnId,
    runId,
    rootRunId,
    cwd: configuration.cwd,
    step: call.params.step,
    maxSteps: call.params.maxSteps,
    text: continues ? "" : (headAnchor(engine.reader, runId)?.text ?? ""),
    headAnchor: continues ? headAnchor(engine.reader, runId) : null,
    continuation: continues ? { purpose: source.kind, sourceRunId: source.runId, denied: source.denied } : null,
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
  return checkReport(report, engine, runId);
}

/** A report as the contract has it. Throws `step_report_invalid`. */
export function parseReport(given: unknown): z.infer<typeof reportSchema> {
  const parsed = reportSchema.safeParse(given);
  if (!parsed.success) {
    const { path, message } = firstIssue(parsed.error);
    throw agentError("step_report_invalid", `the backend's report does not fit: ${path} ${message}`, { details: { path } });
  }
  return parsed.data;
}

function checkReport(given: unknown, engine: Engine, runId: string) {
  const report = parseReport(given);
  return {
    text: report.text ?? null,
    remainingSteps: report.remainingSteps ?? null,
    next: report.next,
    stopReason: report.next === "end" ? report.stopReason : null,
    interaction: report.next === "wait" ? asked(report.interaction, engine, runId) : null,
  };
}

/** What is asked, under an id that no other question of the root has, with the hash that an answer is bound to. */
function asked(given: z.infer<typeof wait>, { reader }: Engine, runId: string): InteractionRecord {
  const { kind, question, subject } = given;
  const id = `${runId}.${given.id}`;
  if (reader.actor(`interaction/${id}`) || reader.tombstone(`interaction/${id}`))
    throw agentError("interaction_repeated", `the run has asked ${given.id} before`);
  return { id, kind, question, subject, hash: sha256(canonical({ kind, question, subject })) };
}
