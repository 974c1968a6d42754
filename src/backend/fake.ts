/** A scripted backend: for tests, and for trying a program without a model. What it does is said beforehand, step by step. */

import type { Json } from "../actor/json.ts";
import type { Backend, Composition, PrepareInput, StepInput, StepReport, Tool } from "../agent/backend.ts";

/** One step: partial output and tool calls in order, then the report. */
export interface ScriptedStep {
  readonly partial?: readonly Json[];
  /** Made one after the other. */
  readonly calls?: readonly { readonly name: string; readonly args: Json; readonly callId?: string }[];
  readonly report: StepReport;
}

/** The same step for every call, a list by step number within the run (the last one again for all after it), or what a function says. */
export type Script = ScriptedStep | readonly ScriptedStep[] | ((input: StepInput) => ScriptedStep | Promise<ScriptedStep>);

/** What a scripted backend plays, declares and has. */
export interface FakeBackendOptions {
  readonly script: Script;
  /** What `prepare` declares; null: nothing. Absent: a fixed composition. `false`: the backend has no `prepare`. */
  readonly composition?: Composition | null | false | ((input: PrepareInput) => Composition | null | Promise<Composition | null>);
  readonly tools?: readonly Tool<any>[];
  readonly flush?: NonNullable<Backend["flush"]>;
}

/** A fixed composition for scripted work; `changes` replace fields. */
export function fakeComposition(changes: Partial<Composition> = {}): Composition {
  const zero = `sha256:${"0".repeat(64)}`;
  return {
    composerId: "holdfast.fake",
    composerRevision: "1",
    sourceRevisions: [],
    promptHash: zero,
    toolsHash: zero,
    availabilityHash: zero,
    providerOptionsHash: zero,
    toolNames: [],
    contextWindow: null,
    ...changes,
  };
}

/** A backend that plays its script. `steps` lists what it was asked, in order. */
export function fakeBackend(options: FakeBackendOptions): Backend & { readonly steps: readonly StepInput[] } {
  const steps: StepInput[] = [];
  const { composition = fakeComposition(), script, tools, flush } = options;
  const step = async (input: StepInput): Promise<StepReport> => {
    steps.push(input);
    const { partial = [], calls = [], report } = await scripted(script, input);
    for (const output of partial) input.progress(output);
    for (const { name, args, callId } of calls) await input.callTool(name, args, callId === undefined ? {} : { callId });
    return report;
  };
  return {
    steps,
    step,
    ...(tools ? { tools } : {}),
    ...(flush ? { flush } : {}),
    ...(composition === false
      ? {}
      : { prepare: async (input: PrepareInput) => (typeof composition === "function" ? composition(input) : composition) }),
  };
}

async function scripted(script: Script, input: StepInput): Promise<ScriptedStep> {
  if (typeof script === "function") return script(input);
  const list = "report" in script ? [script] : script;
  return list[Math.min(input.step, list.length) - 1] ?? { report: { next: "end", stopReason: "end_turn" } };
}
