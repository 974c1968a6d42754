/** A handle on one run: its events, its end, a stop, a handoff. It holds no state of its own. */

import { v7 } from "uuid";
import type { Interaction as Asked, Drift, Outcome, Seal, Source } from "../../machines/index.ts";
import {
  handoff as handoffMachine,
  interaction as interactionMachine,
  run as runMachine,
  session as sessionMachine,
} from "../../machines/index.ts";
import type { ActorRef, Answer } from "../actor/actor-ref.ts";
import type { Engine } from "../actor/engine.ts";
import type { Entry } from "../actor/feed.ts";
import { canonical, type Json } from "../actor/json.ts";
import type { ToolOutcome } from "./backend.ts";
import { openedAs } from "./boundary.ts";
import { agentError, codedError, declined } from "./error.ts";
import { Handoff } from "./handoff.ts";
import { type AnswerOptions, type DecisionOptions, Interaction } from "./interaction.ts";
import { lossOf, unlessLost } from "./loss.ts";
import { type StopOptions, stopTurn } from "./stop.ts";
import { messageText } from "./transcript.ts";

/** Facts that one entry can have, and more: a cursor is the entry's seq times this, and the fact's place in the entry. */
const PLACES = 1024;

/** What a run states, in order, and its partial output as it comes. Pass a `cursor` as `after` to go on behind its event. */
export type RunEvent = { readonly cursor: number; readonly at: number; readonly runId: string } & (
  | {
      readonly type: "run.opened";
      readonly turnId: string;
      readonly sessionId: string;
      readonly rootRunId: string;
      readonly source: Source;
    }
  | { readonly type: "run.dispatched" }
  | { readonly type: "message.added"; readonly role: "user" | "assistant"; readonly text: string }
  | { readonly type: "composition.recorded"; readonly composerId: string; readonly composerRevision: string; readonly body: string }
  | { readonly type: "tool.called"; readonly callId: string; readonly name: string; readonly args: Json }
  | { readonly type: "tool.settled"; readonly callId: string; readonly name: string; readonly outcome: ToolOutcome }
  | { readonly type: "tool.unknown"; readonly callId: string; readonly name: string }
  | ({ readonly type: "run.waiting" } & Asked)
  | {
      readonly type: "permission.decided";
      readonly interactionId: string;
      readonly question: string;
      readonly allow: boolean;
      readonly note: string | null;
    }
  /** What became known of a call of the run `of` before this run continued it. */
  | {
      readonly type: "tool.reconciled";
      readonly of: string;
      readonly callId: string;
      readonly name: string;
      readonly by: "query" | "person";
    }
  /** The composition differs from the one that it had to agree with, in fields in which that is allowed. */
  | { readonly type: "composition.drifted"; readonly drift: readonly Drift[] }
  /** The run is a copy: its transcript has all that the turn stated. */
  | {
      readonly type: "turn.copied";
      readonly sessionId: string;
      readonly turnId: string;
      readonly runIds: readonly string[];
      readonly facts: number;
    }
  | { readonly type: "handoff.requested" | "handoff.held" | "handoff.committed" | "handoff.cancelled"; readonly handoffId: string }
  | ({ readonly type: "run.sealed" } & Seal)
  | ({ readonly type: "run.ended" } & Outcome)
  /** Not stored, and never repeated. */
  | { readonly type: "partial"; readonly output: Json }
);

/** A handoff's identities, and a way to withdraw it. */
export interface HandoffOptions {
  /** Identities, each minted where absent and fixed from here on. */
  readonly id?: string;
  readonly successorRunId?: string;
  readonly claimId?: string;
  /** Aborting it before the commit cancels the request; afterwards it has no effect. */
  readonly signal?: AbortSignal;
}

/** How a run ended: its outcome, or the seal that names its successor. */
export type RunEnd = Outcome | { readonly kind: "sealed"; readonly seal: Seal };

/** One run, live or ended. */
export class Run {
  readonly id: string;
  readonly #engine: Engine;
  readonly #actor: ActorRef<typeof runMachine>;

  constructor(engine: Engine, id: string) {
    const actor = engine.get(runMachine, id);
    if (!actor) throw agentError("run_not_found", `there is no run ${id}`);
    this.id = id;
    this.#engine = engine;
    this.#actor = actor;
  }

  get turnId(): string {
    return this.#actor.getSnapshot().context.turnId;
  }

  get sessionId(): string {
    return this.#actor.getSnapshot().context.sessionId;
  }

  /** The machine's last committed snapshot. */
  getSnapshot() {
    return this.#actor.getSnapshot();
  }

  /**
   * What the run states, from the cursor `after` on (default 0: from the start), with partial output between; ends with the run.
   * Throws `seal_not_durable` where the seal's commit failed, and `storage_failed` where a step's did.
   */
  async *events(options: { readonly after?: number; readonly signal?: AbortSignal } = {}): AsyncGenerator<RunEvent> {
    let cursor = options.after ?? 0;
    const seq = Math.floor(cursor / PLACES);
    // The cursor's own entry is read again: it may have facts behind it.
    for await (const watched of this.#actor.watchAll({ ...options, after: Math.max(0, seq - 1) })) {
      if (watched.kind === "lost") {
        throw lossOf(watched.effect, watched.error);
      }
      if (watched.kind === "progress") {
        yield { type: "partial", cursor, at: 0, runId: this.id, output: watched.output };
        continue;
      }
      const { entry } = watched;
      for (const [place, fact] of entry.facts.entries()) {
        const own = entry.seq * PLACES + place;
        if (own <= cursor) continue;
        cursor = own;
        yield toRunEvent({ cursor, at: entry.at, runId: this.id }, entry, fact);
      }
    }
  }

  /**
   * Resolves with how the run ends. A run that is held, waiting or paused has not ended. Rejects with `seal_not_durable` or
   * `storage_failed` where what it came to could not be written now: it is submitted again, and may be waited for again.
   */
  async end(options: { readonly signal?: AbortSignal } = {}): Promise<RunEnd> {
    const { signal } = options;
    const { context } = await unlessLost(this.#actor, (stop) =>
      this.#actor.waitFor((snapshot) => snapshot.status === "done", { signal: signal ? AbortSignal.any([signal, stop]) : stop }),
    );
    return context.outcome ?? { kind: "sealed", seal: context.preview as Seal };
  }

  /**
   * Stops the run's turn, whoever decides about it: the run, or its handoff once it is sealed. Resolves when the stop is durable;
   * `end()` tells when the turn is over. Throws `run_not_active`, `stop_in_progress`, `session_blocked`, `session_not_found`.
   */
  async stop(options: StopOptions = {}): Promise<void> {
    // From the opening: a turn can be stopped although its run's snapshot is damaged.
    const { sessionId, turnId } = openedAs(this.#engine.reader, this.id);
    const session = this.#engine.get(sessionMachine, sessionId);
    if (!session) throw agentError("session_not_found", `there is no session ${sessionId}`);
    await stopTurn(session, turnId, options);
  }

  /**
   * Answers a question of the run's turn, also while the run is held or sealed: whichever run goes on gets the answer, once. Throws
   * `interaction_not_open`, and as `Interaction.answer` does.
   */
  answer(interactionId: string, text: string, options: AnswerOptions = {}): Promise<void> {
    return this.#interaction(interactionId).answer(text, options);
  }

  /** Gives or denies a permission that the run's turn asks for. Throws `interaction_not_open`, and as `Interaction.decide` does. */
  decide(interactionId: string, allow: boolean, options: DecisionOptions): Promise<void> {
    return this.#interaction(interactionId).decide(allow, options);
  }

  #interaction(id: string): Interaction {
    const actor = this.#engine.get(interactionMachine, id);
    if (actor?.getSnapshot().context.turnId !== this.turnId)
      throw agentError("interaction_not_open", `the turn of run ${this.id} asks nothing with the id ${id}`);
    return new Interaction(this.#engine, id);
  }

  /**
   * Asks the run to be held at its next boundary, for a successor whose identities are fixed from here on. Resolves when the request
   * is durable; asked for again with the same identities, it is the same request. Throws `run_not_active`, `handoff_in_progress`,
   * `lineage_limit`, `successor_not_new`, `identity_taken`.
   */
  async requestHandoff(options: HandoffOptions = {}): Promise<Handoff> {
    const handoffId = options.id ?? v7();
    if (options.signal?.aborted) throw options.signal.reason;
    const request = {
      type: "handoff.request" as const,
      handoffId,
      successorRunId: options.successorRunId ?? v7(),
      claimId: options.claimId ?? v7(),
    };
    const answer = await this.#actor.send(request);
    const { handoff } = this.#actor.getSnapshot().context;
    const { type: _, ...identities } = request;
    // Asked for again with the same identities, it is the same request: whoever lost the first answer has this one.
    if (answer.kind !== "ignored" || !handoff || canonical(handoff) !== canonical(identities)) this.#demand(answer, "run_not_active");
    return this.#handle(handoffId, options.signal);
  }

  /** The handoff that is requested of this run and not withdrawn, whoever asked for it; undefined where there is none. */
  handoff(): Handoff | undefined {
    const { handoff } = this.#actor.getSnapshot().context;
    return handoff ? this.#handle(handoff.handoffId) : undefined;
  }

  #handle(handoffId: string, signal?: AbortSignal): Handoff {
    return new Handoff(this.#engine.get(handoffMachine, handoffId) as ActorRef<typeof handoffMachine>, this.#actor, signal);
  }

  #demand(answer: Answer, otherwise: string): void {
    if (answer.kind === "ignored") throw declined(answer.reason ?? otherwise, `the run ${this.id}`);
    if (answer.kind === "refused") throw codedError(answer.code === "actor_final" ? "run_not_active" : answer.code, answer.message);
  }
}

function toRunEvent(
  base: { cursor: number; at: number; runId: string },
  entry: Entry,
  fact: { type: string; [key: string]: any },
): RunEvent {
  const event = entry.event as Record<string, any>;
  switch (fact.type) {
    case "message.added":
      return { ...base, type: "message.added", role: fact.role, text: messageText(event, fact.from) };
    case "tool.called":
      return { ...base, type: "tool.called", callId: event.callId, name: event.name, args: event.args };
    case "tool.settled":
      return { ...base, type: "tool.settled", callId: event.callId, name: fact.name, outcome: event.outcome };
    case "permission.decided": {
      const { interactionId, question, allow } = fact;
      return { ...base, type: "permission.decided", interactionId, question, allow, note: event.answer.note };
    }
    case "tool.reconciled": {
      const { runId: of, callId, name, by } = fact;
      return { ...base, type: "tool.reconciled", of, callId, name, by };
    }
    default:
      return { ...fact, ...base } as unknown as RunEvent;
  }
}
