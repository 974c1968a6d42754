/** A handle on one session. It holds no state of its own. */

import { resolve } from "node:path";
import { v5, v7 } from "uuid";
import { session as sessionMachine } from "../../machines/index.ts";
import type { ActorRef } from "../actor/actor-ref.ts";
import type { Engine } from "../actor/engine.ts";
import { agentError, codedError } from "./error.ts";
import type { ProposedPlan } from "./proposal.ts";
import { Run } from "./run.ts";
import { type StopOptions, stopTurn } from "./stop.ts";
import { type PlanOptions, proposePlan, WorkPlan } from "./work-plan.ts";

/** Namespace of ids that are derived from a caller's key, so that a repeated send names the same run. */
const KEYED = "6f1c2f0e-6b0f-4b55-9d0e-2d1a3a7f0c11";

/** A turn's identities, origin and limit. */
export interface TurnOptions {
  /** Minted where absent. */
  readonly turnId?: string;
  readonly runId?: string;
  readonly origin?: { readonly kind: "user" } | { readonly kind: "goal"; readonly goalId: string };
  /** Steps that the turn may take; null or absent: no limit. */
  readonly maxSteps?: number | null;
  /** Makes the send idempotent: the same key and text begin one turn, however often they are sent. */
  readonly key?: string;
}

/** What of a session's configuration is to change. */
export interface ConfigurationChanges {
  /** Name of a backend; looked up when the next run is prepared. */
  readonly backend?: string;
  readonly cwd?: string;
  readonly permissionMode?: "explore" | "ask" | "bypass";
}

/** One conversation, live or archived. */
export class Session {
  readonly id: string;
  readonly #engine: Engine;
  readonly #actor: ActorRef<typeof sessionMachine>;

  constructor(engine: Engine, id: string) {
    const actor = engine.get(sessionMachine, id);
    if (!actor) throw agentError("session_not_found", `there is no session ${id}`);
    this.id = id;
    this.#engine = engine;
    this.#actor = actor;
  }

  /** The machine's last committed snapshot. */
  getSnapshot() {
    return this.#actor.getSnapshot();
  }

  /**
   * Begins a turn. Resolves when its run is durable. Throws `session_busy`, `session_archived`, `identity_taken`,
   * `idempotency_conflict`, `event_invalid`.
   */
  async send(text: string, options: TurnOptions = {}): Promise<Run> {
    const { key } = options;
    const mint = (role: string) => (key === undefined ? v7() : v5(`${this.id}\n${role}\n${key}`, KEYED));
    const event = {
      type: "session.send" as const,
      turnId: options.turnId ?? mint("turn"),
      runId: options.runId ?? mint("run"),
      text,
      origin: options.origin ?? { kind: "user" as const },
      maxSteps: options.maxSteps ?? null,
    };
    const answer = await this.#actor.send(event, key === undefined ? {} : { key });
    if (answer.kind === "accepted") return new Run(this.#engine, event.runId);
    if (answer.kind === "ignored") throw codedError(answer.reason ?? "session_busy", `the session ${this.id} does not begin a turn now`);
    throw codedError(answer.code === "actor_final" ? "session_archived" : answer.code, answer.message);
  }

  /**
   * The latest run of the turn under way: live, waiting, or, where the turn is sealed and its successor is not there yet, the sealed run,
   * which `checkContinuation` with the purpose `handoff` takes. Undefined where the session is idle.
   */
  currentRun(): Run | undefined {
    const turn = this.#actor.getSnapshot().context.turn;
    return turn ? new Run(this.#engine, turn.runId) : undefined;
  }

  /**
   * Changes by what, where and under which permissions the turns to come are done; what is absent stays. A sealed turn cannot be
   * resumed until the session is configured as it was. Throws `session_busy` while a turn is at work, `session_archived`.
   */
  async configure(changes: ConfigurationChanges): Promise<void> {
    const { backend, cwd, permissionMode } = changes ?? {};
    const present = this.#actor.getSnapshot().context.configuration;
    const configuration = {
      backend: backend ?? present.backend,
      cwd: cwd === undefined ? present.cwd : resolve(cwd),
      permissionMode: permissionMode ?? present.permissionMode,
    };
    const answer = await this.#actor.send({ type: "session.configure", configuration });
    if (answer.kind === "ignored") throw codedError(answer.reason ?? "session_busy", `the session ${this.id} is at work`);
    if (answer.kind === "refused") throw codedError(answer.code === "actor_final" ? "session_archived" : answer.code, answer.message);
  }

  /**
   * Proposes a work plan to a person: a new one, or the next revision of the one that is not over. `planId`: of the new plan, minted
   * where absent; `plan_exists` where another is not over. Throws `plan_active` while an execution is active, `plan_ended` where the key
   * was used for a plan that is over, `session_archived`, `identity_taken`, `idempotency_conflict`, `event_invalid`.
   */
  proposePlan(proposal: ProposedPlan, options: PlanOptions & { readonly planId?: string } = {}): Promise<WorkPlan> {
    const { key } = options;
    const minted = key === undefined ? v7() : v5(`${this.id}\nplan\n${key}`, KEYED);
    return proposePlan(this.#engine, this.#actor, proposal, { ...options, minted });
  }

  /** The work plan that is not over, or undefined where there is none. */
  plan(): WorkPlan | undefined {
    const { planId } = this.#actor.getSnapshot().context;
    return planId === null ? undefined : new WorkPlan(this.#engine, planId);
  }

  /**
   * Stops the turn under way, whoever decides about it, also where its run cannot be read any more. Resolves when the stop is durable.
   * Throws `run_not_active` where no turn is under way, `stop_in_progress`, `session_blocked`.
   */
  async stop(options: StopOptions = {}): Promise<void> {
    const { turn } = this.#actor.getSnapshot().context;
    if (!turn) throw agentError("run_not_active", `the session ${this.id} has no turn under way`);
    await stopTurn(this.#actor, turn.turnId, options);
  }

  /** Closes the session for good. Throws `session_busy`. */
  async archive(): Promise<void> {
    const answer = await this.#actor.send({ type: "session.archive" });
    if (answer.kind === "ignored") throw codedError(answer.reason ?? "session_busy", `the session ${this.id} has a turn under way`);
    if (answer.kind === "refused" && answer.code !== "actor_final") throw codedError(answer.code, answer.message);
  }
}
