/**
 * Continuation: whether a run can be continued, and doing it.
 *
 * The check only reads, and never throws for an unsafe source: it says `park` with every reason. Resuming observes again, puts what
 * it saw into one event as evidence, and lets the machines decide in one commit: the claim, the successor and its opening are durable
 * together, or nothing is.
 */

import { v7 } from "uuid";
import { z } from "zod";
import { handoff as handoffMachine, run as runMachine, session as sessionMachine } from "../../machines/index.ts";
import type { ActorRef, Answer } from "../actor/actor-ref.ts";
import type { Engine } from "../actor/engine.ts";
import { HoldfastError, messageOf } from "../actor/error.ts";
import { firstIssue } from "../actor/input.ts";
import { chainFault, NO_HASH } from "../actor/journal.ts";
import { entriesOf, wholeEntriesOf } from "../actor/page.ts";
import type { ActorRow, StoreReader } from "../actor/store.ts";
import { storedComposition } from "./composition.ts";
import { type AgentCode, agentError, codedError } from "./error.ts";
import { Run } from "./run.ts";
import { lineage } from "./transcript.ts";

/** What a run is to be continued for. */
export interface CheckOptions {
  /** `handoff`: continue the same turn under its seal. Absent: continue an ended run in a new turn. */
  readonly purpose?: "handoff";
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
});

/** A continuation that was found safe: plain data, to be handed to `resume`. */
export type Continuation = z.infer<typeof continuationSchema>;

/** One reason why a run is not to be continued. */
export interface ParkReason {
  readonly code: AgentCode;
  readonly message: string;
}

/** `continue`, with what `resume` takes; or `park`, with every reason. */
export type ContinuationCheck =
  | { readonly decision: "continue"; readonly continuation: Continuation }
  | { readonly decision: "park"; readonly reasons: readonly ParkReason[] };

/** Reads whether `runId` can be continued. Writes nothing and throws for nothing that the source is. */
export function checkContinuation(engine: Engine, runId: string, options: CheckOptions = {}): ContinuationCheck {
  const reasons: ParkReason[] = [];
  const park = (code: AgentCode, message: string) => reasons.push({ code, message });
  try {
    const row = engine.reader.actor(`run/${runId}`);
    if (!row) return { decision: "park", reasons: [{ code: "run_not_found", message: `there is no run ${runId}` }] };
    const damage = damageOf(engine.reader, row);
    if (damage) return { decision: "park", reasons: [{ code: "journal_damaged", message: damage }] };
    demandHistory(engine.reader, runId);
    const run = new Run(engine, runId).getSnapshot();
    const base = { source: { runId, seq: row.seq, hash: row.hash }, sessionId: run.context.sessionId };
    if (row.quarantine) park("actor_quarantined", row.quarantine.message);
    if (options.purpose === "handoff") {
      const { handoff, turnId } = run.context;
      if (!run.hasTag("sealed") || !handoff) park("not_sealed", `the run ${runId} is not sealed`);
      else if (!engine.get(handoffMachine, handoff.handoffId)?.getSnapshot().hasTag("claimable"))
        park("continuation_already_exists", `the run ${handoff.successorRunId} has claimed the turn`);
      if (handoff && reasons.length === 0)
        return {
          decision: "continue",
          continuation: { ...base, purpose: "handoff", turnId, runId: handoff.successorRunId, handoffId: handoff.handoffId },
        };
      return { decision: "park", reasons };
    }
    reasons.push(...unfit(engine, runId));
    const other = engine.reader.identity(`boundary/${runId}`);
    if (other && !run.hasTag("sealed")) park("continuation_already_exists", `${other} continues it`);
    const session = engine.get(sessionMachine, run.context.sessionId)?.getSnapshot();
    const turn = session?.context.turn;
    if (session?.status === "done") park("session_archived", `the session ${run.context.sessionId} is archived`);
    else if (turn && turn.turnId !== run.context.turnId)
      park("session_busy", `the session ${run.context.sessionId} has another turn under way`);
    else if (!turn && !other && session?.context.lastRunId !== runId)
      park("turn_superseded", `the session ${run.context.sessionId} has gone on since`);
    if (reasons.length > 0) return { decision: "park", reasons };
    return { decision: "continue", continuation: { ...base, purpose: "plain", turnId: v7(), runId: v7(), handoffId: null } };
  } catch (error) {
    const code = error instanceof HoldfastError ? (error.code as AgentCode) : "journal_damaged";
    return { decision: "park", reasons: [{ code, message: messageOf(error) }] };
  }
}

/** Why a run cannot be continued in a new turn, by itself and for good; a run that has not ended yet may change. */
function unfit(engine: Engine, runId: string): ParkReason[] {
  const run = new Run(engine, runId).getSnapshot();
  if (run.hasTag("sealed"))
    return [{ code: "sealed_for_successor", message: `the run ${runId} is sealed for ${run.context.handoff?.successorRunId}` }];
  if (run.status !== "done") return [{ code: "run_active", message: `the run ${runId} has not ended` }];
  if (!run.hasTag("resumable")) return [{ code: "nothing_to_resume", message: `the run ${runId} completed its turn` }];
  const unknown = unknownTools(engine.reader, runId);
  return unknown.length === 0 ? [] : [{ code: "tools_unknown", message: `no outcome is known of ${unknown.join(", ")}` }];
}

/** What is wrong with a run's chain, or undefined. */
function damageOf(reader: StoreReader, row: ActorRow): string | undefined {
  let hash = NO_HASH;
  let seq = 0;
  for (const entry of entriesOf(reader, row.address)) {
    const fault = chainFault(hash, seq + 1, entry);
    if (fault) return fault;
    ({ hash, seq } = entry);
  }
  return hash === row.hash && seq === row.seq ? undefined : `the journal ends at entry ${seq}, the snapshot is at ${row.seq}`;
}

/** Throws `run_not_found` where a run that leads to this one is gone: its successor would go on without what was said there. */
function demandHistory(reader: StoreReader, runId: string): void {
  lineage(reader, runId);
}

/** Calls without a known outcome whose tools do not declare that calling again is safe. */
function unknownTools(reader: StoreReader, runId: string): string[] {
  const retryable = new Set<string>();
  const unknown: string[] = [];
  for (const row of wholeEntriesOf(reader, `run/${runId}`)) {
    if (!row.facts.includes('"tool.called"') && !row.facts.includes('"tool.unknown"')) continue;
    const event = JSON.parse(row.event);
    for (const fact of JSON.parse(row.facts)) {
      if (fact.type === "tool.called" && event.reconcile === "retry") retryable.add(fact.callId);
      if (fact.type === "tool.unknown" && !retryable.has(fact.callId)) unknown.push(fact.name);
    }
  }
  return unknown;
}

/**
 * Continues: claims, creates the successor and begins it, in one commit. What the check saw is seen again; who the successor is, the
 * stored source says. Throws what `Holdfast.resume` names; then nothing was written.
 */
export async function claimContinuation(engine: Engine, given: Continuation): Promise<Run> {
  const parsed = continuationSchema.safeParse(given);
  if (!parsed.success)
    throw agentError("argument_invalid", `not a continuation: ${firstIssue(parsed.error).path} ${firstIssue(parsed.error).message}`);
  const { purpose, source } = parsed.data;
  const run = engine.get(runMachine, source.runId);
  const row = run?.row();
  if (!run || row?.seq !== source.seq || row.hash !== source.hash)
    throw agentError("source_identity_changed", `the run ${source.runId} is not what it was when it was checked`);
  const damage = damageOf(engine.reader, row);
  if (damage) throw agentError("journal_damaged", damage, { details: { actor: run.address } });
  demandHistory(engine.reader, source.runId);
  return purpose === "handoff" ? claimTurn(engine, run, source) : claimBoundary(engine, run, parsed.data);
}

/** The successor under a seal, in the same turn. */
async function claimTurn(engine: Engine, run: ActorRef<typeof runMachine>, source: Continuation["source"]): Promise<Run> {
  const snapshot = run.getSnapshot();
  const { handoff: ids, composition } = snapshot.context;
  const handoff = ids && engine.get(handoffMachine, ids.handoffId);
  if (!handoff || !snapshot.hasTag("sealed")) throw agentError("not_sealed", `the run ${run.id} was not handed off`);
  const sourceComposition = storedComposition(engine.reader, composition);
  const answer = await handoff.send(
    { type: "handoff.resume", source, sourceComposition, denied: false },
    { expect: [{ actor: run.address, seq: source.seq }] },
  );
  return claimed(engine, ids.successorRunId, answer, { actor_final: "continuation_claim_conflict" });
}

/** A new turn from the boundary of an ended run. */
async function claimBoundary(engine: Engine, run: ActorRef<typeof runMachine>, { source, turnId, runId }: Continuation): Promise<Run> {
  const [reason] = unfit(engine, run.id);
  if (reason) throw agentError(reason.code, reason.message);
  const { sessionId, origin, stepsLeft } = run.getSnapshot().context;
  const session = engine.get(sessionMachine, sessionId);
  if (!session) throw agentError("session_not_found", `there is no session ${sessionId}`);
  // The limit of the turn goes on; a step that was cut off had not been counted.
  const maxSteps = stepsLeft === null ? null : Math.max(1, stepsLeft);
  const event = { type: "session.continue" as const, turnId, runId, source, denied: false, origin, maxSteps };
  const answer = await session.send(event, { expect: [{ actor: run.address, seq: source.seq }] });
  const other = engine.reader.identity(`boundary/${run.id}`);
  if (answer.kind !== "accepted" && other) throw agentError("continuation_claim_conflict", `${other} continues the run ${run.id}`);
  return claimed(engine, runId, answer, { actor_final: "session_archived" });
}

function claimed(engine: Engine, runId: string, answer: Answer, final: { readonly actor_final: AgentCode }): Run {
  if (answer.kind === "accepted") return new Run(engine, runId);
  if (answer.kind === "ignored") throw codedError(answer.reason ?? "continuation_claim_conflict", "the continuation was not accepted");
  const known: Record<string, AgentCode> = { ...final, expectation_failed: "source_identity_changed" };
  throw codedError(known[answer.code] ?? answer.code, answer.message);
}
