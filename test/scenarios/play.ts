/**
 * Plays one row of the decision matrix against the real runtime: acts, one after the other, on one turn that is to be handed off.
 *
 * The setting of every row: session `session-1`, a turn `logical-turn` with origin goal `goal-1`, its run `original-run`, a handoff
 * `handoff-1` that names `successor-run` and `claim-1` beforehand, and a backend that reports 2 remaining steps at the boundary.
 */

import { z } from "zod";
import { canonical } from "../../src/actor/json.ts";
import {
  type Backend,
  type Composition,
  type Continuation,
  type ContinuationCheck,
  fakeBackend,
  fakeComposition,
  type Handoff,
  type Json,
  type RunEvent,
  type StepInput,
  type StepReport,
} from "../../src/index.ts";
import { collect, Gate, stored, World } from "../agent/world.ts";

export const TEXT = "Do the long job";

export interface Step {
  readonly partial?: readonly Json[];
  readonly calls?: readonly { readonly name: string; readonly args: Json }[];
  readonly report: StepReport | (() => StepReport);
}

export interface Given {
  /** What a run's backend declares; absent: the same fixed composition for all. */
  readonly compositions?: Readonly<Record<string, Composition | null>>;
  /** Steps by `<run>#<step>` that are not the usual ones. */
  readonly steps?: Readonly<Record<string, Step>>;
  /** Points besides `original-run#1` at which the backend stands still until an act opens them. */
  readonly gates?: readonly string[];
  readonly maxSteps?: number;
  readonly acts: readonly Act[];
}

export type Act = keyof typeof acts | `open ${string}` | `reach ${string}`;

/** What most rows do first, and what they do last. */
export const HOLD = ["start", "request", "open original-run#1", "ready"] as const satisfies readonly Act[];
export const SEAL = [...HOLD, "preview", "commit", "sealed"] as const satisfies readonly Act[];
export const RESUME = ["check", "resume"] as const satisfies readonly Act[];

const USUAL: Readonly<Record<string, Step>> = {
  "original-run#1": { report: { text: "first", next: "continue", remainingSteps: 2 } },
  "original-run#2": { report: { text: "second", next: "end", stopReason: "end_turn" } },
  "successor-run#1": { report: { text: "third", next: "continue", remainingSteps: 1 } },
  "successor-run#2": { report: { text: "fourth", next: "end", stopReason: "end_turn" } },
};

export class Play {
  readonly given: Given;
  readonly world: World;
  readonly backend: Backend & { readonly steps: readonly StepInput[] };
  /** What each act came to: a value, or the code that it failed with. A repeated act has its number: `request 2`. */
  readonly answers: Record<string, unknown> = {};
  /** What the consumer of the first run saw, and of each run after it. */
  readonly seen: RunEvent[] = [];
  readonly resumed: RunEvent[] = [];
  /** How the consumer's stream of the first run failed. */
  streamFailure: unknown;
  handoff: Handoff | undefined;
  continuation: Continuation | undefined;
  readonly abort = new AbortController();
  readonly #gates = new Map<string, Gate>();

  constructor(given: Given) {
    this.given = given;
    for (const name of ["original-run#1", ...(given.gates ?? [])]) this.#gates.set(name, new Gate());
    this.backend = fakeBackend({
      script: async (input) => {
        const name = `${input.runId}#${input.step}`;
        await this.#gates.get(name)?.pass();
        const { report, ...rest } = given.steps?.[name] ?? USUAL[name] ?? { report: { next: "end", stopReason: "end_turn" } };
        return { ...rest, report: typeof report === "function" ? report() : report };
      },
      composition: async (input) => {
        await this.#gates.get(`prepare ${input.runId}`)?.pass();
        const composition = given.compositions?.[input.runId];
        return composition === undefined ? fakeComposition() : composition;
      },
      tools: [
        {
          name: "note",
          description: "Notes a thing down.",
          parameters: z.strictObject({ thing: z.string() }),
          execute: async ({ thing }) => ({ noted: thing }),
        },
      ],
      flush: async () => this.#gates.get("flush")?.pass(),
    });
    this.world = new World({ assistant: this.backend });
  }

  static async of(given: Given): Promise<Play> {
    const play = new Play(given);
    await play.world.open();
    for (const act of given.acts) await play.act(act);
    return play;
  }

  gate(name: string): Gate {
    const gate = this.#gates.get(name);
    if (!gate) throw new Error(`the row has no gate ${name}`);
    return gate;
  }

  async act(name: Act): Promise<void> {
    const [verb, ...rest] = name.split(" ");
    if (verb === "open") return this.gate(rest.join(" ")).open();
    if (verb === "reach") return this.gate(rest.join(" ")).reached;
    let key: string = name;
    for (let number = 2; key in this.answers; number++) key = `${name} ${number}`;
    this.answers[key] = null;
    try {
      this.answers[key] = await acts[name as keyof typeof acts](this);
    } catch (error) {
      const { code } = error as { code?: string };
      if (code === undefined) throw error;
      this.answers[key] = code;
    }
  }

  /** The turn's runs, from its root along its seals. */
  get lineage(): string[] {
    const runs = ["original-run"];
    for (;;) {
      const seal = this.sealOf(runs.at(-1) as string);
      if (!seal || this.world.state(`run/${seal.successorRunId}`) === undefined) return runs;
      runs.push(seal.successorRunId);
    }
  }

  sealOf(runId: string): Record<string, any> | undefined {
    return this.world.facts(`run/${runId}`).find((fact) => fact.type === "run.sealed");
  }

  /** The tip's state, and that of the first run, the handoff and the session, with what was counted. */
  get found(): Record<string, unknown> {
    const { world, lineage } = this;
    return {
      source: world.state("run/original-run"),
      handoff: world.state("handoff/handoff-1"),
      session: world.state("session/session-1"),
      dispatches: world.count("run.dispatched"),
      seals: world.count("run.sealed"),
      tip: `${lineage.at(-1)} ${world.state(`run/${lineage.at(-1)}`)}`,
      ...this.answers,
    };
  }

  run(runId: string) {
    return this.world.holdfast.run(runId);
  }
}

async function reach(play: Play, runId: string): Promise<unknown> {
  const end = await play.run(runId).end();
  if (end.kind === "sealed") return "sealed";
  return end.kind === "failed" ? { failed: end.error.code, drift: end.drift.map(({ field }) => field) } : end;
}

function summary(check: ContinuationCheck): unknown {
  return check.decision === "continue" ? "continue" : check.reasons.map((reason) => reason.code);
}

async function resume(play: Play, continuation: Continuation | undefined): Promise<unknown> {
  const events = await collect(play.world.holdfast.resume(continuation as Continuation), play.resumed);
  const last = events.at(-1);
  return last?.type === "run.ended" ? last.kind : last?.type;
}

const ids = { id: "handoff-1", successorRunId: "successor-run", claimId: "claim-1" };

/** What a row may do. Each answers with what came of it. */
const acts = {
  async start(play: Play) {
    const session = await play.world.holdfast.createSession({ backend: "assistant", cwd: play.world.root, id: "session-1" });
    const run = await session.send(TEXT, {
      runId: "original-run",
      turnId: "logical-turn",
      origin: { kind: "goal", goalId: "goal-1" },
      ...(play.given.maxSteps === undefined ? {} : { maxSteps: play.given.maxSteps }),
    });
    collect(run.events(), play.seen).catch((error) => {
      play.streamFailure = error;
    });
  },
  async request(play: Play) {
    const made = await play.run("original-run").requestHandoff({ ...ids, signal: play.abort.signal });
    play.handoff = made;
    return "accepted";
  },
  async "request another"(play: Play) {
    play.handoff = await play.run("original-run").requestHandoff({ id: "handoff-2", successorRunId: "successor-2", claimId: "claim-2" });
    return "accepted";
  },
  "request on the successor": async (play: Play) => {
    play.handoff = await play.run("successor-run").requestHandoff({ id: "handoff-2", successorRunId: "third-run", claimId: "claim-2" });
    return "accepted";
  },
  "request on an unknown run": async (play: Play) => play.run("nobody").requestHandoff(),
  ready: (play: Play) => play.handoff?.ready,
  preview: async (play: Play) => play.handoff?.preview(),
  commit: (play: Play) => play.handoff?.commit(),
  cancel: (play: Play) => play.handoff?.cancel(),
  sealed: (play: Play) => play.handoff?.sealed,
  "abort the request": (play: Play) => play.abort.abort(new Error("no longer wanted")),
  stop: (play: Play) => play.run("original-run").stop(),
  end: (play: Play) => reach(play, "original-run"),
  "end of the successor": (play: Play) => reach(play, "successor-run"),
  "plain check": async (play: Play) => summary(await play.world.holdfast.checkContinuation("original-run")),
  async check(play: Play) {
    const check = await play.world.holdfast.checkContinuation("original-run", { purpose: "handoff" });
    if (check.decision === "continue") play.continuation = check.continuation;
    return summary(check);
  },
  resume: (play: Play) => resume(play, play.continuation),
  /** Until the successor exists, not to its end: the row goes on while the successor works. */
  async "begin to resume"(play: Play) {
    const events = play.world.holdfast.resume(play.continuation as Continuation);
    const first = await events.next();
    if (!first.done) play.resumed.push(first.value);
    collect(events, play.resumed).catch(() => {});
  },
  async "resume by another handle"(play: Play) {
    return resume(play, play.continuation);
  },
  "resume as if it were plain": (play: Play) =>
    resume(play, play.continuation && { ...play.continuation, purpose: "plain", runId: "stranger", turnId: "other-turn" }),
  "resume what has changed": (play: Play) =>
    resume(play, play.continuation && { ...play.continuation, source: { ...play.continuation.source, hash: "0".repeat(64) } }),
  async "resume the third"(play: Play) {
    const check = await play.world.holdfast.checkContinuation("successor-run", { purpose: "handoff" });
    return check.decision === "continue" ? resume(play, check.continuation) : summary(check);
  },
  recover: (play: Play) => play.world.holdfast.recover(),
  async reopen(play: Play) {
    await play.world.reopen();
  },
  "lose prepare"(play: Play) {
    delete play.backend.prepare;
  },
  "delete the source's composition"(play: Play) {
    return play.world.tamper("DELETE FROM blobs WHERE digest = ?", play.world.context("run/original-run").composition.body);
  },
  "fail the seal"(play: Play) {
    play.world.probe = (point, { entries = [] }) => {
      if (point === "commit.inside" && entries.some((entry) => entry.facts.includes('"run.sealed"'))) throw new Error("disk full");
    };
  },
  "mend the store"(play: Play) {
    play.world.probe = undefined;
  },
  async answer(play: Play) {
    await play.run("successor-run").answer("original-run.question-1", "yes");
  },
  async "answer the original"(play: Play) {
    await play.run("original-run").answer("original-run.question-1", "yes");
  },
  async "wait for the question"(play: Play) {
    for await (const event of play.run("original-run").events()) if (event.type === "run.waiting") return event.id;
    return undefined;
  },
  async "wait for the successor's question"(play: Play) {
    for await (const event of play.run("successor-run").events()) if (event.type === "run.waiting") return event.id;
    return undefined;
  },
};

/** What no consumer may have seen of a run that was sealed. */
export const endings = (events: readonly RunEvent[]): RunEvent[] => stored(events).filter((event) => event.type === "run.ended");

export const same = (left: unknown, right: unknown): boolean => canonical(left) === canonical(right);
