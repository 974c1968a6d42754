/** Oracle: holds the journals, what the backends saw and what callers were told against what is promised, after every event, of all that changed. */

import type { StoreReader } from "../../src/actor/store.ts";
import type { PrepareInput, StepInput } from "../../src/index.ts";
import type { Witness } from "./backend.ts";
import type { HandoffBook, RunBook, SessionBook } from "./book.ts";
import { Ledger } from "./ledger.ts";

export class Oracle implements Witness {
  readonly ledger: Ledger;
  readonly #reader: StoreReader;
  readonly #violated: (what: string) => void;
  #position = 0;
  #letters = 0;
  readonly #stepped = new Set<string>();
  readonly #executed = new Set<string>();
  /** What must hold at the next rest. */
  readonly #claims: (() => string | undefined)[] = [];
  /** How much came by. */
  sights = 0;

  constructor(reader: StoreReader, violated: (what: string) => void) {
    this.#reader = reader;
    this.#violated = violated;
    this.ledger = new Ledger(violated);
  }

  get position(): number {
    return this.#position;
  }

  /** Reads what was committed since. */
  catchUp(): void {
    for (;;) {
      const page = this.#reader.entries({ after: this.#position, limit: 1000 });
      for (const entry of page) this.ledger.take(entry);
      this.#position = page.at(-1)?.position ?? this.#position;
      if (page.length < 1000) return;
    }
  }

  /** What somebody was told must be so at the next rest; `claim` says what is not. */
  claim(claim: () => string | undefined): void {
    this.#claims.push(claim);
  }

  /** Everything is at rest: what changed since the last one must agree. */
  rest(): void {
    this.catchUp();
    const { touched, moved } = this.ledger;
    for (const claim of this.#claims.splice(0)) {
      const wrong = claim();
      if (wrong !== undefined) this.#violated(wrong);
    }
    for (const id of touched) this.#agrees(this.ledger.sessions.get(id), id);
    for (const id of moved) this.#stands(this.ledger.handoffs.get(id), id);
    touched.clear();
    moved.clear();
    const letters = this.#reader.deadLetters({}, { after: this.#letters, limit: 1000 });
    for (const { position, receiver, sender, seq, reason } of letters) {
      this.#letters = position;
      if (reason === "delivery_ignored") this.#violated(`letter: ${receiver} ignored what entry ${seq} of ${sender} delivers`);
    }
  }

  /** After a recovery nobody carries out a plan whose last turn had ended at that position. */
  recovered(position: number): void {
    this.catchUp();
    for (const plan of this.ledger.plans.values())
      if (plan.isActive && plan.turnEnded && !plan.turnUnderWay && plan.endedAt <= position)
        this.#violated(`plan: ${plan.id} is active after a recovery`);
  }

  /** The same after the recovery by another process: nobody goes on, either, with a step that was asked for until then. */
  reopened(position: number): void {
    this.recovered(position);
    for (const [runId, askedAt] of this.ledger.stepping)
      if (askedAt <= position) this.#violated(`end: run/${runId} goes on with a step of a process that is gone`);
  }

  prepared({ runId }: PrepareInput): void {
    const run = this.#saw(runId);
    this.#demand(run && run.preparing > 0, `ACT-1: run/${runId} is prepared, and no entry asks for it`);
    this.#demand(run && !run.seal && !run.outcome, `end: run/${runId} is prepared after its end`);
  }

  stepped({ runId, step, maxSteps, text, continuation, headAnchor }: StepInput): void {
    const run = this.#saw(runId);
    const key = `${runId}#${step}`;
    this.#demand(run?.dispatches === 1 && run.steps.has(step), `ACT-1: step ${key} is made, and no entry asks for it`);
    this.#demand(!this.#stepped.has(key), `dispatch: step ${key} is made twice`);
    this.#stepped.add(key);
    if (!run) return;
    this.#demand(run.steps.get(step) === maxSteps, `dispatch: step ${key} is allowed ${maxSteps}, and its entry says otherwise`);
    this.#demand(!run.seal && !run.outcome, `end: step ${key} is made after the end`);
    const { kind, runId: before } = run.source;
    this.#demand((continuation?.purpose ?? "fresh") === kind, `successor: step ${key} continues for ${continuation?.purpose}`);
    this.#demand((text === "") === (before !== undefined), `message: step ${key} has the text ${text}`);
    if (before === undefined) return;
    this.#demand(continuation?.denied === run.source.denied, `denial: step ${key} is told denied ${continuation?.denied}`);
    this.#demand(continuation?.sourceRunId === before, `successor: step ${key} continues ${continuation?.sourceRunId}`);
    this.#demand(headAnchor !== null && headAnchor.text !== "", `message: step ${key} has no user's text to go on from`);
  }

  executed(runId: string, callId: string): void {
    const key = `${runId} ${callId}`;
    const stage = this.#saw(runId)?.calls.get(callId);
    this.#demand(stage === "called", `tool: ${key} runs while it is ${stage ?? "not called"}`);
    this.#demand(!this.#executed.has(key), `tool: ${key} runs twice`);
    this.#executed.add(key);
  }

  flushed(runId: string): void {
    const run = this.#saw(runId);
    this.#demand(run?.handoff?.stage === "committed" && !run.seal, `ACT-1: run/${runId} is drained, and no entry asks for it`);
  }

  #saw(runId: string): RunBook | undefined {
    this.sights++;
    this.catchUp();
    return this.ledger.runs.get(runId);
  }

  #demand(holds: unknown, what: string): void {
    if (!holds) this.#violated(what);
  }

  /** Session, run and turn say the same. */
  #agrees(session: SessionBook | undefined, id: string): void {
    const row = this.#reader.actor(`session/${id}`);
    if (!session) {
      this.#violated(`agree: session/${id} is known only by others`);
      return;
    }
    const { turn, archived } = session;
    const tip = turn ? this.ledger.runs.get(turn.tip) : undefined;
    const state = archived ? "archived" : !turn ? "idle" : tip?.seal ? "paused" : tip?.waiting ? "waiting" : "running";
    this.#demand(row?.state === state, `agree: session/${id} is ${row?.state}, and by its runs ${state}`);
    if (turn) {
      this.#demand(tip && !tip.outcome, `agree: session/${id} has the turn ${turn.turnId}, and run/${turn.tip} has ended`);
      this.#demand(this.ledger.turns.get(turn.turnId) === 0, `turn: ${turn.turnId} goes on with an outcome`);
      const isHeard = !tip?.waiting || tip.handoff || !this.ledger.interactions.get(tip.waiting)?.answer;
      this.#demand(isHeard, `answer: run/${turn.tip} waits for ${tip?.waiting}, which is answered`);
      this.#demand(tip?.next === null, `agree: run/${turn.tip} has a successor, and is the tip of ${turn.turnId}`);
    }
    for (const runId of session.runs.slice(-3)) this.#ended(session, runId);
    const plan = session.planId === null ? undefined : this.ledger.plans.get(session.planId);
    const isKept = session.planId === null || plan?.over === archived;
    this.#demand(isKept, `plan: session/${id} has the plan ${session.planId}, which is ${plan?.over ? "over" : "not over"}`);
    if (plan?.isActive) this.#demand(!archived, `plan: ${plan.id} is carried out in an archived session`);
    if (plan && !plan.over) this.#demand(plan.turnUnderWay === (turn !== null), `plan: ${plan.id} does not know of the turn`);
  }

  #ended({ id, turn }: SessionBook, runId: string): void {
    const run = this.ledger.runs.get(runId) as RunBook;
    const isOver = run.seal !== null || run.outcome !== null;
    const row = this.#reader.actor(`run/${runId}`);
    this.#demand((row?.status === "final") === isOver, `agree: run/${runId} is ${row?.state}, and its journal says otherwise`);
    if (!isOver) this.#demand(turn?.tip === runId, `agree: run/${runId} lives, and session/${id} has ${turn?.tip ?? "no turn"}`);
    const isDecided = turn?.turnId !== run.turnId;
    if (isDecided) this.#demand(this.ledger.turns.get(run.turnId) === 1, `turn: ${run.turnId} is over without one outcome`);
  }

  /** A handoff is where its runs are. */
  #stands(handoff: HandoffBook | undefined, id: string): void {
    const row = this.#reader.actor(`handoff/${id}`);
    if (!handoff) {
      this.#violated(`agree: handoff/${id} is known only by its run`);
      return;
    }
    const source = this.ledger.runs.get(handoff.sourceRunId);
    const successor = this.ledger.runs.get(handoff.successorRunId);
    const state = expected(handoff, source, successor);
    this.#demand(row?.state === state, `agree: handoff/${id} is ${row?.state}, and by its runs ${state}`);
    this.#demand(handoff.claims === (successor ? 1 : 0), `successor: handoff/${id} gave ${handoff.claims} claims`);
  }
}

function expected({ id, cancelled }: HandoffBook, source: RunBook | undefined, successor: RunBook | undefined): string {
  if (cancelled) return "cancelled";
  const stage = source?.handoff?.id === id ? source.handoff.stage : undefined;
  if (source?.outcome) return stage === "committed" ? "failed" : "declined";
  if (!source?.seal) return { requested: "requested", held: "boundary", committed: "paused" }[stage ?? "requested"];
  if (!successor) return "sealed";
  // One that was handed on before its first step went on with the turn as well.
  if (successor.dispatches > 0 || successor.seal) return "resumed";
  return successor.outcome ? "failed" : "claimed";
}
