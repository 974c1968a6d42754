/** A handle on one work plan: what is proposed, its approval, its execution. It holds no state of its own. */

import { type PlanStepStatus, type Proposal, type session as sessionMachine, workPlan } from "../../machines/index.ts";
import { proposal as proposalSchema } from "../../machines/proposal.ts";
import type { ActorRef, Answer } from "../actor/actor-ref.ts";
import type { Engine } from "../actor/engine.ts";
import type { HoldfastError } from "../actor/error.ts";
import { toEntry } from "../actor/feed.ts";
import { entryAt } from "../actor/page.ts";
import type { Fact } from "../actor/transition.ts";
import { agentError, codedError, declined } from "./error.ts";
import { completed, type ProposedPlan } from "./proposal.ts";

/** How a plan is told something. */
export interface PlanOptions {
  /** Makes it idempotent: the same key and request are taken once and answered alike; another request under it is `idempotency_conflict`. */
  readonly key?: string;
}

/** An approval: the revision, and the only execution that it began. */
export interface Approval {
  readonly revision: number;
  readonly executionId: string;
}

/** An execution, with its steps in the order of the plan. */
export interface Execution extends Approval {
  readonly status: "active" | "interrupted" | "completed" | "cancelled";
  /** Why it was interrupted: `turn_failed`, `turn_cancelled`, `recovery`, or what was given. Null where it is not. */
  readonly interruption: string | null;
  readonly proposal: Proposal;
  readonly steps: readonly PlanStepStatus[];
}

/** A work plan as it stands. */
export interface WorkPlanState {
  readonly planId: string;
  readonly sessionId: string;
  /** What is proposed now; where nothing awaits approval, what was approved last. */
  readonly proposal: Proposal;
  /** Its number, counted from 1. */
  readonly revision: number;
  /** True while it awaits approval. */
  readonly pending: boolean;
  /** The execution that was begun last. */
  readonly execution: Execution | null;
  /** True where the plan is completed or cancelled. */
  readonly over: boolean;
}

const STATUSES = ["active", "interrupted", "completed", "cancelled"] as const;

/** One work plan, under way or over. */
export class WorkPlan {
  readonly id: string;
  readonly #engine: Engine;
  readonly #actor: ActorRef<typeof workPlan>;

  constructor(engine: Engine, id: string) {
    const actor = engine.get(workPlan, id);
    if (!actor) throw agentError("plan_not_found", `there is no work plan ${id}`);
    this.id = id;
    this.#engine = engine;
    this.#actor = actor;
  }

  /** The machine's last committed snapshot. The texts of a plan are not in it: `state()` has them. */
  getSnapshot() {
    return this.#actor.getSnapshot();
  }

  /** The plan as it stands, with its texts. Throws `journal_damaged` where their entry cannot be read. */
  state(): WorkPlanState {
    const snapshot = this.#actor.getSnapshot();
    const { planId, sessionId, pending, execution } = snapshot.context;
    const status = STATUSES.find((name) => snapshot.hasTag(name));
    const approved = execution && this.#proposalAt(execution.seq);
    const shown = pending ?? execution;
    if (!shown) throw this.#damaged();
    return {
      planId,
      sessionId,
      proposal: approved && !pending ? approved : this.#proposalAt(shown.seq),
      revision: shown.revision,
      pending: snapshot.hasTag("pending"),
      execution:
        execution && approved && status
          ? {
              executionId: execution.executionId,
              revision: execution.revision,
              status,
              interruption: execution.interruption,
              proposal: approved,
              steps: execution.steps,
            }
          : null,
      over: snapshot.status === "done",
    };
  }

  /**
   * Proposes the next revision and gives its number; one that awaited approval is stale. Throws `plan_active` while an execution is
   * active, `plan_ended`, `idempotency_conflict`, `event_invalid`.
   */
  async propose(proposal: ProposedPlan, options: PlanOptions = {}): Promise<number> {
    const answer = await this.#actor.send({ type: "plan.propose", proposal: completed(proposal) }, keyed(options));
    return this.#fact(this.#demand(answer), "plan.proposed").revision as number;
  }

  /**
   * Approves the revision that awaits it and so begins its execution; an interrupted execution is cancelled by that. Where the last
   * execution is that revision's already, its approval is given again and nothing is written. Throws `plan_revision_changed` where
   * another revision is the latest, `plan_not_pending`, `plan_ended`, `idempotency_conflict`, `event_invalid`.
   */
  async approve(expectedRevision: number, options: PlanOptions = {}): Promise<Approval> {
    const { key } = options;
    // What was answered under the key comes first: it may have been another request.
    const isAnswered = key !== undefined && this.#engine.reader.answer(this.#actor.address, key) !== undefined;
    const before = isAnswered ? undefined : this.#approvalOf(expectedRevision);
    if (before) return before;
    const answer = await this.#actor.send({ type: "plan.approve", expectedRevision }, keyed(options));
    if (answer.kind !== "accepted" && !isConflict(answer)) {
      // Somebody else was faster.
      const meanwhile = this.#approvalOf(expectedRevision);
      if (meanwhile) return meanwhile;
    }
    const { revision, executionId } = this.#fact(this.#demand(answer), "plan.approved");
    return { revision: revision as number, executionId: executionId as string };
  }

  /**
   * Says how every step of the active execution stands, each once. Where all are completed or skipped, the plan is over. Throws
   * `plan_steps_invalid` where a step is missing, twice or unknown, where a completed or skipped one would be reopened or two would be in
   * progress; `plan_execution_stale` for another execution or one that is not active; `plan_ended`, `idempotency_conflict`,
   * `event_invalid`.
   */
  async update(executionId: string, steps: readonly PlanStepStatus[], options: PlanOptions = {}): Promise<void> {
    this.#demand(await this.#actor.send({ type: "plan.update", executionId, steps: steps as PlanStepStatus[] }, keyed(options)));
  }

  /** Interrupts the active execution; false where none is active. Throws `idempotency_conflict`, `event_invalid`. */
  async interrupt(reason: string, options: PlanOptions = {}): Promise<boolean> {
    const answer = await this.#actor.send({ type: "plan.interrupt", reason }, keyed(options));
    if (answer.kind === "ignored" || (answer.kind === "refused" && answer.code === "actor_final")) return false;
    this.#demand(answer);
    return true;
  }

  /**
   * Goes on with the interrupted execution; a revision that awaits approval in its place is stale. Throws `plan_active` where it is
   * active, `plan_execution_stale`, `plan_ended`, `idempotency_conflict`, `event_invalid`.
   */
  async resume(executionId: string, options: PlanOptions = {}): Promise<void> {
    this.#demand(await this.#actor.send({ type: "plan.resume", executionId }, keyed(options)));
  }

  /** Gives the plan up, whatever it is at. Throws `plan_ended`, `idempotency_conflict`. */
  async cancel(options: PlanOptions = {}): Promise<void> {
    this.#demand(await this.#actor.send({ type: "plan.cancel" }, keyed(options)));
  }

  #approvalOf(revision: number): Approval | undefined {
    const { execution } = this.#actor.getSnapshot().context;
    return execution && execution.revision === revision ? { revision, executionId: execution.executionId } : undefined;
  }

  /** The entry of an accepted event. */
  #demand(answer: Answer): number {
    if (answer.kind === "accepted") return answer.seq;
    if (answer.kind === "ignored") throw declined(answer.reason ?? "plan_execution_stale", `the work plan ${this.id}`);
    if (answer.code === "actor_final") throw agentError("plan_ended", `the work plan ${this.id} is over`);
    throw refusal(answer);
  }

  #entry(seq: number) {
    const { reader } = this.#engine;
    const row = entryAt(reader, this.#actor.address, seq);
    if (!row) throw this.#damaged();
    try {
      return toEntry(reader, row);
    } catch (error) {
      throw error instanceof SyntaxError ? this.#damaged() : error;
    }
  }

  /** From the journal, which says the same to whoever asks again; the snapshot is of now. */
  #fact(seq: number, type: string): Fact {
    const fact = this.#entry(seq).facts.find((found) => found.type === type);
    if (!fact) throw this.#damaged();
    return fact;
  }

  #proposalAt(seq: number): Proposal {
    const { input, proposal } = this.#entry(seq).event as { input?: { proposal?: unknown }; proposal?: unknown };
    const parsed = proposalSchema.safeParse(seq === 1 ? input?.proposal : proposal);
    if (!parsed.success) throw this.#damaged();
    return parsed.data;
  }

  #damaged(): HoldfastError {
    return agentError("journal_damaged", `an entry of ${this.#actor.address} is not what its snapshot says`, {
      details: { actor: this.#actor.address },
    });
  }
}

/** How a session's plan is proposed: under which id a new one is made, minted where the caller names none, and by which key. */
export interface ProposingOptions extends PlanOptions {
  readonly planId?: string | undefined;
  readonly minted: string;
}

/** Makes a session's plan, or proposes the next revision of the one that is not over. Throws as `Session.proposePlan` does. */
export async function proposePlan(
  engine: Engine,
  session: ActorRef<typeof sessionMachine>,
  proposal: ProposedPlan,
  options: ProposingOptions,
): Promise<WorkPlan> {
  const { planId = options.minted } = options;
  const answer = await session.send({ type: "session.plan", planId, proposal: completed(proposal) }, keyed(options));
  if (answer.kind === "accepted") return new WorkPlan(engine, planId);
  if (answer.kind === "refused")
    throw answer.code === "actor_final" ? agentError("session_archived", `the session ${session.id} is archived`) : refusal(answer);
  const present = session.getSnapshot().context.planId;
  if (options.planId !== undefined && options.planId !== present)
    throw codedError(answer.reason ?? "plan_exists", `the session ${session.id} has the work plan ${present}, which is not over`);
  if (present === null || (answer.repeated && !wasPresent(engine, session.address, present, options.key)))
    throw agentError("plan_ended", `the work plan to which this was proposed is over`);
  const plan = new WorkPlan(engine, present);
  await plan.propose(proposal, keyed(options));
  return plan;
}

/** Whether a session had this plan when it answered the key: a later one was never meant. */
function wasPresent({ reader }: Engine, session: string, planId: string, key = ""): boolean {
  const plan = reader.actor(`work-plan/${planId}`);
  const answer = reader.answer(session, key);
  return plan !== undefined && answer !== undefined && plan.createdMs <= answer.atMs;
}

function keyed({ key }: PlanOptions): PlanOptions {
  return key === undefined ? {} : { key };
}

function isConflict(answer: Answer): boolean {
  return answer.kind === "refused" && answer.code === "idempotency_conflict";
}

function refusal({ code, message, path }: Extract<Answer, { kind: "refused" }>): HoldfastError {
  return codedError(code, message, path === undefined ? {} : { details: { path } });
}
