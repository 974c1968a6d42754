/**
 * What a row acts on: the runtime, the real store, a scripted backend, and what came of the acts.
 *
 * The setting of every row: session `session-1`, a turn `logical-turn` with origin goal `goal-1`, its run `original-run`, a handoff
 * `handoff-1` that names `successor-run` and `claim-1` beforehand, and a backend that reports 2 remaining steps at the boundary.
 */

import { z } from "zod";
import {
  type Backend,
  type Composition,
  type Continuation,
  type FlushInput,
  fakeBackend,
  fakeComposition,
  type Handoff,
  type PrepareInput,
  type Run,
  type RunEvent,
  type StepInput,
} from "../../../src/index.ts";
import { Gate } from "../gate.ts";
import { PLAN, SESSION, STEPS, type Step } from "../turn.ts";
import { World } from "../world.ts";
import { wholeTurns } from "./whole-turn.ts";

/** What is given to a row beside its acts. */
export interface Given {
  /** What a run's backend declares; absent: the same fixed composition for all. */
  readonly compositions?: Readonly<Record<string, Composition | null>>;
  /** Steps by `<run>#<step>` that are not the usual ones. */
  readonly steps?: Readonly<Record<string, Step>>;
  /** Points besides `original-run#1` at which the backend stands still until an act opens them. */
  readonly gates?: readonly string[];
  readonly maxSteps?: number;
  /** The backend drives whole turns and is adapted. */
  readonly wholeTurns?: true;
  /** `fails`: what watches the run cannot be drained. `breaks`: the backend itself has broken. */
  readonly flush?: "fails" | "breaks";
  readonly busyTimeoutMs?: number;
  /** What the program's own record of denials says; absent: nothing was denied. */
  readonly denials?: "denied";
}

export class Stage {
  readonly given: Given;
  readonly world: World;
  readonly backend: Backend & { readonly steps: readonly StepInput[] };
  /** What each act came to: a value, or the code that it failed with. A repeated act has its number: `request 2`. */
  readonly answers: Record<string, unknown> = {};
  /** What the consumer of the first run saw, and of each run after it. */
  readonly seen: RunEvent[] = [];
  readonly resumed: RunEvent[] = [];
  /** Codes of what a check of the root is to find, for acts that damage it. */
  readonly damage: string[] = [];
  /** How the consumer's stream of the first run failed. */
  streamFailure: unknown;
  handoff: Handoff | undefined;
  continuation: Continuation | undefined;
  /** A resume that goes on beside the acts, and what it comes to. */
  resuming: Promise<unknown> | undefined;
  /** What an act left for a later one to undo. */
  undo: (() => void) | undefined;
  /** Bytes of the database when an act asked for them. */
  bytes: string | undefined;
  /** What the program sees around the session. */
  readonly around = { workspace: "/project" as string | null, backgroundSettled: true, tools: ["note"] };
  /** What the backend declares from now on, whatever was given. */
  composes: Composition | undefined;
  denials: "none" | "denied" | "broken";
  /** Segments that the record of denials was asked about, by run, in their order. */
  readonly asked: (readonly string[])[] = [];
  readonly abort = new AbortController();
  readonly #gates = new Map<string, Gate>();

  /** `make` makes the world; by default one on a root that `openHoldfast` owns. */
  constructor(given: Given, make = (...args: ConstructorParameters<typeof World>) => new World(...args)) {
    this.given = given;
    this.denials = given.denials ?? "none";
    for (const name of ["original-run#1", ...(given.gates ?? [])]) this.#gates.set(name, new Gate());
    const options = {
      script: ({ runId, step }: { readonly runId: string; readonly step: number }) => this.#played(`${runId}#${step}`),
      composition: async (input: PrepareInput) => {
        await this.#gates.get(`prepare ${input.runId}`)?.pass();
        if (this.composes) return this.composes;
        const composition = given.compositions?.[input.runId];
        return composition === undefined ? fakeComposition() : composition;
      },
      tools: [
        {
          name: "note",
          description: "Notes a thing down.",
          parameters: z.strictObject({ thing: z.string() }),
          execute: async ({ thing }: { readonly thing: string }) => ({ noted: thing }),
        },
      ],
      flush: async ({ fail }: FlushInput) => {
        await this.#gates.get("flush")?.pass();
        if (given.flush === "fails") throw new Error("nobody drains it");
        if (given.flush === "breaks") await fail(new Error("lost the line"));
      },
    };
    this.backend = given.wholeTurns ? wholeTurns(options) : fakeBackend(options);
    const { busyTimeoutMs } = given;
    this.world = make(
      { assistant: this.backend, other: this.backend },
      {
        inspect: () => ({ ...this.around }),
        denials: (segments) => {
          this.asked.push(segments.map(({ runId }) => runId));
          if (this.denials === "broken") throw new Error("the record of denials is out of reach");
          return this.denials === "denied";
        },
        ...(busyTimeoutMs === undefined ? {} : { busyTimeoutMs }),
      },
    );
  }

  /** What the backend does in a step, once its gate is open. */
  async #played(name: string) {
    await this.#gates.get(name)?.pass();
    const { report, ...rest }: Step = this.given.steps?.[name] ?? STEPS[name] ?? { report: { next: "end", stopReason: "end_turn" } };
    return { ...rest, report: typeof report === "function" ? report() : report };
  }

  gate(name: string): Gate {
    const gate = this.#gates.get(name);
    if (!gate) throw new Error(`the row has no gate ${name}`);
    return gate;
  }

  /** The backend stands still again wherever it did: that of another process. */
  closeGates(): void {
    for (const name of this.#gates.keys()) this.#gates.set(name, new Gate());
  }

  /** What the session is created with. */
  get begunWith() {
    return { backend: SESSION.backend, cwd: this.world.root, permissionMode: "ask" } as const;
  }

  /** The turn's runs, from its root along its seals. */
  get members(): string[] {
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

  /** What the store says: the tip's state, and that of the first run, the handoff and the session, what was counted; and the answers. */
  get found(): Record<string, unknown> {
    const { world, members } = this;
    return {
      source: world.state("run/original-run"),
      handoff: world.state("handoff/handoff-1"),
      session: world.state("session/session-1"),
      dispatches: world.count("run.dispatched"),
      seals: world.count("run.sealed"),
      answers: world.count("message.added", ({ from }) => from === "answer"),
      plan: world.state(`work-plan/${PLAN.planId}`),
      tip: `${members.at(-1)} ${world.state(`run/${members.at(-1)}`)}`,
      ...this.answers,
    };
  }

  run(runId: string): Run {
    return this.world.holdfast.run(runId);
  }

  /** Ends what the acts left, and the world. */
  async end(): Promise<void> {
    this.undo?.();
    await this.world.end();
  }
}
