/**
 * A small runtime for tests of the survey: transcript and blobs in memory, tool calls between their two records.
 *
 * It refuses what the real one refuses: a call id used twice in a run, arguments that do not fit, results that are not plain JSON or
 * above 64 KiB.
 */

import { setImmediate } from "node:timers/promises";
import { canonical, type Json, notJson, sha256 } from "../../../src/actor/json.ts";
import type { Backend, StepInput, StepReport, ToolOutcome, TranscriptEntry, TranscriptFact } from "../../../src/agent/backend.ts";

const MAX_RESULT_BYTES = 65_536;

/** What survives a process. */
export interface World {
  readonly entries: TranscriptEntry[];
  readonly blobs: Map<string, Uint8Array>;
  readonly cwd: string;
}

export interface DriverOptions {
  readonly runId?: string;
  readonly continuation?: StepInput["continuation"];
  /** The process dies at its k-th call (from 1): the call is recorded, its result and all later calls are not. Earlier calls still settle. */
  readonly dieAtCall?: number;
  readonly signal?: AbortSignal;
  /** What a tool's result is replaced by, such as a failure. */
  readonly intercept?: (callId: string) => ToolOutcome | undefined;
}

export class Died extends Error {}

export function world(cwd: string): World {
  const created: World = { entries: [], blobs: new Map(), cwd };
  add(created, "run-1", { type: "message.added", role: "user", text: "Survey the folder." });
  return created;
}

export function add({ entries }: World, runId: string, fact: TranscriptFact): void {
  entries.push({ runId, turnId: "turn-1", seq: entries.length + 1, fact });
}

/** One process that works on one run. */
export class Driver {
  readonly reports: StepReport[] = [];
  readonly progress: Json[] = [];
  /** Calls made by this process, in order. */
  readonly calls: string[] = [];
  inFlight = 0;
  mostInFlight = 0;
  private dead = false;
  private readonly used = new Set<string>();
  private readonly world: World;
  private readonly backend: Backend;
  private readonly options: DriverOptions;
  private readonly runId: string;

  constructor(given: World, backend: Backend, options: DriverOptions = {}) {
    this.world = given;
    this.backend = backend;
    this.options = options;
    this.runId = options.runId ?? "run-1";
    for (const { runId, fact } of given.entries) if (runId === this.runId && fact.type === "tool.called") this.used.add(fact.callId);
  }

  /** Steps until the turn ends; answers with its last report. */
  async finish(): Promise<StepReport> {
    for (let steps = 0; steps < 50_000; steps++) {
      const report = await this.step();
      if (report.next === "end") return report;
    }
    throw new Error("The turn does not end.");
  }

  async step(): Promise<StepReport> {
    const report = await this.backend.step(this.input());
    if (this.inFlight > 0) throw new Error("A step ended with calls in flight.");
    if (report.text !== undefined) add(this.world, this.runId, { type: "message.added", role: "assistant", text: report.text });
    this.reports.push(report);
    return report;
  }

  private input(): StepInput {
    return {
      sessionId: "session-1",
      turnId: "turn-1",
      runId: this.runId,
      rootRunId: "run-1",
      cwd: this.world.cwd,
      signal: this.options.signal ?? new AbortController().signal,
      step: this.reports.length + 1,
      maxSteps: null,
      text: this.options.continuation ? "" : "Survey the folder.",
      headAnchor: null,
      continuation: this.options.continuation ?? null,
      transcript: () => [...this.world.entries],
      getBlob: (digest) => this.world.blobs.get(digest),
      callTool: (name, args, options) => this.callTool(name, args, options?.callId ?? `call-${this.calls.length}`),
      progress: (output) => void this.progress.push(output),
    };
  }

  private async callTool(name: string, given: Json, callId: string): Promise<ToolOutcome> {
    if (this.dead) throw new Died();
    const tool = this.backend.tools?.find((one) => one.name === name);
    if (!tool) throw new Error(`There is no tool ${name}.`);
    if (this.used.has(callId)) throw new Error(`The call id ${callId} is used in this run already.`);
    if (notJson(given)) throw new Error(`The arguments of ${callId} are not plain JSON at ${notJson(given)}.`);
    const args = tool.parameters.parse(JSON.parse(JSON.stringify(given)));
    add(this.world, this.runId, { type: "tool.called", callId, name, args: given, reconcile: tool.reconcile ?? null });
    this.used.add(callId);
    this.calls.push(callId);
    const fatal = this.calls.length === this.options.dieAtCall;
    if (fatal) this.dead = true;
    this.mostInFlight = Math.max(this.mostInFlight, ++this.inFlight);
    try {
      await setImmediate();
      const outcome = this.options.intercept?.(callId) ?? (await this.execute(tool, args, callId));
      if (fatal) throw new Died();
      add(this.world, this.runId, { type: "tool.settled", callId, name, outcome });
      return outcome;
    } finally {
      this.inFlight--;
    }
  }

  private async execute(tool: NonNullable<Backend["tools"]>[number], args: unknown, callId: string): Promise<ToolOutcome> {
    const putBlob = async (bytes: Uint8Array) => {
      this.world.blobs.set(sha256(bytes), Uint8Array.from(bytes));
      return sha256(bytes);
    };
    const signal = this.options.signal ?? new AbortController().signal;
    const context = {
      runId: this.runId,
      callId,
      cwd: this.world.cwd,
      signal,
      putBlob,
      getBlob: (digest: string) => this.world.blobs.get(digest),
    };
    let result: Json;
    try {
      result = await tool.execute(args, context);
    } catch (error) {
      return { ok: false, error: { code: "tool_failed", message: String(error) } };
    }
    if (notJson(result)) throw new Error(`The result of ${callId} is not plain JSON at ${notJson(result)}.`);
    if (Buffer.byteLength(canonical(result)) > MAX_RESULT_BYTES) throw new Error(`The result of ${callId} is above 64 KiB.`);
    return { ok: true, result };
  }
}
