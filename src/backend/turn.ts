/**
 * Turn: an adapter for a backend that insists on driving a whole turn. Each stretch between two of its boundaries is one step.
 *
 * Guarantees: a boundary ends a step, and the turn goes on when the next step is asked for; runs do not mix; nobody is left waiting at a
 * boundary when its run is over; what comes after a `pause` reaches no journal.
 * Refuses to decide: whether the turn is held, sealed or stopped is the run machine's.
 * Next: `turn/contract.ts`, what a turn is given and tells; `turn/drive.ts`, one turn in memory.
 */

import type { Backend } from "../agent/backend.ts";
import { agentError } from "../agent/error.ts";
import type { TurnEvent, TurnInput } from "./turn/contract.ts";
import { Drive } from "./turn/drive.ts";

/** What drives whole turns, and what a backend has besides. */
export interface TurnBackendOptions extends Pick<Backend, "tools" | "prepare" | "flush"> {
  /**
   * Drives one turn. It ends after `complete`, after `pause`, or soon after its `signal` was aborted; text that it gave before that is
   * kept. Otherwise the run fails, also after `pause`: with what it throws, with `turn_unfinished`, or with `turn_invalid`.
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
      } catch (error) {
        // One that takes too long is left behind. One that broke has nothing to hand over.
        if (!input.signal.aborted) return input.fail(error);
      }
      await flush?.call(options, input);
    },
    ended: async ({ runId }) => {
      const turn = turns.get(runId);
      turns.delete(runId);
      await turn?.end();
    },
  };
}
