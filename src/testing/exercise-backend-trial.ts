/**
 * Trial: one turn of a backend in the real runtime, over as many processes as it takes. For `exerciseBackend`.
 *
 * Whatever ends a run or holds it, the trial goes on with it as an embedder would.
 * Next: exercise-backend-process.ts
 */

import assert from "node:assert/strict";
import { canonical } from "../actor/json.ts";
import type { Backend, ToolOutcome } from "../agent/backend.ts";
import type { Continuation, ParkReason } from "../agent/continuation.ts";
import type { UnknownCall } from "../agent/history.ts";
import type { Run, RunEnd, RunEvent } from "../agent/run.ts";
import type { Holdfast } from "../agent/runtime.ts";
import type { ExerciseBackendOptions } from "./exercise-backend-option.ts";
import { Process } from "./exercise-backend-process.ts";
import { within } from "./exercise-backend-wait.ts";
import { type Hooks, Seen } from "./exercise-backend-watch.ts";

/** Continuations of one turn, at most: it comes no nearer to its end then. */
const CONTINUATIONS = 48;

/** How a turn went. */
export interface Played {
  /** `parked`: nobody may go on with it. */
  readonly end: Exclude<RunEnd, { kind: "sealed" }> | { readonly kind: "parked"; readonly reasons: readonly ParkReason[] };
  /** What the assistant said, in order. */
  readonly texts: readonly string[];
  /** Names and arguments of all calls, sorted: parallel ones have no order. */
  readonly calls: readonly string[];
  /** What tools said came of calls that were cut off, by `<run>/<call>`. */
  readonly queried: ReadonlyMap<string, ToolOutcome>;
}

/** How people go on with a turn. */
export interface Way {
  readonly answersElsewhere?: boolean;
}

/** Where trials take place. */
export interface Ground {
  readonly options: ExerciseBackendOptions;
  readonly cwd: string;
  /** A backend that was just made; whoever asks closes it. */
  make(how: "open" | "openStuck"): Promise<Backend>;
}

export class Trial {
  readonly seen = new Seen();
  /** Handoffs that were sealed. */
  handoffs = 0;
  /** How often its process died. */
  deaths = 0;
  /** The first run of each turn: a plain continuation is one of its own. */
  readonly #turns: string[] = [];
  readonly #ground: Ground;
  readonly #root: string;
  readonly #hooks: Hooks;
  #process: Process | undefined;

  constructor(ground: Ground, root: string, hooksOf: (trial: Trial) => Hooks) {
    this.#ground = ground;
    this.#root = root;
    this.#hooks = hooksOf(this);
  }

  get holdfast(): Holdfast {
    return this.#present.holdfast;
  }

  /** The backend of the present process, not watched. */
  get backend(): Backend {
    return this.#present.backend;
  }

  get #present(): Process {
    assert(this.#process, "no process is there");
    return this.#process;
  }

  /** A new process: the one before, if any, ends. `how`: the option that gives its backend. */
  async open(how: "open" | "openStuck" = "open"): Promise<void> {
    await this.end();
    const backend = await this.#ground.make(how);
    this.#process = await Process.open(this.#root, backend, { seen: this.seen, hooks: this.#hooks });
  }

  /** Ends the present process. */
  async end(): Promise<void> {
    const ending = this.#process;
    this.#process = undefined;
    await ending?.end();
    if (ending) await this.#ground.options.close?.(ending.backend);
  }

  /** The present process dies here. */
  die(): never {
    this.deaths++;
    return this.#present.die();
  }

  /** Begins the turn, in a new process unless there is one. */
  async begin(maxSteps = this.#ground.options.maxSteps ?? MAX_STEPS): Promise<Run> {
    if (!this.#process) await this.open();
    const session = await this.holdfast.createSession({ backend: "backend", cwd: this.#ground.cwd });
    const run = await session.send(this.#ground.options.text ?? "Do the job", { maxSteps });
    this.#turns.push(run.id);
    return run;
  }

  /** The turn from its beginning to its end, as `goOn` says. */
  async play({ maxSteps, ...way }: Way & { readonly maxSteps?: number } = {}): Promise<Played> {
    return this.goOn(await this.begin(maxSteps), way);
  }

  /**
   * The turn to its end. Held, it is handed to a new process; where its process died, a new one continues it. A person answers at once, or
   * in a new process. Rejects where the turn takes longer than it may.
   */
  goOn(run: Run, way: Way = {}): Promise<Played> {
    const { turnMs = TURN_MS } = this.#ground.options;
    return within(turnMs, this.#goOn(run, way), "the turn did not come to its end");
  }

  async #goOn(first: Run, { answersElsewhere = false }: Way): Promise<Played> {
    let run = first;
    let continuations = 0;
    for (let after = 0; ; ) {
      const event = await this.#next(run, after);
      const before = run.id;
      if (event === "died") {
        await this.open();
        const next = await this.#continued(run);
        if (!("id" in next)) return this.#played({ kind: "parked", reasons: next });
        run = next;
      } else if (event.type === "run.ended") return this.#played(event);
      else if (event.type === "run.waiting") {
        // A run that waits needs no handoff, and goes on in whichever process it is answered.
        await run.handoff()?.cancel();
        if (answersElsewhere) await this.open();
        run = this.holdfast.run(run.id);
        await this.#answer(run, event);
      } else if (event.type === "handoff.held" && run.handoff()?.id === event.handoffId) run = await this.#handedOff(run);
      if (run.id !== before)
        assert(++continuations <= CONTINUATIONS, `continued ${CONTINUATIONS} times, the turn has not come to its end; ${this.#lastSaid()}`);
      after = event === "died" || run.id !== before ? 0 : event.cursor;
    }
  }

  /** What its last steps reported, for whoever asks why a turn has no end. */
  #lastSaid(): string {
    const last = this.seen.steps
      .slice(-3)
      .map(({ report }) => (report ? `${report.next} ${JSON.stringify(report.text ?? "").slice(0, 60)}` : "nothing"));
    return `its last steps reported: ${last.join(", ")}`;
  }

  /** What comes next of a run that somebody must do something about. */
  #next(run: Run, after: number): Promise<RunEvent | "died"> {
    const event = async (): Promise<RunEvent> => {
      for await (const next of run.events({ after })) if (["run.ended", "run.waiting", "handoff.held"].includes(next.type)) return next;
      throw new Error(`the run ${run.id} ended without an outcome`);
    };
    return Promise.race([this.#present.died, event()]);
  }

  async #answer(run: Run, { id, kind, question, subject, hash }: Extract<RunEvent, { type: "run.waiting" }>): Promise<void> {
    const { answer } = this.#ground.options;
    assert(answer, `the turn asks a person "${question}", and no \`answer\` is given`);
    const said = answer({ id: id.slice(id.lastIndexOf(".") + 1), kind, question, subject });
    assert.equal(typeof said, kind === "question" ? "string" : "boolean", `\`answer\` gives no answer to a ${kind}`);
    if (typeof said === "string") await run.answer(id, said);
    else await run.decide(id, said, { hash });
  }

  /** The successor of a held run, in a new process. */
  async #handedOff(run: Run): Promise<Run> {
    const handoff = run.handoff();
    assert(await handoff?.commit(), "the handoff was not committed");
    assert(await handoff?.sealed, "the handoff was not sealed");
    this.handoffs++;
    await this.open();
    const check = await this.holdfast.checkContinuation(run.id, { purpose: "handoff" });
    assert(check.decision === "continue", `the sealed turn is parked: ${"reasons" in check ? textOf(check.reasons) : ""}`);
    return this.#resumed(check.continuation);
  }

  /** The run that continues an ended one in a new turn, or why there is none. */
  async #continued({ id }: Run): Promise<Run | readonly ParkReason[]> {
    let check = await this.holdfast.checkContinuation(id);
    const unknown = check.decision === "park" ? unknownCalls(check.reasons) : [];
    const asked = unknown.filter(({ reconcile }) => reconcile === "ask");
    if (asked.length > 0) {
      const outcomes = Object.fromEntries(asked.map((call) => [call.callId, this.#said(call)]));
      check = await this.holdfast.checkContinuation(id, { outcomes });
    }
    if (check.decision === "park") return check.reasons;
    this.#turns.push(check.continuation.runId);
    return this.#resumed(check.continuation);
  }

  /** What a person says came of a call: what did. */
  #said({ runId, callId }: UnknownCall): ToolOutcome {
    if (this.seen.ran.get(`${runId}/${callId}`)) return { ok: true, result: null };
    return { ok: false, error: { code: "not_done", message: "it was not done" } };
  }

  async #resumed(continuation: Continuation): Promise<Run> {
    for await (const _ of this.holdfast.resume(continuation)) break;
    return this.holdfast.run(continuation.runId);
  }

  #played(end: Played["end"]): Played {
    const facts = this.#turns.flatMap((id) => [...this.holdfast.readTurn(id).transcript()].map(({ fact }) => fact));
    return {
      end,
      texts: facts.flatMap((fact) => (fact.type === "message.added" && fact.role === "assistant" ? [fact.text] : [])),
      calls: facts.flatMap((fact) => (fact.type === "tool.called" ? [canonical([fact.name, fact.args])] : [])).sort(),
      queried: new Map(
        facts.flatMap((fact) =>
          fact.type === "tool.reconciled" && fact.by === "query" ? [[`${fact.of}/${fact.callId}`, fact.outcome] as const] : [],
        ),
      ),
    };
  }
}

/** Steps of a turn, and ms until it has ended, where the options do not say. */
const MAX_STEPS = 100;
const TURN_MS = 30_000;

/** Calls without an outcome, for which a continuation is parked. */
export function unknownCalls(reasons: readonly ParkReason[]): readonly UnknownCall[] {
  return reasons.flatMap(({ code, details }) => (code === "tools_unknown" ? ((details?.calls ?? []) as UnknownCall[]) : []));
}

export const textOf = (reasons: readonly ParkReason[]): string => reasons.map(({ code, message }) => `${code}: ${message}`).join("; ");
