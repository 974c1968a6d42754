/**
 * Contract of a backend: what turns a conversation into model steps. Implementations live in `src/backend/`.
 *
 * Duties of a backend:
 * 1. One call of `step` is one model step. Between two steps nothing of the backend is in flight: that is the boundary at which
 *    a run can be held, so a backend is never asked to wait.
 * 2. All that a later step needs is in the transcript. A backend keeps nothing that matters in memory: the next step may run in
 *    another process.
 * 3. Work with effects on the world goes through `callTool`, which makes the call durable before the tool runs (T1) and its
 *    result durable before the backend sees it (T2).
 * 4. When `signal` is aborted, `step` ends soon; a result that it still returns is kept as history.
 *
 * A backend that cannot be taken apart into steps is adapted by `turnBackend` (`src/backend/turn.ts`).
 */

import type { z } from "zod";
import type { Json } from "../actor/json.ts";

/**
 * What the model will be given, by hash. Runs of one turn are compared in all fields but `sourceRevisions` and `toolNames`; whether a
 * difference is refused or only stated, the embedder's `driftPolicy` says.
 */
export interface Composition {
  /** Dotted or dashed lower-case id of whatever composed it, 1..128 characters. */
  readonly composerId: string;
  /** 1..128 characters. A difference is allowed unless the policy refuses it, as one of `composerId` is. */
  readonly composerRevision: string;
  /** Revisions of the sources it was composed from; at most 64, sorted and unique by id. Never compared. */
  readonly sourceRevisions: readonly { readonly id: string; readonly revision: string }[];
  /** `sha256:` and 64 lower-case hex digits, like the three that follow. */
  readonly promptHash: string;
  readonly toolsHash: string;
  readonly availabilityHash: string;
  readonly providerOptionsHash: string;
  /** At most 256 names of at most 128 characters, sorted and unique. Never compared: `toolsHash` is. */
  readonly toolNames: readonly string[];
  /** Tokens, or null where the backend knows no limit. */
  readonly contextWindow: number | null;
}

/**
 * How a tool call without a known outcome (T1 without T2 after a crash) may be settled when its run is continued: `retry`, calling it
 * again is safe; `query`, the tool itself can tell; `ask`, a person says what came of it.
 */
export type Reconcile = "retry" | "query" | "ask";

/** What a tool gets besides its arguments. */
export interface ToolContext {
  readonly runId: string;
  /** Unique in the run; stable, so a tool can use it as an idempotency key. */
  readonly callId: string;
  /** The session's working directory. */
  readonly cwd: string;
  readonly signal: AbortSignal;
  /** Stores bytes by content and answers with their SHA-256; durable when it resolves. At most 64 for one call. */
  putBlob(bytes: Uint8Array): Promise<string>;
  getBlob(digest: string): Uint8Array | undefined;
}

/** A tool that the model may call. Results are plain JSON of at most 64 KiB: keep digests and counts, put bodies in blobs. */
export interface Tool<Arguments = unknown> {
  /** 1..128 characters. */
  readonly name: string;
  readonly description: string;
  readonly parameters: z.ZodType<Arguments>;
  /** Absent: a call with an unknown outcome parks every continuation in a new turn. */
  readonly reconcile?: Reconcile;
  /** With `reconcile: "query"`: what came of a call that was cut off; null where it cannot tell either. Changes nothing. */
  query?(args: Arguments, context: Pick<ToolContext, "runId" | "callId" | "cwd" | "signal">): Promise<ToolOutcome | null>;
  execute(args: Arguments, context: ToolContext): Promise<Json>;
}

/** What came of a tool call: its result, or an error for the model to read. */
export type ToolOutcome =
  | { readonly ok: true; readonly result: Json }
  | { readonly ok: false; readonly error: { readonly code: string; readonly message: string } };

/** One fact of the conversation, oldest first, over all runs that lead to this one. */
export interface TranscriptEntry {
  readonly runId: string;
  readonly turnId: string;
  readonly seq: number;
  readonly fact: TranscriptFact;
}

/** What a transcript holds: messages and tool calls. */
export type TranscriptFact =
  | { readonly type: "message.added"; readonly role: "user" | "assistant"; readonly text: string }
  | {
      readonly type: "tool.called";
      readonly callId: string;
      readonly name: string;
      readonly args: Json;
      readonly reconcile: Reconcile | null;
    }
  | { readonly type: "tool.settled"; readonly callId: string; readonly name: string; readonly outcome: ToolOutcome }
  | { readonly type: "tool.unknown"; readonly callId: string; readonly name: string }
  /** What became known, before a continuation, of a call of the run `of` that was unknown. */
  | {
      readonly type: "tool.reconciled";
      readonly of: string;
      readonly callId: string;
      readonly name: string;
      readonly by: "query" | "person";
      readonly outcome: ToolOutcome;
    }
  | {
      readonly type: "permission.decided";
      readonly interactionId: string;
      readonly question: string;
      readonly allow: boolean;
      /** Why, in the person's words. */
      readonly note: string | null;
    };

/** The run whose composition is to be declared. */
export interface PrepareInput {
  readonly sessionId: string;
  readonly turnId: string;
  readonly runId: string;
  readonly cwd: string;
  /** True where this run continues another. */
  readonly continuation: boolean;
  readonly signal: AbortSignal;
}

/** One step of a run: what it continues, what came before, and how it acts. */
export interface StepInput extends Omit<PrepareInput, "continuation"> {
  readonly rootRunId: string;
  /** 1 for the first step of this run. */
  readonly step: number;
  /** Steps left, this one included, or null where there is no limit. */
  readonly maxSteps: number | null;
  /** The user's text of this turn; empty in a successor and in a plain continuation, which add no user message. */
  readonly text: string;
  /** The user's text that a successor goes on answering, with the run that recorded it; null in a fresh run. */
  readonly headAnchor: { readonly runId: string; readonly turnId: string; readonly text: string } | null;
  /** How this run came to continue another, or null. `denied`: a person denied a permission in an earlier segment. */
  readonly continuation: { readonly purpose: "handoff" | "plain"; readonly sourceRunId: string; readonly denied: boolean } | null;
  /** The facts so far, read page by page from the journal. */
  transcript(): Iterable<TranscriptEntry>;
  getBlob(digest: string): Uint8Array | undefined;
  /**
   * Runs a tool between its two commits. Calls may be made in parallel. Rejects where T1 or T2 could not be committed, and with
   * `argument_invalid` for arguments that are not plain JSON or more than a mebibyte of it.
   */
  callTool(name: string, args: Json, options?: { readonly callId?: string }): Promise<ToolOutcome>;
  /** Partial output for whoever watches; never stored. */
  progress(output: Json): void;
}

/** What a step left: the assistant's text, once, and what comes next. */
export type StepReport = {
  readonly text?: string;
  /** Steps that the backend still needs or allows; null or absent: it knows no limit. A positive safe integer, or 0 for none. */
  readonly remainingSteps?: number | null;
} & (
  | { readonly next: "continue" }
  /** The turn is complete. `stopReason`: 1..64 characters, `end_turn` where nothing better is known. */
  | { readonly next: "end"; readonly stopReason: string }
  /** A person must answer first. The answer is the next fact of the transcript. */
  | { readonly next: "wait"; readonly interaction: Asked }
);

/** What a person is asked. */
export interface Asked {
  /** 1..64 characters without a dot, unique in the run. The interaction's own id is `<run>.<this>`. */
  readonly id: string;
  /** At most 65,536 characters. */
  readonly question: string;
  /** A question is answered by a text (the default), a permission by yes or no. */
  readonly kind?: "question" | "permission";
  /** What leave is asked for, at most 65,536 characters of JSON: the answer is bound to exactly this. */
  readonly subject?: Json;
}

/** The run that is over. */
export interface EndedInput {
  readonly sessionId: string;
  readonly turnId: string;
  readonly runId: string;
}

/** The run that is to drain. */
export interface FlushInput extends EndedInput {
  readonly signal: AbortSignal;
  /** The backend itself broke after the commit, so there is nothing to hand over: the run fails with this, and nothing is sealed. */
  fail(error: unknown): Promise<void>;
}

/** What does the work of a run, step by step. Its duties are at the head of this file. */
export interface Backend {
  readonly tools?: readonly Tool<any>[];
  /** Declares the composition, durably, before the first step. Absent or null: the run works but cannot be handed off. */
  prepare?(input: PrepareInput): Promise<Composition | null>;
  step(input: StepInput): Promise<StepReport>;
  /**
   * A handoff was committed: let what watches this run (traces, buffers) drain before the seal is written. Bounded by 10 s; may be
   * called again after a crash; its failure does not prevent the seal. `fail` does.
   */
  flush?(input: FlushInput): Promise<void>;
  /**
   * A run that this process prepared, stepped or flushed is over here: it ended, was sealed or set aside, or the runtime is closed.
   * Whatever is in memory for it can go. Called once, as a courtesy: not after a crash, which leaves nothing in memory; nobody waits for
   * it, and what it throws is a warning of the process.
   */
  ended?(input: EndedInput): void | Promise<void>;
}
