/**
 * Ledger: what the journals say, entry by entry, and what no entry may say. Written without the machines: it knows facts and events
 * by their names, and what was promised of them.
 */

import { hash } from "node:crypto";
import type { PlacedJournalRow } from "../../src/actor/store.ts";
import type { HandoffBook, InteractionBook, PlanBook, RunBook, SessionBook } from "./book.ts";

interface Actor {
  seq: number;
  hash: string;
  isFinal: boolean;
  readonly effects: Map<string, "open" | "settled">;
}

interface Entry extends PlacedJournalRow {
  readonly told: any;
  readonly stated: readonly any[];
  readonly asked: readonly any[];
}

const sha256 = (text: string) => hash("sha256", text, "hex");

export class Ledger {
  readonly actors = new Map<string, Actor>();
  readonly runs = new Map<string, RunBook>();
  readonly sessions = new Map<string, SessionBook>();
  readonly handoffs = new Map<string, HandoffBook>();
  readonly interactions = new Map<string, InteractionBook>();
  readonly plans = new Map<string, PlanBook>();
  /** Runs with a step that has no result yet, by the position at which it was asked for. */
  readonly stepping = new Map<string, number>();
  /** Outcomes of each turn. */
  readonly turns = new Map<string, number>();
  /** Sessions, and handoffs, of which something was read since the last rest. */
  readonly touched = new Set<string>();
  readonly moved = new Set<string>();
  readonly #violated: (what: string) => void;

  constructor(violated: (what: string) => void) {
    this.#violated = violated;
  }

  take(row: PlacedJournalRow): void {
    const entry: Entry = { ...row, told: JSON.parse(row.event), stated: JSON.parse(row.facts), asked: JSON.parse(row.actions) };
    const actor = this.#chain(entry);
    this.#effects(entry, actor);
    const [machine, id] = [row.actor.slice(0, row.actor.indexOf("/")), row.actor.slice(row.actor.indexOf("/") + 1)];
    if (machine === "run") this.#run(entry, id, actor);
    else if (machine === "session") this.#session(entry, id, actor);
    else if (machine === "handoff") this.#handoff(entry, id, actor);
    else if (machine === "interaction") this.#interaction(entry, id, actor);
    else if (machine === "work-plan") this.#plan(entry, id, actor);
  }

  /** Whether a person denied a permission in this run, or in one that it goes on from. */
  isDenied(runId: string): boolean {
    for (let run = this.runs.get(runId); run; run = this.runs.get(run.source.runId ?? "")) {
      const isHere = run.permissions.some((id) => this.interactions.get(id)?.answer?.allow === false);
      if (isHere) return true;
    }
    return false;
  }

  #demand(holds: unknown, what: string): void {
    if (!holds) this.#violated(what);
  }

  /** ACT-3, ACT-5, and the chain. */
  #chain(entry: Entry): Actor {
    const { actor, seq, atMs, version, cause, event, facts, actions } = entry;
    const known = this.actors.get(actor) ?? { seq: 0, hash: "", isFinal: false, effects: new Map() };
    this.actors.set(actor, known);
    this.#demand(seq === known.seq + 1, `ACT-3: entry ${seq} of ${actor} follows entry ${known.seq}`);
    const body = sha256(JSON.stringify([atMs, version, cause, event, facts, actions]));
    this.#demand(sha256(JSON.stringify([known.hash, actor, seq, body])) === entry.hash, `chain: entry ${seq} of ${actor} is not linked`);
    this.#demand(!known.isFinal, `ACT-5: entry ${seq} of ${actor} (${entry.told.type}) comes after its end`);
    known.seq = seq;
    known.hash = entry.hash;
    return known;
  }

  /** ACT-6: a result is of a request that has none yet. */
  #effects({ actor, seq, cause, asked }: Entry, known: Actor): void {
    const { kind, effect } = JSON.parse(cause);
    if (kind === "result") {
      this.#demand(known.effects.get(effect) === "open", `ACT-6: entry ${seq} of ${actor} is a result of ${effect}, which is not open`);
      known.effects.set(effect, "settled");
    }
    for (const [index, request] of asked.entries()) if (request.type === "effect") known.effects.set(`${actor}:${seq}:${index}`, "open");
  }

  #open(id: string, { told, seq }: Entry, opened: any): RunBook {
    const { sessionId, turnId, source } = opened;
    const isMeantToRun = told.input.stopBeforeDispatch === null;
    const fresh = { dispatches: 0, preparing: 0, waiting: null, handoff: null, seal: null, outcome: null, next: null };
    const run: RunBook = {
      ...{ id, sessionId, turnId, source, isMeantToRun, steps: new Map(), calls: new Map(), asks: [], permissions: [] },
      ...fresh,
    };
    this.runs.set(id, run);
    this.sessions.get(sessionId)?.runs.push(id);
    this.#demand(seq === 1, `run/${id} opens by entry ${seq}`);
    if (source.runId === undefined) return run;
    const before = this.runs.get(source.runId);
    this.#demand(before && before.next === null, `successor: run/${id} continues ${source.runId}, as ${before?.next} does`);
    if (!before) return run;
    before.next = id;
    const isHandedOver = before.seal?.successorRunId === id && before.seal?.claimId === source.claimId && before.turnId === turnId;
    if (source.kind === "handoff") this.#demand(isHandedOver, `successor: run/${id} is not named by the seal of ${before.id}`);
    else this.#demand(before.outcome && before.turnId !== turnId, `successor: run/${id} continues ${before.id}, which has no outcome`);
    if (isMeantToRun)
      this.#demand(source.denied === this.isDenied(before.id), `denial: run/${id} says denied ${source.denied}, and its segments do not`);
    return run;
  }

  #run(entry: Entry, id: string, actor: Actor): void {
    const run = this.runs.get(id) ?? this.#open(id, entry, entry.stated.find(({ type }) => type === "run.opened") ?? {});
    this.touched.add(run.sessionId);
    if (run.handoff) this.moved.add(run.handoff.id);
    if (run.source.handoffId) this.moved.add(run.source.handoffId);
    const { told } = entry;
    if (told.type.startsWith("prepare.")) run.preparing--;
    if (told.type.startsWith("step.")) this.stepping.delete(id);
    if (told.type === "tool.call" && told.reconcile === "ask") run.asks.push(told.callId);
    if (told.type === "interaction.answered") this.#takeAnswer(run, told);
    for (const fact of entry.stated) this.#stated(run, fact, actor);
    for (const request of entry.asked) {
      if (request.name === "prepare") run.preparing++;
      if (request.name !== "step") continue;
      const { step, maxSteps } = request.params;
      this.#demand(!run.steps.has(step), `dispatch: run/${id} asks for step ${step} twice`);
      this.#demand(run.dispatches === 1, `dispatch: run/${id} asks for step ${step} with ${run.dispatches} dispatches`);
      run.steps.set(step, maxSteps);
      this.stepping.set(id, entry.position);
    }
  }

  #takeAnswer(run: RunBook, { interactionId, answer }: any): void {
    const asked = this.interactions.get(interactionId);
    if (asked) asked.taken++;
    this.#demand(asked?.taken === 1, `answer: ${interactionId} reaches run/${run.id} as number ${asked?.taken}`);
    const isSame = JSON.stringify(asked?.answer) === JSON.stringify(answer);
    this.#demand(isSame, `answer: run/${run.id} is given another answer than ${interactionId} has`);
    run.waiting = null;
  }

  #stated(run: RunBook, fact: any, actor: Actor): void {
    const { calls } = run;
    switch (fact.type) {
      case "run.dispatched":
        this.#demand(++run.dispatches === 1, `dispatch: run/${run.id} is dispatched ${run.dispatches} times`);
        this.#demand(run.isMeantToRun, `dispatch: run/${run.id} was stopped before its dispatch`);
        break;
      case "tool.called":
        this.#demand(!calls.has(fact.callId), `tool: ${run.id} calls ${fact.callId} twice`);
        calls.set(fact.callId, "called");
        break;
      case "tool.settled":
      case "tool.unknown":
        this.#demand(calls.get(fact.callId) === "called", `tool: ${run.id} ${fact.callId}: ${fact.type} while ${calls.get(fact.callId)}`);
        calls.set(fact.callId, fact.type === "tool.settled" ? "settled" : "unknown");
        break;
      case "run.waiting":
        run.waiting = fact.id;
        if (fact.kind === "permission") run.permissions.push(fact.id);
        break;
      case "run.sealed":
      case "run.ended":
        this.#ended(run, fact, actor);
        break;
      default:
        if (fact.type.startsWith("handoff.")) this.#moved(run, fact);
    }
  }

  #moved(run: RunBook, { type, handoffId }: any): void {
    const stage = type.slice("handoff.".length);
    const { handoff } = run;
    this.moved.add(handoffId);
    const before = { requested: undefined, held: "requested", committed: "held" }[stage as "requested"];
    if (stage === "requested") run.handoff = { id: handoffId, stage };
    else this.#demand(handoff?.id === handoffId, `handoff: ${type} of ${handoffId} in run/${run.id}, which has ${handoff?.id}`);
    if (stage === "requested") this.#demand(!handoff, `handoff: run/${run.id} has two`);
    else if (stage === "cancelled") {
      this.#demand(handoff?.stage !== "committed", `handoff: ${handoffId} is cancelled after its commit`);
      const book = this.handoffs.get(handoffId);
      if (book) book.cancelled = true;
      run.handoff = null;
    } else {
      this.#demand(handoff?.stage === before, `handoff: ${type} of ${handoffId} after ${handoff?.stage}`);
      if (handoff) handoff.stage = stage;
    }
  }

  #ended(run: RunBook, { type, ...fact }: any, actor: Actor): void {
    this.#demand(!run.seal && !run.outcome, `end: run/${run.id} ends twice`);
    this.stepping.delete(run.id);
    this.#demand(![...run.calls.values()].includes("called"), `tool: run/${run.id} ends with an open call`);
    actor.isFinal = true;
    run.waiting = null;
    if (type === "run.ended") {
      run.outcome = fact;
      return;
    }
    run.seal = fact;
    const isCommitted = run.handoff?.stage === "committed" && run.handoff.id === fact.handoffId;
    this.#demand(isCommitted, `seal: run/${run.id} is sealed without a commit`);
    this.#demand(fact.outcome === undefined && fact.kind === undefined, `seal: run/${run.id} states an outcome with its seal`);
  }

  #session({ told, stated, seq }: Entry, id: string, actor: Actor): void {
    const blank = { turn: null, planId: null, archived: false };
    const session = this.sessions.get(id) ?? { id, ...blank, runs: [], handoffs: [], interactions: [], plans: [] };
    this.sessions.set(id, session);
    this.touched.add(id);
    if (told.type === "session.plan") session.planId = told.planId;
    if (told.type === "plan.ended") session.planId = null;
    if (told.type === "turn.resumed" && session.turn) session.turn.tip = told.runId;
    if (told.type === "session.archive") {
      this.#demand(!session.turn, `turn: session/${id} is archived in a turn`);
      session.archived = actor.isFinal = true;
    }
    for (const fact of stated) {
      if (fact.type === "turn.started") {
        this.#demand(!session.turn, `turn: session/${id} begins ${fact.turnId} within ${session.turn?.turnId}`);
        this.#demand(!this.turns.has(fact.turnId), `turn: ${fact.turnId} begins twice`);
        this.turns.set(fact.turnId, 0);
        session.turn = { turnId: fact.turnId, tip: fact.runId };
      }
      if (fact.type !== "turn.ended") continue;
      const outcomes = (this.turns.get(fact.turnId) ?? 0) + 1;
      this.turns.set(fact.turnId, outcomes);
      this.#demand(outcomes === 1, `turn: ${fact.turnId} has ${outcomes} outcomes (entry ${seq})`);
      const { turn } = session;
      this.#demand(turn?.turnId === fact.turnId && turn?.tip === fact.runId, `turn: ${fact.turnId} is ended by ${fact.runId}`);
      const isSame = JSON.stringify(this.runs.get(fact.runId)?.outcome) === JSON.stringify(fact.outcome);
      this.#demand(isSame, `turn: ${fact.turnId} has another outcome than run/${fact.runId}`);
      session.turn = null;
    }
  }

  #handoff({ told, stated }: Entry, id: string, actor: Actor): void {
    this.moved.add(id);
    let book = this.handoffs.get(id);
    if (!book) {
      const { sourceRunId, successorRunId, sessionId } = told.input;
      book = { id, sourceRunId, successorRunId, cancelled: false, claims: 0, ended: null };
      this.handoffs.set(id, book);
      this.sessions.get(sessionId)?.handoffs.push(id);
    }
    for (const fact of stated) {
      if (fact.type === "handoff.claimed") {
        this.#demand(++book.claims === 1, `successor: handoff/${id} gives its claim ${book.claims} times`);
        this.#demand(this.runs.get(book.sourceRunId)?.seal, `successor: handoff/${id} gives its claim before the seal`);
      } else {
        book.ended = fact.type === "handoff.resumed" ? "resumed" : fact.as;
        actor.isFinal = true;
      }
    }
  }

  #interaction({ told, stated }: Entry, id: string, actor: Actor): void {
    let book = this.interactions.get(id);
    if (!book) {
      const { sessionId, kind, hash } = told.input;
      book = { id, sessionId, kind, hash, answer: null, taken: 0, over: false };
      this.interactions.set(id, book);
      this.sessions.get(sessionId)?.interactions.push(id);
    }
    for (const fact of stated) {
      if (fact.type === "interaction.answered") {
        this.#demand(!book.answer, `answer: ${id} is answered twice`);
        book.answer = told.answer;
      }
      if (fact.type === "interaction.given" || fact.type === "interaction.closed") book.over = actor.isFinal = true;
      if (fact.type === "interaction.given") this.#demand(book.answer, `answer: ${id} is given without an answer`);
    }
  }

  #plan({ told, stated, seq, position }: Entry, id: string, actor: Actor): void {
    const { sessionId, turnUnderWay } = told.input ?? {};
    const blank = {
      revision: 0,
      pending: null,
      execution: null,
      isActive: false,
      turnEnded: false,
      over: false,
      steps: [],
      proposed: [],
      endedAt: 0,
    };
    const plan: PlanBook = this.plans.get(id) ?? { id, sessionId, turnUnderWay, ...blank };
    if (seq === 1) this.sessions.get(sessionId)?.plans.push(id);
    this.plans.set(id, plan);
    this.touched.add(plan.sessionId);
    const proposal = seq === 1 ? told.input.proposal : told.proposal;
    if (proposal) plan.proposed = proposal.steps.map((step: { id: string }) => step.id);
    const wasActive = plan.isActive;
    if (told.type === "turn.started") plan.turnUnderWay = true;
    if (told.type === "turn.ended") Object.assign(plan, { turnUnderWay: false, turnEnded: true, endedAt: position });
    for (const fact of stated) this.#planned(plan, fact, actor);
    const isCutShort = told.type === "turn.ended" && told.outcome.kind !== "completed";
    if (wasActive && isCutShort) this.#demand(!plan.isActive, `plan: ${id} is carried out after its turn ${told.outcome.kind}`);
  }

  #planned(plan: PlanBook, fact: any, actor: Actor): void {
    const isMeant = fact.executionId === plan.execution;
    switch (fact.type) {
      case "plan.proposed":
        this.#demand(fact.revision === plan.revision + 1 && !plan.isActive, `plan: ${plan.id} proposes ${fact.revision}`);
        plan.revision = plan.pending = fact.revision;
        break;
      case "plan.approved":
        this.#demand(fact.revision === plan.pending && !plan.isActive, `plan: ${plan.id} approves ${fact.revision}, not ${plan.pending}`);
        Object.assign(plan, { execution: fact.executionId, pending: null, isActive: true, turnEnded: false, steps: plan.proposed });
        break;
      case "plan.updated":
        this.#demand(plan.isActive && isMeant, `plan: ${plan.id} goes on with ${fact.executionId}`);
        break;
      case "plan.interrupted":
        this.#demand(plan.isActive && isMeant, `plan: ${plan.id} is interrupted while it is not active`);
        plan.isActive = false;
        break;
      case "plan.resumed":
        this.#demand(!plan.isActive && isMeant, `plan: ${plan.id} resumes ${fact.executionId}`);
        Object.assign(plan, { pending: null, isActive: true, turnEnded: false });
        break;
      case "plan.ended":
        plan.isActive = false;
        plan.over = actor.isFinal = true;
    }
  }
}
