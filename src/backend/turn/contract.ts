/** Contract of a whole turn: what it is given, and what it tells. */

import type { Json } from "../../actor/json.ts";
import type { StepInput, ToolOutcome } from "../../agent/backend.ts";

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
