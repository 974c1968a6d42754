/**
 * Watch: a backend as one process has it, seen from outside. For `exerciseBackend`.
 *
 * Guarantees: what the backend is asked and what it answers passes through unchanged, but for what a hook does at a moment.
 * Next: exercise-backend-trial.ts, the runtime around it.
 */

import type { Json } from "../actor/json.ts";
import type { Backend, StepInput, StepReport, Tool, ToolContext, ToolOutcome } from "../agent/backend.ts";
import { Folder } from "./exercise-backend-folder.ts";

/**
 * `asked`: the runtime asks for a step, and the backend does not know yet. `called`: T1 is durable, the tool has not run. `ran`: it has, and
 * nothing of that is durable. `settled`: T2 is durable, the backend has not seen the result. `reported`: the step has ended, and nothing of
 * that is durable.
 */
export type Moment = "asked" | "called" | "ran" | "settled" | "reported";

/** Where something happens. */
export interface Spot {
  readonly runId: string;
  readonly signal: AbortSignal;
}

/** What the suite does meanwhile. */
export interface Hooks {
  /** Awaited at each moment; what it throws is thrown there. */
  readonly at?: (moment: Moment, spot: Spot) => void | Promise<void>;
  /** The signal that a step is given instead of its own. */
  readonly signal?: (input: StepInput) => AbortSignal;
  /** What the runtime gets of a step that is under way. */
  readonly around?: (working: Promise<StepReport>, input: StepInput) => Promise<StepReport>;
}

/** One call of `step`. */
export interface SeenStep {
  readonly runId: string;
  readonly calls: { readonly name: string; readonly args: Json; outcome?: ToolOutcome }[];
  /** What it gave; absent while it is under way and where it threw. */
  report?: StepReport;
  isOver: boolean;
}

/** All that was seen of the backends of one trial. */
export class Seen {
  readonly steps: SeenStep[] = [];
  /** What was done after a step had returned. */
  readonly late: string[] = [];
  /** Calls whose tools ran to their end, and whether they gave a result, by `<run>/<call>`. */
  readonly ran = new Map<string, boolean>();
  /** Looked at where a test asks for it. */
  folder: Folder | undefined;

  watchFolder(path: string): Folder {
    this.folder = new Folder(path);
    return this.folder;
  }
}

/** What a watched backend belongs to. */
export interface Watching {
  readonly seen: Seen;
  readonly hooks: Hooks;
  /** True once the process counts as killed: nothing is asked of its backend any more. */
  isDead(): boolean;
}

/** The backend, watched. */
export function watched(backend: Backend, watching: Watching): Backend {
  const atWork = new Set<SeenStep>();
  const { prepare, flush, ended } = backend;
  return {
    get tools() {
      return (backend.tools ?? []).map((tool) => watchedTool(tool, watching));
    },
    step: (input) => watchedStep(backend, watching, atWork, input),
    ...(prepare ? { prepare: (input) => prepare.call(backend, input) } : {}),
    ...(flush ? { flush: async (input) => (watching.isDead() ? undefined : flush.call(backend, input)) } : {}),
    ...(ended ? { ended: async (input) => (watching.isDead() ? undefined : ended.call(backend, input)) } : {}),
  };
}

async function watchedStep(backend: Backend, { seen, hooks }: Watching, atWork: Set<SeenStep>, given: StepInput): Promise<StepReport> {
  const { at = () => {}, around = (working) => working, signal } = hooks;
  const { runId } = given;
  await at("asked", given);
  seen.folder?.look("between two steps");
  const step: SeenStep = { runId, calls: [], isOver: false };
  const act = (what: string) => {
    if (step.isOver) seen.late.push(what);
  };
  // A turn that is driven whole reads by its first step's input: only where no step of the run is under way is nobody to read.
  const read = (what: string) => {
    if (![...atWork].some((other) => other.runId === runId)) seen.late.push(what);
  };
  const input: StepInput = {
    ...given,
    ...(signal ? { signal: signal(given) } : {}),
    transcript: () => {
      read("transcript");
      return given.transcript();
    },
    getBlob: (digest) => {
      read("getBlob");
      return given.getBlob(digest);
    },
    progress: (output) => {
      act("progress");
      given.progress(output);
    },
    callTool: async (name, args, options) => {
      act(`callTool ${name}`);
      const call: SeenStep["calls"][number] = { name, args };
      step.calls.push(call);
      call.outcome = await given.callTool(name, args, options);
      await at("settled", given);
      return call.outcome;
    },
  };
  seen.steps.push(step);
  atWork.add(step);
  const working = (async () => {
    try {
      step.report = await backend.step(input);
      return step.report;
    } finally {
      step.isOver = true;
      atWork.delete(step);
      seen.folder?.look("by the end of a step");
    }
  })();
  const report = await around(working, input);
  await at("reported", given);
  return report;
}

function watchedTool(tool: Tool<any>, { seen, hooks }: Watching): Tool<any> {
  const { name, description, parameters, reconcile, query } = tool;
  return {
    ...{ name, description, parameters },
    ...(reconcile ? { reconcile } : {}),
    ...(query ? { query: (args, context) => query.call(tool, args, context) } : {}),
    execute: async (args, context) => {
      const id = `${context.runId}/${context.callId}`;
      await hooks.at?.("called", context);
      let isOver = false;
      const putBlob: ToolContext["putBlob"] = (bytes) => {
        if (isOver) seen.late.push(`putBlob of ${name}`);
        return context.putBlob(bytes);
      };
      seen.folder?.toolBegins(name);
      try {
        const result = await tool.execute(args, { ...context, putBlob });
        seen.ran.set(id, true);
        return result;
      } catch (error) {
        seen.ran.set(id, false);
        throw error;
      } finally {
        isOver = true;
        seen.folder?.toolEnds();
        await hooks.at?.("ran", context);
      }
    },
  };
}
