/** Backend: a model and its tools whose behaviour is drawn from the seed, by run and step; many of its calls lie on the desk first. */

import { z } from "zod";
import {
  type Backend,
  type Composition,
  type FlushInput,
  fakeComposition,
  type Json,
  type PrepareInput,
  type Reconcile,
  type StepInput,
  type StepReport,
  type Tool,
  type ToolContext,
} from "../../src/index.ts";
import type { Chance } from "./chance.ts";
import { type Desk, hang } from "./desk.ts";

/** Who is told what a backend saw, before anything comes of it. */
export interface Witness {
  prepared(input: PrepareInput): void;
  stepped(input: StepInput): void;
  executed(runId: string, callId: string): void;
  flushed(runId: string): void;
}

/** One host's part of the backends. */
export interface Place {
  readonly gen: number;
  readonly desk: Desk;
  readonly chance: Chance;
  readonly witness: Witness;
  /** True of a host that is dead: what still runs for it is not there. */
  isGone(): boolean;
}

const DRIFT = ["promptHash", "toolsHash", "availabilityHash", "providerOptionsHash"] as const;
const TOOLS: readonly { readonly name: string; readonly reconcile?: Reconcile }[] = [
  { name: "note" },
  { name: "look", reconcile: "retry" },
  { name: "probe", reconcile: "query" },
  { name: "ship", reconcile: "ask" },
];

/** The names of all tools, as `inspect` sees them. */
export const TOOL_NAMES = TOOLS.map(({ name }) => name);

class Scripted {
  readonly #place: Place;
  readonly #name: string;

  constructor(place: Place, name: string) {
    this.#place = place;
    this.#name = name;
  }

  async prepare(input: PrepareInput): Promise<Composition | null> {
    const { witness, chance } = this.#place;
    this.#demand();
    witness.prepared(input);
    // By host as well: a run that prepares again may meet another composition.
    const own = chance.split(`prepare ${this.#place.gen} ${input.runId}`);
    await this.#pause(own, 0.4, `prepare ${input.runId}`, input.signal);
    if (own.of(0.02)) throw new Error("the composer is out of order");
    if (own.of(0.03)) return null;
    if (own.of(0.04)) return fakeComposition({ [own.pick(DRIFT) as string]: `sha256:${"1".repeat(64)}` });
    return fakeComposition({ composerRevision: `${own.below(3)}` });
  }

  async step(input: StepInput): Promise<StepReport> {
    this.#demand();
    this.#place.witness.stepped(input);
    const own = this.#place.chance.split(`step ${input.runId} ${input.step}`);
    if (own.of(0.04)) return hang(input.signal, own.of(0.3));
    await this.#pause(own, 0.6, `step ${input.runId}`, input.signal);
    await this.#calls(input, own);
    if (own.of(0.1)) input.progress({ said: "…" });
    await this.#pause(own, 0.3, `end of step ${input.runId}`, input.signal);
    return this.#report(input, own);
  }

  async flush(input: FlushInput): Promise<void> {
    this.#demand();
    this.#place.witness.flushed(input.runId);
    const own = this.#place.chance.split(`flush ${this.#place.gen} ${input.runId}`);
    await this.#pause(own, 0.5, `flush ${input.runId}`, input.signal);
    if (own.of(0.05)) throw new Error("nobody drains");
    if (own.of(0.05)) await input.fail(new Error("broken after the commit"));
  }

  async execute({ runId, callId, signal }: ToolContext): Promise<Json> {
    this.#demand();
    this.#place.witness.executed(runId, callId);
    const own = this.#place.chance.split(`tool ${runId} ${callId}`);
    if (own.of(0.02)) return hang(signal, own.of(0.3));
    await this.#pause(own, 0.4, `tool ${runId}`, signal);
    if (own.of(0.1)) throw new Error("the tool does not work");
    return { found: own.below(100) };
  }

  async query(runId: string, callId: string): Promise<{ ok: true; result: Json } | null> {
    return this.#place.chance.split(`query ${runId} ${callId}`).of(0.8) ? { ok: true, result: null } : null;
  }

  async #calls(input: StepInput, own: Chance): Promise<void> {
    const count = own.below(3);
    const together = own.of(0.3);
    const made: Promise<unknown>[] = [];
    for (let nth = 1; nth <= count; nth++) {
      const name = own.of(0.01) ? "missing" : (own.pick(TOOL_NAMES) as string);
      const call = input.callTool(name, { nth }, own.of(0.2) ? { callId: `own-${input.step}-${nth}` } : {});
      made.push(call);
      if (!together) await call;
    }
    // Some do not wait for what they called: the step waits for them.
    if (own.of(0.9)) await Promise.all(made);
    else for (const call of made) call.catch(() => {});
  }

  #report(input: StepInput, own: Chance): StepReport {
    const text = own.of(0.5) ? `said by ${input.runId} in step ${input.step}` : undefined;
    const said = { ...(text === undefined ? {} : { text }), remainingSteps: own.of(0.75) ? null : own.below(9) };
    const name = own.weighted({ continue: 55, end: 17, question: 8, permission: 14, broken: 3, invalid: 2 });
    if (name === "broken") throw new Error("the model is out of reach");
    if (name === "invalid") return { next: "perhaps" } as unknown as StepReport;
    if (name === "continue") return { ...said, next: "continue" };
    if (name === "end") return { ...said, next: "end", stopReason: "end_turn" };
    const asked = { id: `ask-${input.step}`, question: "May I?", subject: { step: input.step } };
    return { ...said, next: "wait", interaction: { ...asked, kind: name as "question" | "permission" } };
  }

  async #pause(own: Chance, share: number, what: string, signal: AbortSignal): Promise<void> {
    if (own.of(share)) await this.#place.desk.wait(this.#place.gen, `${this.#name}: ${what}`, signal);
    this.#demand();
  }

  #demand(): void {
    if (this.#place.isGone()) throw new Error("this process is dead");
  }
}

/** A backend as one host has it. */
export function scriptedBackend(place: Place, name: string): Backend {
  const scripted = new Scripted(place, name);
  const tools = TOOLS.map(
    ({ name, reconcile }): Tool<any> => ({
      name,
      description: `The tool ${name}.`,
      parameters: z.strictObject({ nth: z.number() }),
      ...(reconcile === undefined ? {} : { reconcile }),
      ...(reconcile === "query" ? { query: (_: unknown, { runId, callId }: ToolContext) => scripted.query(runId, callId) } : {}),
      execute: (_, context) => scripted.execute(context),
    }),
  );
  return {
    tools,
    prepare: (input) => scripted.prepare(input),
    step: (input) => scripted.step(input),
    flush: (input) => scripted.flush(input),
  };
}
