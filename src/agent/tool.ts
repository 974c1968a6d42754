/**
 * Tool: the calls of one step, each between its two commits.
 *
 * Guarantees: T1 (`tool.call`) is durable before the tool starts, T2 (`tool.settle`) before the backend sees the result; an id names one
 * call of its run; when the step has ended, none of its calls is in flight and none can be made.
 */

import { TOOL_BLOBS } from "../../machines/run-schema.ts";
import type { Engine } from "../actor/engine.ts";
import { codeOf, messageOf } from "../actor/error.ts";
import type { EffectCall } from "../actor/handler.ts";
import { firstIssue } from "../actor/input.ts";
import { type Json, notJson } from "../actor/json.ts";
import { wholeEntriesOf } from "../actor/page.ts";
import type { Backend, Tool, ToolOutcome } from "./backend.ts";
import { countOf, plural } from "./count.ts";
import { agentError, codedError } from "./error.ts";
import type { ContextOf } from "./snapshot.ts";

/** Bytes of a tool call's arguments as JSON text, at most. */
export const TOOL_ARGUMENT_BYTES = 1_048_576;

/** Bytes of a tool result's JSON text, at most. */
export const TOOL_RESULT_BYTES = 65_536;

interface ToolCall {
  readonly name: string;
  readonly args: Json;
  readonly callId: string;
}

export class ToolCalls {
  readonly #engine: Engine;
  readonly #context: ContextOf<"run">;
  readonly #backend: Backend;
  readonly #call: EffectCall<{ step: number }>;
  readonly #pending = new Set<Promise<unknown>>();
  #minted = 0;
  #known: Set<string> | undefined;
  #over = false;

  constructor(engine: Engine, context: ContextOf<"run">, backend: Backend, call: EffectCall<{ step: number }>) {
    this.#engine = engine;
    this.#context = context;
    this.#backend = backend;
    this.#call = call;
  }

  /** Rejects where T1 or T2 is refused or cannot be committed: the step cannot go on then. */
  make(name: string, args: Json, callId?: string): Promise<ToolOutcome> {
    const made = this.#made({ name, args, callId: callId ?? `${this.#call.params.step}.${++this.#minted}` }, callId !== undefined);
    this.#pending.add(made);
    // Here a rejection that the backend does not wait for is kept from being unhandled.
    const settled = () => void this.#pending.delete(made);
    made.then(settled, settled);
    return made;
  }

  /** Resolves when every call has its outcome, also those that the backend did not wait for. */
  async end(): Promise<void> {
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
    this.#over = true;
  }

  async #made(tool: ToolCall, named: boolean): Promise<ToolOutcome> {
    if (this.#over) throw agentError("effect_gone", `the step that called ${tool.name} has ended`);
    // Ids that are minted here name the step, so they cannot repeat one of an earlier step.
    if (named && this.#named().has(tool.callId)) throw agentError("call_repeated", `the run has made a call ${tool.callId} before`);
    this.#known?.add(tool.callId);
    return callTool(this.#engine, this.#context, this.#backend, this.#call, tool);
  }

  /** Ids of all calls that the run has made; read from its journal once a step, and only where ids are given by the backend. */
  #named(): Set<string> {
    if (this.#known) return this.#known;
    this.#known = new Set();
    for (const row of wholeEntriesOf(this.#engine.reader, `run/${this.#context.runId}`))
      if (row.facts.includes('"tool.called"')) this.#known.add(JSON.parse(row.event).callId);
    return this.#known;
  }
}

async function callTool(
  engine: Engine,
  context: ContextOf<"run">,
  backend: Backend,
  call: EffectCall,
  { name, args, callId }: ToolCall,
): Promise<ToolOutcome> {
  call.signal.throwIfAborted();
  const tool = backend.tools?.find((candidate) => candidate.name === name);
  const found = notJson(args);
  if (found) throw agentError("argument_invalid", `the arguments of ${name} are not plain JSON at ${found}`, { details: { path: found } });
  const bytes = Buffer.byteLength(JSON.stringify(args));
  if (bytes > TOOL_ARGUMENT_BYTES)
    throw agentError(
      "argument_invalid",
      `the arguments of ${name} have ${plural(bytes, "byte")}; ${countOf(TOOL_ARGUMENT_BYTES)} are allowed`,
      {
        details: { path: "args" },
      },
    );
  await send(call, { type: "tool.call", callId, name, args, reconcile: tool?.reconcile ?? null });
  const blobs = new Set<string>();
  const outcome = await execute(engine, context, tool, call, { name, args, callId, blobs });
  await send(call, { type: "tool.settle", callId, outcome, ...(blobs.size > 0 ? { blobs: [...blobs] } : {}) });
  return outcome;
}

async function send(call: EffectCall, event: { readonly type: string; readonly [key: string]: unknown }): Promise<void> {
  const answer = await call.send(event);
  if (answer.kind === "accepted") return;
  if (answer.kind === "refused") throw codedError(answer.code, answer.message);
  throw codedError(answer.reason ?? "run_not_active", `the run does not take ${event.type} now`);
}

async function execute(
  engine: Engine,
  context: ContextOf<"run">,
  tool: Tool | undefined,
  call: EffectCall,
  { name, args, callId, blobs }: ToolCall & { readonly blobs: Set<string> },
): Promise<ToolOutcome> {
  const refuse = (code: string, said: unknown): ToolOutcome => ({
    ok: false,
    error: { code, message: messageOf(said) },
  });
  let asked = 0;
  if (!tool) return refuse("tool_unknown", `the backend has no tool ${name}`);
  try {
    // In here, for a schema of the user's may throw: T1 is committed, and must get its T2.
    const parsed = tool.parameters.safeParse(args);
    if (!parsed.success) {
      const { path, message } = firstIssue(parsed.error);
      return refuse("tool_arguments_invalid", `the arguments of ${name} do not fit: ${path} ${message}`);
    }
    const result = await tool.execute(parsed.data, {
      runId: context.runId,
      callId,
      cwd: context.configuration.cwd,
      signal: call.signal,
      putBlob: async (bytes) => {
        // Counted when it is asked for: several may be on their way at once.
        if (++asked > TOOL_BLOBS) throw agentError("tool_result_invalid", `one call stores ${TOOL_BLOBS} blobs at most`);
        const digest = await call.putBlob(bytes);
        blobs.add(digest);
        return digest;
      },
      getBlob: (digest) => engine.getBlob(digest),
    });
    // As it stands in the event, so that the wrapping cannot make it too deep.
    const found = notJson({ outcome: { result } });
    if (found) return refuse("tool_result_invalid", `the result of ${name} is not plain JSON at ${found}`);
    const bytes = Buffer.byteLength(JSON.stringify(result));
    if (bytes > TOOL_RESULT_BYTES)
      return refuse("tool_result_invalid", `the result of ${name} has ${plural(bytes, "byte")}; ${countOf(TOOL_RESULT_BYTES)} are allowed`);
    return { ok: true, result };
  } catch (error) {
    return refuse(call.signal.aborted ? "tool_aborted" : codeOf(error, "tool_failed"), error);
  }
}
