/** Caller: what users of a host ask of it. It remembers what was promised to them and has it held against the journals. */

import { isDeepStrictEqual } from "node:util";
import { HoldfastError } from "../../src/actor/error.ts";
import type { Continuation, Handoff, Run, RunEnd, RunEvent, TurnOptions } from "../../src/index.ts";
import type { PlanBook, RunBook } from "./book.ts";
import type { Chance } from "./chance.ts";
import type { Host } from "./host.ts";
import type { Oracle } from "./oracle.ts";
import type { Waiting } from "./waiting.ts";

/** Codes that no caller may ever see here: nobody damages a root, and nothing that is sent is malformed. */
const NEVER = new Set([
  ...["machine_threw", "context_invalid", "fact_invalid", "action_invalid", "cascade_limit", "context_too_large", "mailbox_full"],
  ...["journal_damaged", "snapshot_damaged", "turn_inconsistent", "actor_quarantined", "session_blocked", "effect_failed"],
  ...["event_invalid", "input_invalid", "argument_invalid", "idempotency_conflict", "identity_taken", "machine_invalid"],
  ...["denial_lookup_failed", "surroundings_unreadable", "source_composition_missing", "run_not_found", "session_not_found"],
]);

/** What a simulation gives its callers. */
export interface Setting {
  readonly oracle: Oracle;
  readonly waiting: Waiting;
  violated(what: string): void;
  stirred(): void;
  /** How often a store has failed as planned. */
  failures(): number;
}

type MayFail = (code: string) => boolean;

export class Caller {
  readonly #setting: Setting;
  readonly #handoffs = new Map<string, { readonly gen: number; readonly handoff: Handoff; readonly abort: AbortController }>();
  readonly #checks = new Map<string, Continuation>();
  readonly #keyed = new Map<string, { readonly text: string; readonly key: string; readonly turnId: string; readonly runId: string }>();
  /** Calls that have not settled. */
  readonly #calls = new Map<number, { readonly host: Host; readonly what: string }>();
  #called = 0;
  #minted = 0;

  constructor(setting: Setting) {
    this.#setting = setting;
  }

  /** Calls to hosts that live, which should all have been answered at rest. */
  *unanswered(): Generator<string> {
    for (const [number, { host, what }] of this.#calls)
      if (host.isCut) this.#calls.delete(number);
      else yield what;
  }

  mint(session: string, kind: string): string {
    return `${session}-${kind}${++this.#minted}`;
  }

  /** One call, and what must hold once it was answered; `mayFail` says of a code that no call else fails with whether this one may. */
  call<T>(host: Host, what: string, act: () => Promise<T>, then: (value: T) => void = () => {}, mayFail: MayFail = () => false): void {
    const number = ++this.#called;
    this.#calls.set(number, { host, what });
    void this.#answered(host, what, act, then, mayFail).finally(() => this.#calls.delete(number));
  }

  async #answered<T>(host: Host, what: string, act: () => Promise<T>, then: (value: T) => void, mayFail: MayFail): Promise<void> {
    const { failures } = this.#setting;
    const before = failures();
    try {
      const value = await act();
      this.#setting.stirred();
      // Whoever asked a process that died has no answer.
      if (!host.isCut) then(value);
    } catch (error) {
      this.#setting.stirred();
      if (host.isCut) return;
      if (error instanceof HoldfastError && error.code === "not_owner") host.standing.robbed = true;
      if (!(error instanceof HoldfastError)) this.#setting.violated(`answer: ${what} fails with ${String(error)}`);
      else if ((NEVER.has(error.code) && !mayFail(error.code)) || (error.code === "storage_failed" && failures() === before))
        this.#setting.violated(`answer: ${what} fails with ${error.code}: ${error.message}`);
    }
  }

  createSession(host: Host, id: string, chance: Chance): void {
    const options = { id, backend: chance.of(0.7) ? "first" : "second", cwd: "/place" };
    this.call(
      host,
      `create ${id}`,
      () => host.runtime.createSession(options),
      () => this.#claim(() => this.#books.sessions.has(id), `ACT-3: session/${id} was created, and is not there`),
    );
  }

  send(host: Host, session: string, chance: Chance): void {
    const old = this.#keyed.get(session);
    if (old && chance.of(0.3)) {
      this.#send(host, session, old.text, old);
      return;
    }
    const ids = { turnId: this.mint(session, "t"), runId: this.mint(session, "r") };
    const text = `turn ${ids.turnId}`;
    if (chance.of(0.15)) {
      const keyed = { ...ids, key: `key of ${ids.turnId}` };
      this.#keyed.set(session, { text, ...keyed });
      this.#send(host, session, text, keyed);
    } else this.#send(host, session, text, { ...ids, maxSteps: chance.of(0.2) ? 1 + chance.below(5) : null });
  }

  #send(host: Host, session: string, text: string, options: TurnOptions & { readonly runId: string }): void {
    this.call(
      host,
      `send ${options.runId}`,
      () => host.runtime.session(session).send(text, options),
      (run) => {
        this.#claim(() => this.#books.runs.has(options.runId), `ACT-3: run/${options.runId} was begun, and is not there`);
        this.#follow(host, run);
      },
    );
  }

  /** Waits for the run's end, and watches it. */
  #follow(host: Host, run: Run): void {
    const { id } = run;
    const isOver = () => this.#isOver(id);
    this.#wait(host, `the end of run/${id}`, run.end(), isOver, (end) =>
      this.#claim(() => this.#isEnd(id, end), `answer: run/${id} is said to have ended ${end.kind}, and has not`),
    );
    this.#wait(host, `the events of run/${id}`, this.#read(host, id, run.events()), isOver);
  }

  /** A promise that must have settled when `isDue`, and what must hold where it is kept. */
  #wait<T>(host: Host, what: string, promise: Promise<T>, isDue: () => boolean, then: (value: T) => void = () => {}): void {
    promise.then(
      (value) => {
        this.#setting.stirred();
        if (!host.isCut) then(value);
      },
      () => this.#setting.stirred(),
    );
    this.#setting.waiting.add(host.gen, what, promise, isDue);
  }

  async #read(host: Host, runId: string, events: AsyncIterable<RunEvent>): Promise<void> {
    let cursor = 0;
    let last = "";
    for await (const event of events) {
      this.#setting.stirred();
      if (event.type === "partial") continue;
      if (event.cursor <= cursor) this.#setting.violated(`events: run/${runId} is told ${event.type} twice`);
      if (last === "run.ended" || last === "run.sealed") this.#setting.violated(`events: run/${runId} is told ${event.type} after ${last}`);
      cursor = event.cursor;
      last = event.type;
    }
    const isEnded = host.isCut || host.standing.closing || host.standing.robbed;
    if (!isEnded && last !== "run.ended" && last !== "run.sealed") this.#setting.violated(`events: those of run/${runId} end with ${last}`);
  }

  stop(host: Host, runId: string, chance: Chance): void {
    this.call(host, `stop ${runId}`, () => host.runtime.run(runId).stop({ by: chance.of(0.8) ? "user" : "shutdown" }));
  }

  request(host: Host, { id: runId, sessionId }: RunBook): void {
    const abort = new AbortController();
    const id = this.mint(sessionId, "h");
    const ids = { id, successorRunId: this.mint(sessionId, "r"), claimId: this.mint(sessionId, "c") };
    this.call(
      host,
      `request ${id}`,
      () => host.runtime.run(runId).requestHandoff({ ...ids, signal: abort.signal }),
      (handoff) => {
        this.#handoffs.set(id, { gen: host.gen, handoff, abort });
        this.#claim(() => this.#books.handoffs.has(id), `ACT-3: handoff/${id} was requested, and is not there`);
        const isOver = () => (this.#books.handoffs.get(id)?.ended ?? null) !== null;
        const isSealed = () => this.#books.runs.get(runId)?.seal?.handoffId === id;
        this.#wait(host, `ready of ${id}`, handoff.ready, () => isOver() || isSealed() || this.#isHeld(runId, id));
        this.#wait(
          host,
          `sealed of ${id}`,
          handoff.sealed,
          () => isOver() || isSealed(),
          (said) => this.#claim(() => isSealed() === said, `answer: ${id} is said to be ${said ? "" : "not "}sealed, and is not so`),
        );
      },
    );
  }

  /** Commits, cancels or aborts a handoff that was requested of this host. */
  decide(host: Host, id: string, chance: Chance): void {
    const known = this.#handoffs.get(id);
    if (known?.gen !== host.gen) return;
    const { handoff, abort } = known;
    const { sourceRunId = "" } = this.#books.handoffs.get(id) ?? {};
    const isHeld = this.#books.runs.get(sourceRunId)?.handoff?.stage === "held";
    const how = chance.weighted(
      isHeld ? { commit: 80, preview: 8, cancel: 7, abort: 5 } : { commit: 20, preview: 20, cancel: 40, abort: 20 },
    );
    if (how === "abort") abort.abort(new HoldfastError("handoff_cancelled", "no longer wanted"));
    else if (how === "preview") this.call(host, `preview ${id}`, () => handoff.preview());
    else
      this.call(
        host,
        `${how} ${id}`,
        () => handoff[how as "commit" | "cancel"](),
        (isTaken) => isTaken && this.#claim(() => this.#isDecided(id, how), `ACT-3: ${how} of ${id} was accepted, and is not there`),
      );
  }

  answer(host: Host, id: string, chance: Chance): void {
    const asked = this.#books.interactions.get(id);
    if (!asked) return;
    const isFit = chance.of(0.95);
    const hash = chance.of(0.97) ? asked.hash : "0".repeat(64);
    const isDecision = (asked.kind === "permission") === isFit;
    const interaction = () => host.runtime.interaction(id);
    const allow = chance.of(0.5);
    const act = isDecision ? async () => interaction().decide(allow, { hash }) : async () => interaction().answer("yes", { hash });
    const isGiven = () => (isDecision ? asked.answer?.allow === allow : asked.answer?.text === "yes");
    this.call(host, `answer ${id}`, act, () => this.#claim(isGiven, `ACT-3: the answer to ${id} is lost`));
  }

  check(host: Host, run: RunBook): void {
    const { id, sessionId } = run;
    const unknown = run.asks.filter((callId) => run.calls.get(callId) === "unknown");
    const outcomes = Object.fromEntries(unknown.map((callId) => [callId, { ok: true as const, result: null }]));
    const asked = run.seal ? { purpose: "handoff" as const } : { outcomes };
    this.call(
      host,
      `check ${id}`,
      () => host.runtime.checkContinuation(id, asked),
      (check) => {
        if (check.decision === "park") {
          for (const { code, message } of check.reasons)
            if (NEVER.has(code)) this.#setting.violated(`check: ${id} parks ${code}: ${message}`);
          return;
        }
        const { continuation } = check;
        const isNew = continuation.purpose === "plain";
        const ids = isNew ? { runId: this.mint(sessionId, "r"), turnId: this.mint(sessionId, "t") } : {};
        this.#checks.set(id, { ...continuation, ...ids });
      },
    );
  }

  hasCheck(runId: string): boolean {
    return this.#checks.has(runId);
  }

  resume(host: Host, runId: string): void {
    const continuation = this.#checks.get(runId);
    if (!continuation) return;
    this.#checks.delete(runId);
    const events = host.runtime.resume(continuation);
    this.call(
      host,
      `resume ${runId}`,
      () => events.next(),
      () => {
        const next = continuation.runId;
        this.#claim(() => this.#books.runs.get(runId)?.next === next, `ACT-3: ${runId} was continued by ${next}, and is not`);
        const rest = this.#read(host, next, events);
        // A successor that ends before its dispatch throws its outcome.
        rest.catch(() => {});
        this.#wait(host, `the events of the resumed run/${next}`, rest, () => this.#isOver(next));
      },
    );
  }

  configure(host: Host, session: string, chance: Chance): void {
    const changes = chance.of(0.5) ? { permissionMode: chance.pick(["explore", "ask", "bypass"] as const) ?? "ask" } : {};
    const backend = chance.of(0.3) ? { backend: chance.of(0.5) ? "first" : "second" } : {};
    this.call(host, `configure ${session}`, () => host.runtime.session(session).configure({ ...changes, ...backend }));
  }

  archive(host: Host, session: string): void {
    const isThere = () => this.#books.sessions.get(session)?.archived === true;
    this.call(
      host,
      `archive ${session}`,
      () => host.runtime.session(session).archive(),
      () => this.#claim(isThere, `ACT-3: session/${session} was archived, and is not`),
    );
  }

  propose(host: Host, session: string, chance: Chance): void {
    const steps = Array.from({ length: 1 + chance.below(3) }, (_, index) => ({ title: `Step ${index + 1}` }));
    const { planId } = this.#books.sessions.get(session) ?? { planId: null };
    const act = async () =>
      host.runtime.session(session).proposePlan({ title: "A plan", steps }, { planId: planId ?? this.mint(session, "p") });
    // The plan that it means may be over by then, and an id is not given out again.
    const isOver = (code: string) => {
      const isMeant = code === "identity_taken" && planId !== null;
      if (isMeant) this.#claim(() => this.#books.plans.get(planId)?.over === true, `plan: ${planId} is taken, and is not over`);
      return isMeant;
    };
    this.call(host, `propose to ${session}`, act, undefined, isOver);
  }

  plan(host: Host, plan: PlanBook, chance: Chance): void {
    const handle = () => host.runtime.plan(plan.id);
    const execution = plan.execution ?? "none";
    const status = () => chance.pick(["pending", "completed", "skipped", "completed"] as const) ?? "pending";
    const steps = plan.steps.map((id) => ({ id, status: status() }));
    const how = chance.weighted(
      plan.isActive
        ? { update: 50, interrupt: 20, cancel: 8, approve: 5, resume: 5 }
        : { approve: plan.pending ? 60 : 5, resume: plan.execution ? 20 : 3, propose: 15, cancel: 8, update: 5 },
    );
    const acts: Readonly<Record<string, () => Promise<unknown>>> = {
      approve: async () => handle().approve(plan.pending ?? plan.revision),
      update: async () => handle().update(execution, steps.length > 0 ? steps : [{ id: "none", status: "pending" }]),
      interrupt: async () => handle().interrupt("enough"),
      resume: async () => handle().resume(execution),
      cancel: async () => handle().cancel(),
      propose: async () => handle().propose({ title: "Another", steps: [{ title: "One" }] }),
    };
    this.call(host, `${how} ${plan.id}`, acts[how as string] as () => Promise<unknown>);
  }

  recover(host: Host): void {
    const { position } = this.#setting.oracle;
    this.call(
      host,
      "recover",
      () => host.runtime.recover(),
      () => this.#setting.oracle.recovered(position),
    );
  }

  get #books() {
    return this.#setting.oracle.ledger;
  }

  #claim(isSo: () => boolean, what: string): void {
    this.#setting.oracle.claim(() => (isSo() ? undefined : what));
  }

  #isOver(runId: string): boolean {
    const run = this.#books.runs.get(runId);
    return run !== undefined && (run.seal !== null || run.outcome !== null);
  }

  #isEnd(runId: string, end: RunEnd): boolean {
    const { seal, outcome } = this.#books.runs.get(runId) ?? {};
    return end.kind === "sealed" ? seal?.successorRunId === end.seal.successorRunId : isDeepStrictEqual(outcome, end);
  }

  #isHeld(runId: string, id: string): boolean {
    const handoff = this.#books.runs.get(runId)?.handoff;
    return handoff?.id === id && handoff.stage !== "requested";
  }

  #isDecided(id: string, how: string | undefined): boolean {
    const book = this.#books.handoffs.get(id);
    if (how === "cancel") return book?.cancelled === true;
    const source = this.#books.runs.get(book?.sourceRunId ?? "");
    return source?.handoff?.id === id && source.handoff.stage === "committed";
  }
}
