/**
 * Reconciling: what became of tool calls whose outcome an ended run could not record.
 *
 * A tool says beforehand how that may be found out: `retry` (calling it again is safe, so nothing need be known), `query` (the tool
 * itself is asked), `ask` (a person says it). Nothing declared means that nobody may go on.
 */

import type { z } from "zod";
import { reconciled as reconciledSchema } from "../../machines/run-schema.ts";
import { messageOf } from "../actor/error.ts";
import { notJson } from "../actor/json.ts";
import type { Backend, ToolOutcome } from "./backend.ts";
import { agentError } from "./error.ts";
import type { UnknownCall } from "./history.ts";
import { TOOL_RESULT_BYTES } from "./tool.ts";

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
  // A list or a text would be taken for calls that are named by numbers.
  if (typeof outcomes !== "object" || outcomes === null || Array.isArray(outcomes))
    throw agentError("argument_invalid", "outcomes is an object with outcomes by call id", { details: { path: "outcomes" } });
  const askable = new Set(calls.filter((call) => call.reconcile === "ask").map(({ callId }) => callId));
  for (const [callId, outcome] of Object.entries(outcomes)) {
    if (!askable.has(callId))
      throw agentError("argument_invalid", `no call ${callId} waits for what a person says`, { details: { path: `outcomes.${callId}` } });
    const problem = misfit(outcome);
    if (problem) throw agentError("argument_invalid", `what is said of ${callId} ${problem}`, { details: { path: `outcomes.${callId}` } });
  }
  const reconciled: Reconciled[] = [];
  const open: UnknownCall[] = [];
  for (const call of calls) {
    if (call.reconcile === "retry") continue;
    const { runId, callId, name } = call;
    const said = call.reconcile === "ask" && Object.hasOwn(outcomes, callId) ? (outcomes[callId] as Reconciled["outcome"]) : null;
    if (said) reconciled.push({ runId, callId, name, by: "person", outcome: said });
    else {
      const found = call.reconcile === "query" ? await queried(backend, call, place) : null;
      if (found) reconciled.push({ runId, callId, name, by: "query", outcome: found });
      else open.push(call);
    }
  }
  return { reconciled, open };
}

/** How something is no outcome that can be recorded, or undefined. */
function misfit(outcome: unknown): string | undefined {
  // As it will stand in the journal, so that the wrapping cannot make it too deep.
  const isPlain = outcomeSchema.safeParse(outcome).success && !notJson({ input: { reconciled: [{ outcome }] } });
  if (!isPlain) return "is no outcome: { ok, result } or { ok, error }, in plain JSON";
  return Buffer.byteLength(JSON.stringify(outcome)) > TOOL_RESULT_BYTES ? `has more than ${TOOL_RESULT_BYTES} bytes` : undefined;
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
    // A tool that does not heed the signal must not keep everybody waiting.
    const asked = tool.query(tool.parameters.parse(args), { runId, callId, ...place });
    const found: unknown = await Promise.race([asked, aborted(place.signal)]);
    const problem = found === null ? undefined : misfit(found);
    if (problem) throw agentError("tool_result_invalid", `what it gave ${problem}`);
    return found as Reconciled["outcome"] | null;
  } catch (cause) {
    throw agentError("reconcile_failed", `the tool ${name} could not say what came of ${callId}: ${messageOf(cause)}`, { cause });
  }
}

/** Rejects when the signal is aborted. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(agentError("effect_timeout", "it did not answer in time"));
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
