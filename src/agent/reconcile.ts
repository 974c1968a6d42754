/**
 * Reconciling: what became of tool calls whose outcome an ended run could not record.
 *
 * A tool says beforehand how that may be found out: `retry` (calling it again is safe, so nothing need be known), `query` (the tool
 * itself is asked), `ask` (a person says it). Nothing declared means that nobody may go on.
 */

import type { z } from "zod";
import { reconciled as reconciledSchema } from "../../machines/run-schema.ts";
import { HoldfastError, messageOf } from "../actor/error.ts";
import { notJson } from "../actor/json.ts";
import type { Backend, ToolOutcome } from "./backend.ts";
import { agentError } from "./error.ts";
import type { UnknownCall } from "./history.ts";

/** What a person says came of calls, by call id. */
export type Outcomes = Readonly<Record<string, ToolOutcome>>;

/** A call with the outcome that was found out. */
export type Reconciled = z.infer<typeof reconciledSchema>;

/** What is known of all calls: the reconciled ones, and those that keep everybody from going on. */
export interface Reconciliation {
  readonly reconciled: readonly Reconciled[];
  readonly open: readonly UnknownCall[];
}

const outcomeSchema = reconciledSchema.shape.outcome;

/** Asks the tools and takes what a person said. Throws `argument_invalid` for an outcome that fits no call that may be asked about. */
export async function reconcile(
  backend: Backend | undefined,
  calls: readonly UnknownCall[],
  outcomes: Outcomes,
  place: { readonly cwd: string; readonly signal: AbortSignal },
): Promise<Reconciliation> {
  const askable = new Set(calls.filter((call) => call.reconcile === "ask").map(({ callId }) => callId));
  for (const [callId, outcome] of Object.entries(outcomes)) {
    if (!askable.has(callId))
      throw agentError("argument_invalid", `no call ${callId} waits for what a person says`, { details: { path: `outcomes.${callId}` } });
    if (!outcomeSchema.safeParse(outcome).success || notJson(outcome))
      throw agentError("argument_invalid", `the outcome of ${callId} is not { ok, result } or { ok, error }`, {
        details: { path: `outcomes.${callId}` },
      });
  }
  const reconciled: Reconciled[] = [];
  const open: UnknownCall[] = [];
  for (const call of calls) {
    if (call.reconcile === "retry") continue;
    const { runId, callId, name } = call;
    const said = call.reconcile === "ask" ? (outcomes[callId] as Reconciled["outcome"] | undefined) : undefined;
    if (said) reconciled.push({ runId, callId, name, by: "person", outcome: said });
    else {
      const found = call.reconcile === "query" ? await queried(backend, call, place) : null;
      if (found) reconciled.push({ runId, callId, name, by: "query", outcome: found });
      else open.push(call);
    }
  }
  return { reconciled, open };
}

/** What a tool says came of its call; null where it cannot tell. Throws `reconcile_failed`. */
async function queried(
  backend: Backend | undefined,
  { name, args, callId, runId }: UnknownCall,
  place: { readonly cwd: string; readonly signal: AbortSignal },
): Promise<Reconciled["outcome"] | null> {
  const tool = backend?.tools?.find((candidate) => candidate.name === name);
  if (!tool?.query) return null;
  try {
    const found: unknown = await tool.query(tool.parameters.parse(args), { runId, callId, ...place });
    if (found === null) return null;
    const parsed = outcomeSchema.safeParse(found);
    if (!parsed.success || notJson(found)) throw agentError("tool_result_invalid", "it gave no outcome of plain JSON, and not null");
    return parsed.data;
  } catch (cause) {
    const reason = cause instanceof HoldfastError ? cause.message : messageOf(cause);
    throw agentError("reconcile_failed", `the tool ${name} could not say what came of ${callId}: ${reason}`, { cause });
  }
}
