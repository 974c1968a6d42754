/**
 * Continuation: whether a run can be continued, and doing it.
 *
 * The check only reads, and never throws for an unsafe source: it says `park` with every reason. Resuming observes again, puts what
 * it saw into one event as evidence, and lets the machines decide in one commit: the claim, the successor and its opening are durable
 * together, or nothing is.
 */

import { v7 } from "uuid";
import { z } from "zod";
import { TOOLS_LIMIT } from "../../machines/evidence.ts";
import { handoff as handoffMachine, run as runMachine, session as sessionMachine } from "../../machines/index.ts";
import type { Answer } from "../actor/actor-ref.ts";
import type { Engine } from "../actor/engine.ts";
import { firstIssue } from "../actor/input.ts";
import { storedComposition } from "./composition.ts";
import type { Embedding } from "./embedding.ts";
import { type AgentCode, agentError, codedError } from "./error.ts";
import { check, type Observation, observe, Parked, type ParkReason } from "./observation.ts";
import type { Outcomes } from "./reconcile.ts";
import { Run } from "./run.ts";

export type { ParkReason } from "./observation.ts";
export type { Outcomes } from "./reconcile.ts";

/** What a run is to be continued for. */
export interface CheckOptions {
  /** `handoff`: continue the same turn under its seal. Absent: continue an ended run in a new turn. */
  readonly purpose?: "handoff";
  /** By call id: what a person says came of calls whose tools declare `ask`. */
  readonly outcomes?: Outcomes;
}

const continuationSchema = z.strictObject({
  purpose: z.enum(["handoff", "plain"]),
  /** The source as it was seen: its last entry. */
  source: z.strictObject({ runId: z.string(), seq: z.number().int().positive(), hash: z.string() }),
  sessionId: z.string(),
  turnId: z.string(),
  /** The run that will continue. */
  runId: z.string(),
  handoffId: z.string().nullable(),
  /** Digest of all segments that lead to the source, its own included. */
  boundary: z.string(),
  /** Tools that were there, sorted. */
  tools: z.array(z.string().min(1).max(128)).max(TOOLS_LIMIT),
  /** What a person said came of calls. */
  outcomes: z.record(z.string().max(256), z.any()),
});

/** A continuation that was found safe: plain data, to be handed to `resume`. */
export type Continuation = z.infer<typeof continuationSchema>;

/** `continue`, with what `resume` takes; or `park`, with every reason. */
export type ContinuationCheck =
  | { readonly decision: "continue"; readonly continuation: Continuation }
  | { readonly decision: "park"; readonly reasons: readonly ParkReason[] };

/** Reads whether `runId` can be continued. Writes nothing and throws for nothing that the source is; `argument_invalid`. */
export async function checkContinuation(
  engine: Engine,
  embedding: Embedding,
  runId: string,
  options: CheckOptions = {},
): Promise<ContinuationCheck> {
  // A program without types may give null.
  const given = options ?? {};
  const { outcomes = {} } = given;
  const purpose = given.purpose ?? "plain";
  if (purpose !== "handoff" && purpose !== "plain")
    throw agentError("argument_invalid", "purpose is handoff, or absent", { details: { path: "purpose" } });
  const seen = await check(engine, embedding, runId, { purpose, outcomes, checked: null });
  if (seen.reasons.length > 0 || !("evidence" in seen)) return { decision: "park", reasons: seen.reasons };
  const { head, evidence, run } = seen;
  const { sessionId, turnId, handoff } = run.context;
  const common = { source: head, sessionId, boundary: evidence.boundary, tools: evidence.tools.now, outcomes };
  if (purpose === "plain" || !handoff)
    return { decision: "continue", continuation: { ...common, purpose: "plain", turnId: v7(), runId: v7(), handoffId: null } };
  const { successorRunId, handoffId } = handoff;
  return { decision: "continue", continuation: { ...common, purpose, turnId, runId: successorRunId, handoffId } };
}

/**
 * Continues: claims, creates the successor and begins it, in one commit. What the check saw is seen again; who the successor is, the
 * stored source says. Throws what `Holdfast.resume` names; then nothing was written.
 */
export async function claimContinuation(engine: Engine, embedding: Embedding, given: Continuation): Promise<Run> {
  const parsed = continuationSchema.safeParse(given);
  if (!parsed.success)
    throw agentError("argument_invalid", `not a continuation: ${firstIssue(parsed.error).path} ${firstIssue(parsed.error).message}`);
  const { purpose, source, boundary, tools, outcomes } = parsed.data;
  const row = engine.get(runMachine, source.runId)?.row();
  if (row?.seq !== source.seq || row.hash !== source.hash)
    throw agentError("source_identity_changed", `the run ${source.runId} is not what it was when it was checked`);
  const seen = await observe(engine, embedding, source.runId, { purpose, outcomes, checked: tools }).catch((failure) => {
    throw failure instanceof Parked ? refusalOf(source.runId, failure.reasons) : failure;
  });
  if (seen.evidence.boundary !== boundary)
    throw agentError("source_identity_changed", `what leads to the run ${source.runId} is not what it was when it was checked`);
  return purpose === "handoff" ? claimTurn(engine, seen) : claimBoundary(engine, seen, parsed.data);
}

/** The first reason as an error, with all of them. A claim that somebody else has is a conflict to whoever tries to claim. */
function refusalOf(runId: string, reasons: readonly ParkReason[]) {
  const first = reasons[0] as ParkReason;
  const code = first.code === "continuation_already_exists" ? "continuation_claim_conflict" : first.code;
  return codedError(code, first.message, { details: { run: runId, reasons } });
}

/** The successor under a seal, in the same turn. */
async function claimTurn(engine: Engine, { run, head, evidence, beside, reasons }: Observation): Promise<Run> {
  const { handoff: ids, composition } = run.context;
  const handoff = ids && engine.get(handoffMachine, ids.handoffId);
  if (!handoff) throw agentError("not_sealed", `the run ${head.runId} was not handed off`);
  const sourceComposition = storedComposition(engine.reader, composition);
  const answer = await handoff.send(
    { type: "handoff.resume", source: head, sourceComposition, evidence },
    { expect: [{ actor: `run/${head.runId}`, seq: head.seq }, ...beside] },
  );
  return claimed(engine, head.runId, ids.successorRunId, answer, { final: "continuation_claim_conflict", reasons });
}

/** A new turn from the boundary of an ended run. */
async function claimBoundary(
  engine: Engine,
  { run, head, evidence, reconciled, segments, beside, reasons }: Observation,
  { turnId, runId }: Continuation,
): Promise<Run> {
  const { sessionId, origin, stepsLeft } = run.context;
  const session = engine.get(sessionMachine, sessionId);
  if (!session) throw agentError("session_not_found", `there is no session ${sessionId}`);
  // The limit of the turn goes on; a step that was cut off had not been counted.
  const maxSteps = stepsLeft === null ? null : Math.max(1, stepsLeft);
  const depth = segments.length + 1;
  const answer = await session.send(
    { type: "session.continue", turnId, runId, source: head, evidence, origin, maxSteps, depth, reconciled: [...reconciled] },
    { expect: [{ actor: `run/${head.runId}`, seq: head.seq }, ...beside] },
  );
  return claimed(engine, head.runId, runId, answer, { final: "session_archived", reasons });
}

/** The run that was created, or why it was not: in the words of the observation, where it had seen that. */
function claimed(
  engine: Engine,
  sourceRunId: string,
  runId: string,
  answer: Answer,
  { final, reasons }: { readonly final: AgentCode; readonly reasons: readonly ParkReason[] },
): Run {
  if (answer.kind === "accepted") return new Run(engine, runId);
  // Whatever else has moved on by it: somebody was first.
  const other = engine.reader.identity(`boundary/${sourceRunId}`);
  if (other) throw agentError("continuation_claim_conflict", `${other} continues the run ${sourceRunId}`);
  if (answer.kind === "ignored") {
    const seen = reasons.find(({ code }) => code === answer.reason);
    const message = seen?.message ?? "the continuation was not accepted";
    throw codedError(answer.reason ?? "continuation_claim_conflict", message, seen ? { details: { reasons } } : {});
  }
  const known: Record<string, AgentCode> = { actor_final: final, expectation_failed: "source_identity_changed" };
  throw codedError(known[answer.code] ?? answer.code, answer.message);
}
