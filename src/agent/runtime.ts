/** The agent runtime over an engine: sessions, runs, continuations. Composition only; lifecycle rules are in `machines/`. */

import type { KeyObject } from "node:crypto";
import { resolve } from "node:path";
import { v7 } from "uuid";
import { machines, session as sessionMachine } from "../../machines/index.ts";
import { type Engine, type EngineOptions, openEngine } from "../actor/engine.ts";
import type { Resolution } from "../actor/resolution.ts";
import type { Retained, RetentionPolicy } from "../actor/retention.ts";
import type { ActorFilter, ActorRow, EffectRow, Page, PlacedDeadLetterRow, Store, TimerRow } from "../actor/store.ts";
import type { Verified } from "../actor/verify.ts";
import { type CheckOptions, type Continuation, type ContinuationCheck, checkContinuation, claimContinuation } from "./continuation.ts";
import { COPY_TRANSITIONS, type CopyOptions, copySession } from "./copy.ts";
import { type Embedding, type EmbeddingOptions, embeddingOf } from "./embedding.ts";
import { agentError, codedError } from "./error.ts";
import { Interaction } from "./interaction.ts";
import { type Receipt, type ReceiptOptions, receiptOf } from "./receipt.ts";
import { settle } from "./recovery.ts";
import { retainSessions } from "./retention.ts";
import { Run, type RunEvent } from "./run.ts";
import { Session } from "./session.ts";
import { runHandlers } from "./step.ts";
import { type ReadTurnOptions, readTurn, type Turn, type TurnOutline } from "./turn.ts";
import { verifyRoot } from "./verify.ts";
import { WorkPlan } from "./work-plan.ts";

/** Backends and what decides about continuations, and the engine's limits, clock and probes. */
export interface RuntimeOptions extends Omit<EngineOptions, "machines" | "effects">, EmbeddingOptions {
  /** Gives the private key that signs receipts, an Ed25519 key. */
  readonly receiptKey?: () => KeyObject;
}

/** By what, where and under which permissions a session works. */
export interface SessionOptions {
  /** Name of a backend; it is looked up again by whichever process goes on with the session. */
  readonly backend: string;
  /** Where tools work. Default: the process's working directory. */
  readonly cwd?: string;
  /** Default `ask`. Recorded and handed on to a successor; this version does not enforce it. */
  readonly permissionMode?: "explore" | "ask" | "bypass";
  readonly name?: string;
  /** Minted where absent. With the same id and options, the existing session is given. */
  readonly id?: string;
}

/** Opens the runtime on a store whose owner this process is, and recovers. */
export async function openRuntime(store: Store, options: RuntimeOptions): Promise<Holdfast> {
  const { backends, inspect, denials, driftPolicy, continuations, receiptKey, ...engineOptions } = options;
  const given = { inspect, denials, driftPolicy, continuations };
  const embedding = embeddingOf({ backends, ...given } as EmbeddingOptions);
  let engine: Engine | undefined;
  const effects = runHandlers({
    embedding,
    engine: () => {
      if (!engine) throw agentError("closed", "the runtime is not open");
      return engine;
    },
  });
  // Recovery starts handlers, and these need the engine before `openEngine` resolves.
  const { cascadeLimit = COPY_TRANSITIONS } = engineOptions;
  const opened = await openEngine(store, { ...engineOptions, cascadeLimit, machines, effects }, (made) => {
    engine = made;
  });
  if (engineOptions.start !== false)
    await settle(opened).catch(async (error) => {
      await opened.close();
      throw error;
    });
  return new Holdfast(opened, embedding, receiptKey);
}

/** The agent runtime of one state root. */
export class Holdfast {
  readonly #engine: Engine;
  readonly #embedding: Embedding;
  /** Runs that this process is continuing. */
  readonly #continuing = new Set<string>();

  readonly #receiptKey: (() => KeyObject) | undefined;

  constructor(engine: Engine, embedding: Embedding, receiptKey?: () => KeyObject) {
    this.#engine = engine;
    this.#embedding = embedding;
    this.#receiptKey = receiptKey;
  }

  /** This ownership's number; each opening of the root has a higher one. */
  get epoch(): number {
    return this.#engine.epoch;
  }

  get rootId(): string {
    return this.#engine.reader.rootId;
  }

  /** Throws `backend_unknown`, `input_invalid`, `actor_exists`. */
  async createSession(options: SessionOptions): Promise<Session> {
    const { backend, permissionMode = "ask", name = null, id = v7() } = options ?? {};
    if (options?.cwd !== undefined && typeof options.cwd !== "string")
      throw agentError("argument_invalid", "cwd is the path of a directory", { details: { path: "cwd" } });
    if (!Object.hasOwn(this.#embedding.backends, backend))
      throw agentError("backend_unknown", `no backend ${backend} was passed to openHoldfast`, { details: { path: "backend" } });
    const configuration = { backend, cwd: resolve(options.cwd ?? "."), permissionMode };
    await this.#engine.create(sessionMachine, id, { input: { sessionId: id, name, configuration, copied: null } });
    return new Session(this.#engine, id);
  }

  /** Throws `session_not_found`. */
  session(id: string): Session {
    return new Session(this.#engine, id);
  }

  /**
   * Forks a conversation at a turn, by default after its last: a new session with the same turns under ids of its own. The source stays
   * as it is. Throws `session_not_found`, `turn_not_found`, `nothing_to_copy`; `branch_runtime_fact_rewrite_unsupported` while a chosen
   * turn is held or sealed, `run_active` while it is otherwise under way; `copy_too_large`; `journal_damaged`, `snapshot_damaged`;
   * `actor_exists`, `actor_deleted`, `argument_invalid`, `input_invalid`. Nothing was written then.
   */
  copySession(sessionId: string, options: CopyOptions = {}): Promise<Session> {
    return copySession(this.#engine, sessionId, options);
  }

  /** Throws `run_not_found`. */
  run(id: string): Run {
    return new Run(this.#engine, id);
  }

  /** Throws `plan_not_found`. */
  plan(id: string): WorkPlan {
    return new WorkPlan(this.#engine, id);
  }

  /** Throws `interaction_not_found`. */
  interaction(id: string): Interaction {
    return new Interaction(this.#engine, id);
  }

  /**
   * Reads whether a run can be continued: `continue`, or `park` with every reason. Writes nothing, and throws only `argument_invalid`.
   */
  checkContinuation(runId: string, options: CheckOptions = {}): Promise<ContinuationCheck> {
    return checkContinuation(this.#engine, this.#embedding, runId, options);
  }

  /**
   * Continues a run that was checked and gives the new run's events. Before the claim it throws and leaves no trace:
   * `continuation_in_progress`, `source_identity_changed`, `source_composition_missing`, `continuation_claim_conflict`,
   * `denial_lookup_failed`, `session_busy`, `turn_superseded`, and what the check would park with. A successor that ends before its
   * dispatch throws its outcome's code, for example `composition_drift`.
   */
  async *resume(continuation: Continuation, options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<RunEvent> {
    // Before the claim, which cannot be taken back.
    options.signal?.throwIfAborted();
    const source = continuation?.source?.runId;
    if (this.#continuing.has(source)) throw agentError("continuation_in_progress", `this process is continuing the run ${source} already`);
    this.#continuing.add(source);
    try {
      const run = await claimContinuation(this.#engine, this.#embedding, continuation);
      let dispatched = false;
      for await (const event of run.events(options)) {
        if (event.type === "run.dispatched") dispatched = true;
        if (event.type === "run.ended" && event.kind === "failed" && !dispatched)
          throw codedError(event.error.code, event.error.message, { details: { run: run.id, drift: event.drift } });
        yield event;
      }
    } finally {
      this.#continuing.delete(source);
    }
  }

  /**
   * Starts what is open and has no running handler: a seal that could not be written, for example. Interrupts no run; a work plan's
   * execution whose last turn has ended is interrupted.
   */
  async recover(): Promise<void> {
    await this.#engine.recover();
    await settle(this.#engine);
  }

  /**
   * The turn that a run is a member of: root, tip, members, a seal that waits for its successor, and what was said. `bodies: false`
   * reads no events and checks no chains. Throws `run_not_found`, `turn_inconsistent`, `lineage_limit`, `snapshot_damaged`,
   * `journal_damaged`.
   */
  readTurn(runId: string, options: { readonly bodies: false }): TurnOutline;
  readTurn(runId: string, options?: { readonly bodies?: true }): Turn;
  readTurn(runId: string, options?: ReadTurnOptions): TurnOutline | Turn {
    return readTurn(this.#engine.reader, runId, options);
  }

  /**
   * Evidence, checkable offline, that a sealed turn was continued once; with `signed`, signed by the key of the root, which is made
   * where there is none. Throws `run_not_found`, `receipt_unavailable`, what a damaged lineage gives, and what a key that cannot be used
   * gives (`root_invalid`, `root_insecure`, `storage_failed`).
   */
  receipt(runId: string, { signed = false }: ReceiptOptions = {}): Receipt {
    if (!signed) return receiptOf(this.#engine.reader, runId);
    if (!this.#receiptKey) throw agentError("argument_invalid", "signed: this runtime was given no key", { details: { path: "signed" } });
    return receiptOf(this.#engine.reader, runId, this.#receiptKey);
  }

  /** Checks every row of the root, and what the machines promise across actors. */
  verify(): Verified {
    return verifyRoot(this.#engine.reader);
  }

  /**
   * A page of all actors, in the order of their creation: `machine` is `session`, `run`, `handoff`, `interaction` or `work-plan`, and each
   * `id` is that of `session()`, `run()`, `interaction()` or `plan()`. `status: "active"`: those that have not ended. 100 rows where no
   * `limit` is given, 1,000 at most; the last row's `ordinal` is `after` of the next page. Throws `input_invalid`.
   */
  list(filter: ActorFilter = {}, page: Partial<Page> = {}): (ActorRow & { readonly ordinal: number })[] {
    return this.#engine.list(filter, page);
  }

  /** A page of effects that are requested and not settled; those that are `exhausted` or `unknown` wait for `retry` or `resolve`. */
  effects(
    filter: { readonly actor?: string; readonly state?: EffectRow["state"] } = {},
    page: Partial<Page> = {},
  ): (EffectRow & { readonly ordinal: number })[] {
    return this.#engine.effects(filter, page);
  }

  /** A page of timers that are set. */
  timers(filter: { readonly actor?: string } = {}, page: Partial<Page> = {}): (TimerRow & { readonly ordinal: number })[] {
    return this.#engine.timers(filter, page);
  }

  /** A page of events that reached nobody; those to an actor in quarantine are delivered by its `release`. */
  deadLetters(filter: { readonly receiver?: string; readonly reason?: string } = {}, page: Partial<Page> = {}): PlacedDeadLetterRow[] {
    return this.#engine.deadLetters(filter, page);
  }

  /** Runs an exhausted or unknown effect again. Throws `effect_gone`, `effect_at_work`, and what makes its actor unavailable. */
  retry(key: string): Promise<void> {
    return this.#engine.retry(key);
  }

  /** Settles an exhausted or unknown effect by hand. Throws as `retry` does, and `effect_result_invalid`. */
  resolve(key: string, outcome: Resolution): Promise<void> {
    return this.#engine.resolve(key, outcome);
  }

  /**
   * Takes an actor of any machine (`<machine>/<id>`, the `address` of its row) out of quarantine after a check. Throws
   * `actor_not_quarantined`, `actor_not_found`, and the fault that is still there. With `discard`, what it cannot take is left out and
   * listed.
   */
  release(actor: string, options: { readonly discard?: boolean } = {}): Promise<void> {
    return this.#engine.release(actor, options);
  }

  /**
   * Forgets what the policy lets go, in small commits. Of conversations: archived sessions, each with all its runs and handoffs, and
   * nothing of others. Throws `input_invalid`.
   */
  retain(policy: RetentionPolicy): Promise<Retained> {
    return retainSessions(this.#engine, policy);
  }

  /** Ends handlers and watchers, commits what was asked for, and releases the root. Live runs are interrupted by the next opening. */
  close(): Promise<void> {
    return this.#engine.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
