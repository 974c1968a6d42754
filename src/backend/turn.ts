/**
 * Turn: an adapter for a backend that insists on driving a whole turn. Each stretch between two of its boundaries is one step.
 *
 * Guarantees: a boundary ends a step, and the turn goes on when the next step is asked for; runs do not mix; nobody is left waiting at a
 * boundary when its run is over; what comes after a `pause` reaches no journal.
 * Refuses to decide: whether the turn is held, sealed or stopped is the run machine's.
 * Next: `turn/drive.ts`, one turn in memory.
 */

import type { Json } from "../actor/json.ts";
import type { Backend, StepInput, ToolOutcome } from "../agent/backend.ts";
import { agentError } from "../agent/error.ts";
import { Drive } from "./turn/drive.ts";

/** A whole turn: what it continues, what came before, and how it acts. */
export interface TurnInput extends Omit<StepInput, "step" | "progress"> {
  /** Steps left when the turn begins here, or null where there is no limit. */
  readonly maxSteps: number | null;
  /** Aborted when the turn is stopped, the runtime is closed, or the run is over in any other way than by `complete`. */
  readonly signal: AbortSignal;
  /** As for a step. It goes to the step that is under way; between two steps it waits for the next, and rejects with `effect_gone` where none comes. */
  callTool(name: string, args: Json, options?: { readonly callId?: string }): Promise<ToolOutcome>;
  /**
   * Ends the present step, between two model steps and after its tools. Resolves with `continue` when the next step is asked for, at
   * once where no handoff is requested; with `pause` when the handoff was committed: then `send` ends without `complete`.
   *
   * `signal` is the execution's. Aborted on arrival, it makes this no boundary: `continue`, and the step goes on. Aborted while the run
   * is held, it releases with `continue`, and the run stays held, for only its machine decides: what `send` does then belongs to the next
   * step where one is asked for (its events and calls wait for it), and is dropped, its own `signal` aborted, where the handoff is
   * committed. Once the run is over it is `continue`, and `signal` of the turn is aborted.
   *
   * `remainingSteps`: a whole number, 0 for none, null for no limit. Throws `step_report_invalid`, with which the run fails, and
   * `turn_invalid`, likewise, where another boundary waits or the turn is complete.
   */
  handoffBoundary(signal: AbortSignal, remainingSteps: number | null): Promise<"continue" | "pause">;
}

/** What a whole turn tells: output for watchers, never stored; text of the present step, collected into its report; its end. */
export type TurnEvent =
  | { readonly type: "partial"; readonly output: Json }
  | { readonly type: "text"; readonly text: string }
  /** The last event. `stopReason`: 1..64 characters. */
  | { readonly type: "complete"; readonly stopReason: string };

/** What drives whole turns, and what a backend has besides. */
export interface TurnBackendOptions extends Pick<Backend, "tools" | "prepare" | "flush"> {
  /**
   * Drives one turn. It ends after `complete`, after `pause`, or soon after its `signal` was aborted; text that it gave before that is
   * kept. Otherwise the run fails: with what it throws, with `turn_unfinished`, or with `turn_invalid`.
   */
  send(input: TurnInput): AsyncIterable<TurnEvent>;
}

/**
 * A backend whose turns are driven by `send`, each in one go, and nevertheless held, sealed and continued between its steps. A turn is in
 * memory from its first step to its end, so it does not outlive its process; a successor begins anew, from the transcript. Give each
 * root a backend of its own. Throws `argument_invalid`.
 */
export function turnBackend(options: TurnBackendOptions): Backend {
  if (typeof options?.send !== "function")
    throw agentError("argument_invalid", "send is a function that drives a turn", { details: { path: "send" } });
  const { prepare, tools, flush } = options;
  const turns = new Map<string, Drive>();
  return {
    ...(tools ? { tools } : {}),
    ...(prepare ? { prepare: (input) => prepare.call(options, input) } : {}),
    step: async (input) => {
      const { runId } = input;
      if (input.step === 1) {
        if (turns.has(runId)) throw agentError("turn_invalid", `this backend drives a run ${runId} already`);
        turns.set(runId, new Drive((turn) => options.send(turn)));
      }
      const turn = turns.get(runId);
      if (!turn) throw agentError("turn_lost", `the turn of run ${runId} is not in this process`);
      try {
        return await turn.step(input);
      } finally {
        if (turn.isOver) turns.delete(runId);
      }
    },
    // The turn first: what it does until its end may be what has to drain.
    flush: async (input) => {
      try {
        await turns.get(input.runId)?.pause(input.signal);
      } finally {
        await flush?.call(options, input);
      }
    },
    ended: async ({ runId }) => {
      const turn = turns.get(runId);
      turns.delete(runId);
      await turn?.end();
    },
  };
}
