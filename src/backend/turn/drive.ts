/**
 * Drive: one turn in memory, its iteration laid out over the steps that the runtime asks for.
 *
 * At any time either a step is under way (`#stretch`), or none is and whatever needs one waits for the next (`#next`).
 */

import { z } from "zod";
import { firstIssue } from "../../actor/input.ts";
import type { Json } from "../../actor/json.ts";
import type { StepInput, StepReport, ToolOutcome } from "../../agent/backend.ts";
import { agentError } from "../../agent/error.ts";
import type { TurnEvent, TurnInput } from "./contract.ts";

const eventSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("partial"), output: z.unknown() }),
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  z.strictObject({ type: z.literal("complete"), stopReason: z.string().min(1).max(64) }),
]);
const remainingSchema = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER).nullable();

/** The step that is under way, as the turn sees it. */
interface Stretch {
  readonly input: StepInput;
  readonly texts: string[];
  /** Ends the step. */
  readonly report: PromiseWithResolvers<StepReport>;
}

/** A boundary at which the turn waits. */
interface Boundary {
  readonly remainingSteps: number | null;
  readonly release: (decision: "continue" | "pause") => void;
  /** True once it has ended a step. */
  isReported: boolean;
}

/** One turn in memory, from its first step to its end. */
export class Drive {
  readonly #send: (input: TurnInput) => AsyncIterable<TurnEvent>;
  readonly #abort = new AbortController();
  /** Why nothing more comes of a turn that is over. */
  readonly #gone = agentError("effect_gone", "the run is over, or paused for its successor");
  #iterator: AsyncIterator<unknown> | undefined;
  /** Settles with the iteration; undefined before the first step. */
  #driven: Promise<void> | undefined;
  #stretch: Stretch | undefined;
  /** Between two steps: what waits for the next. */
  #next = Promise.withResolvers<Stretch>();
  #boundary: Boundary | undefined;
  #stopReason: string | undefined;
  /** How the iteration ended, where it did so between two steps. */
  #ending: { readonly error: unknown } | undefined;
  #isPaused = false;
  #isOver = false;

  constructor(send: (input: TurnInput) => AsyncIterable<TurnEvent>) {
    this.#send = send;
    this.#next.promise.catch(() => {});
  }

  /** True where no further step can come of it. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** One step: from here to the next boundary, or to the end of the turn. */
  async step(input: StepInput): Promise<StepReport> {
    const stretch: Stretch = { input, texts: [], report: Promise.withResolvers() };
    const onAbort = () => this.#abort.abort(input.signal.reason);
    if (input.signal.aborted) onAbort();
    // Taken back with the step: afterwards its signal says nothing about the turn.
    input.signal.addEventListener("abort", onAbort);
    try {
      this.#begin(stretch);
      return await stretch.report.promise;
    } finally {
      input.signal.removeEventListener("abort", onAbort);
    }
  }

  #begin(stretch: Stretch): void {
    const waiting = this.#boundary;
    this.#stretch = stretch;
    this.#next.resolve(stretch);
    if (this.#ending) this.#fail(this.#ending.error);
    else if (waiting?.isReported) waiting.release("continue");
    // It was reached while no step was under way, so this step is the stretch before it.
    else if (waiting) this.#report(waiting);
    else if (!this.#driven) {
      this.#driven = this.#drive(stretch.input);
      // Whoever has a use for the failure waits for it too.
      this.#driven.catch(() => {});
    }
  }

  #settle(report: StepReport): void {
    const { texts = [], report: settled } = this.#stretch ?? {};
    this.#stretch = undefined;
    this.#next = Promise.withResolvers();
    this.#next.promise.catch(() => {});
    settled?.resolve(texts.length > 0 ? { ...report, text: texts.join("") } : report);
  }

  async #drive(first: StepInput): Promise<void> {
    const { step: _, progress: __, ...given } = first;
    try {
      const iterable = this.#send({
        ...given,
        signal: this.#abort.signal,
        callTool: (name, args, options) => this.#callTool(name, args, options),
        handoffBoundary: (signal, remainingSteps) => {
          const decided = this.#arrive(signal, remainingSteps);
          // The turn fails by it anyway; where nobody waits for it, the host must not end by it too.
          decided.catch(() => {});
          return decided;
        },
      });
      if (typeof iterable?.[Symbol.asyncIterator] !== "function") throw invalid("`send` gives no async iterable");
      this.#iterator = iterable[Symbol.asyncIterator]();
      for (;;) {
        const { done, value } = await this.#iterator.next();
        if (this.#isOver) return;
        if (done) break;
        await this.#take(value);
      }
    } catch (error) {
      // Whoever waits for the end gets it; before that it is the step's failure.
      if (!this.#isOver && !this.#isPaused) return this.#fail(error);
      if (!this.#isOver) this.end().catch(() => {});
      throw error;
    }
    this.#finish();
  }

  async #take(given: unknown): Promise<void> {
    const parsed = eventSchema.safeParse(given);
    if (!parsed.success) {
      const { path, message } = firstIssue(parsed.error);
      throw invalid(`an event does not fit: ${path} ${message}`);
    }
    const event = parsed.data as TurnEvent;
    if (this.#isPaused && event.type === "partial") return;
    if (this.#isPaused) throw invalid(`\`${event.type}\` came after \`pause\``);
    if (this.#stopReason !== undefined) throw invalid(`\`${event.type}\` came after \`complete\``);
    const stretch = this.#stretch ?? (await this.#next.promise);
    if (event.type === "partial") stretch.input.progress(event.output);
    else if (event.type === "text") stretch.texts.push(event.text);
    else this.#stopReason = event.stopReason;
  }

  /** The iteration has ended of itself. */
  #finish(): void {
    if (this.#isPaused) return;
    if (this.#stopReason === undefined) {
      this.#fail(agentError("turn_unfinished", "the turn ended without `complete`"));
      return;
    }
    this.#isOver = true;
    this.#settle({ next: "end", stopReason: this.#stopReason });
    this.#next.reject(this.#gone);
  }

  /** Fails the step that is under way, or the next; where it was asked to end, what it said so far is kept. */
  #fail(error: unknown): void {
    const stretch = this.#stretch;
    this.#ending = { error };
    if (!stretch) return;
    const { aborted } = stretch.input.signal;
    if (aborted && stretch.texts.length > 0) this.#settle({ next: "end", stopReason: "aborted" });
    else stretch.report.reject(error);
    this.end().catch(() => {});
  }

  #callTool(name: string, args: Json, options?: { readonly callId?: string }): Promise<ToolOutcome> {
    // At once where a step is under way: a boundary right after this must find the call made.
    if (this.#stretch) return this.#stretch.input.callTool(name, args, options);
    return this.#next.promise.then(({ input }) => input.callTool(name, args, options));
  }

  async #arrive(signal: AbortSignal, remainingSteps: number | null): Promise<"continue" | "pause"> {
    const checked = remainingSchema.safeParse(remainingSteps);
    if (!checked.success)
      this.#refuse(
        agentError("step_report_invalid", `remainingSteps does not fit: ${firstIssue(checked.error).message}`, {
          details: { path: "remainingSteps" },
        }),
      );
    if (this.#boundary) this.#refuse(invalid("a boundary was reached while another one waits"));
    if (this.#stopReason !== undefined) this.#refuse(invalid("a boundary was reached after `complete`"));
    if (this.#isPaused) return "pause";
    if (this.#isOver || signal.aborted) return "continue";
    return new Promise((resolve) => {
      const onAbort = () => boundary.release("continue");
      const release = (decision: "continue" | "pause") => {
        this.#boundary = undefined;
        signal.removeEventListener("abort", onAbort);
        resolve(decision);
      };
      const boundary: Boundary = { remainingSteps, release, isReported: false };
      this.#boundary = boundary;
      signal.addEventListener("abort", onAbort);
      if (this.#stretch) this.#report(boundary);
    });
  }

  #report(boundary: Boundary): void {
    boundary.isReported = true;
    this.#settle({ next: "continue", remainingSteps: boundary.remainingSteps });
  }

  #refuse(error: Error): never {
    if (!this.#isOver) this.#fail(error);
    throw error;
  }

  /** The handoff was committed: lets the turn end, and rejects with what it did instead. Bounded by the signal. */
  async pause(signal: AbortSignal): Promise<void> {
    this.#isPaused = true;
    this.#next.reject(this.#gone);
    // One that was released before cannot be told, and is at fault in nothing that it does.
    if (!this.#boundary) return await this.end();
    this.#boundary.release("pause");
    const late = Promise.withResolvers<never>();
    const onAbort = () => late.reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort);
    try {
      await Promise.race([this.#driven, late.promise]);
      this.#isOver = true;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** The run is over: releases the turn, and resolves when it has ended. Rejects with what it throws meanwhile, but for the abort. */
  async end(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#abort.abort(this.#gone);
    this.#next.reject(this.#gone);
    this.#boundary?.release("continue");
    this.#stretch?.report.reject(this.#gone);
    const reasons: unknown[] = [this.#gone, this.#abort.signal.reason];
    // Both at once, and each with its fault: a generator takes this up when it comes to rest, anything else may end its wait by it.
    const ends = await Promise.allSettled([this.#driven, this.#iterator?.return?.()]);
    for (const end of ends)
      if (end.status === "rejected" && !reasons.includes(end.reason) && end.reason?.name !== "AbortError") throw end.reason;
  }
}

function invalid(message: string): Error {
  return agentError("turn_invalid", message);
}
