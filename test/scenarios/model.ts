/**
 * The composed model: session, runs and handoff of one turn together, as one pure logic of what a person and a backend may do.
 *
 * There is no second engine in it: a state is a draft of the engine's own, an act is a macrostep over it, and the next state is a draft
 * that reads through to the one before. It proves the engine and not the machines, for both come from the same machines; what the rows
 * of the matrix expect is written by hand.
 */

import { type CompositionRecord, DRIFT_POLICY, type Evidence, machines } from "../../machines/index.ts";
import type { Answer } from "../../src/actor/answer.ts";
import { Draft, type Ground, type Live } from "../../src/actor/draft.ts";
import { sha256 } from "../../src/actor/json.ts";
import { macrostep } from "../../src/actor/macrostep.ts";
import { registerAll } from "../../src/actor/registry.ts";
import type { Rules } from "../../src/actor/rules.ts";
import type { DeadLetterRow, JournalRow } from "../../src/actor/store.ts";
import { dehydrate, isFinal, stateName } from "../../src/actor/transition.ts";
import type { Work } from "../../src/actor/work.ts";
import { recordOf } from "../../src/agent/composition.ts";
import { completed } from "../../src/agent/proposal.ts";
import { fakeComposition, type StepReport } from "../../src/index.ts";
import { memoryStore } from "../../src/testing/index.ts";
import { DECISIONS, type Decision, type Surroundings, surroundingsOf, type Wish } from "./decision.ts";
import { HANDOFF, PLAN, SESSION, STEPS, TEXT, TURN } from "./turn.ts";

/** What may happen to a turn, as a person sees it. */
export type Happening =
  | { readonly type: "setting"; readonly decision: Decision }
  | { readonly type: "start" }
  | { readonly type: Wish }
  | { readonly type: "step.ends"; readonly run: string; readonly step: number }
  | { readonly type: "flush.ends"; readonly seal: "durable" | "lost" }
  | { readonly type: "prepare.ends"; readonly run: string }
  /** Whoever asked for the handoff wants it no longer, and says so by a signal. */
  | { readonly type: "abort" }
  /** The process ends in order, or dies, while everything is at rest; another one opens the root. */
  | { readonly type: "restart"; readonly how: "closed" | "killed" };

export interface Model {
  readonly decision: Decision | null;
  /** Wishes that were acted on. */
  readonly made: readonly Wish[];
  /** What was refused, and why. */
  readonly refusals: Readonly<Record<string, string>>;
  /** True while a seal could not be written and nobody tries again. */
  readonly sealIsLost: boolean;
  /** True while an aborted signal would withdraw the handoff: in the process that asked for it. */
  readonly isSignalled: boolean;
  readonly draft: Draft;
  /** Every entry so far, in the order of its writing. */
  readonly journal: readonly JournalRow[];
  /** Every dead letter so far. */
  readonly letters: readonly DeadLetterRow[];
  /** States between the one before and this one: one for each macrostep, the last of them this. */
  readonly trail: readonly Model[];
}

const RUNS = [TURN.runId, HANDOFF.successorRunId] as const;
const SESSION_ADDRESS = `session/${SESSION.id}`;
const HANDOFF_ADDRESS = `handoff/${HANDOFF.id}`;
const PLAN_ADDRESS = `work-plan/${PLAN.planId}`;
/** Everybody who takes part, in the order of their creation. */
export const ADDRESSES = [SESSION_ADDRESS, PLAN_ADDRESS, ...RUNS.map((run) => `run/${run}`), HANDOFF_ADDRESS];

const rules: Rules = {
  registrations: registerAll(machines),
  cascadeLimit: 1000,
  enclose: (transition) => transition(),
  now: () => 1_700_000_000_000,
  size: { limit: 1_000_000, warnAt: 1_000_000, warn: () => {} },
};
const nothing = new Draft({
  reader: memoryStore(),
  cache: new Map(),
  registrations: rules.registrations,
  epoch: 1,
  enclose: rules.enclose,
  now: rules.now,
  sizeLimit: rules.size.limit,
  changed: "refuse",
});

const record = (composition: Parameters<typeof recordOf>[0]) => recordOf(composition, async (bytes) => sha256(bytes));
const USUAL = await record(fakeComposition());
/** What is recorded of each composition that a decision declares. */
const RECORDS = new Map<unknown, CompositionRecord>();
for (const decision of Object.keys(DECISIONS) as Decision[])
  for (const composition of Object.values(surroundingsOf(decision).compositions ?? {}))
    if (composition) RECORDS.set(composition, await record(composition));

function recordFor(run: string, { compositions }: Surroundings): CompositionRecord | null {
  const declared = compositions?.[run];
  return declared === undefined ? USUAL : (RECORDS.get(declared) ?? null);
}

/** What preparing a run comes to. */
function prepared(run: string, surroundings: Surroundings) {
  const output = { composition: recordFor(run, surroundings), driftPolicy: DRIFT_POLICY, workspace: WORKSPACE };
  return { kind: "done", output } as const;
}

const WORKSPACE = "/project";

/** What is seen around the turn when it is resumed: nothing that speaks against it. */
const evidenceOf = ({ denied }: Surroundings): Evidence => ({
  boundary: "0".repeat(64),
  denied: denied === true,
  workspace: { source: WORKSPACE, now: WORKSPACE },
  backgroundSettled: true,
  tools: { missing: [], checked: ["note"], now: ["note"] },
  unknown: [],
  configuration: { source: CONFIGURATION, now: CONFIGURATION },
});

export function live(model: Model, address: string): Live | undefined {
  const known = model.draft.actor(address);
  return known?.kind === "live" ? known : undefined;
}

const openEffect = (model: Model, run: string, name: string) => live(model, `run/${run}`)?.effects.find((effect) => effect.name === name);

/** True where the process that asked for the handoff still listens to the signal that it gave with it: until its seal is there, or lost. */
export const isHeard = (model: Model): boolean =>
  !model.sealIsLost && !hasEnded(model, HANDOFF_ADDRESS) && live(model, HANDOFF_ADDRESS)?.snapshot.context.seal === null;

/** Everything that may happen now, whatever the person wants. */
export function possible(model: Model): Happening[] {
  if (model.decision === null) return (Object.keys(DECISIONS) as Decision[]).map((decision) => ({ type: "setting", decision }));
  const session = live(model, SESSION_ADDRESS)?.snapshot;
  if (!session) return [{ type: "start" }];
  const original = live(model, `run/${TURN.runId}`)?.snapshot;
  const handoff = live(model, HANDOFF_ADDRESS)?.snapshot;
  const can = (snapshot: typeof session | undefined, event: object) => snapshot?.status === "active" && snapshot.can(event as never);
  const found: Happening[] = [];
  if (!handoff && can(original, REQUEST)) found.push({ type: "request" });
  if (original?.hasTag("held")) found.push({ type: "commit" });
  if (can(original, WITHDRAW)) found.push({ type: "cancel" });
  if (can(session, STOP)) found.push({ type: "stop" });
  if (model.sealIsLost && openEffect(model, TURN.runId, "flush")) found.push({ type: "recover" });
  if (handoff?.hasTag("claimable")) found.push({ type: "resume" });
  for (const run of RUNS) {
    if (openEffect(model, run, "prepare")) found.push({ type: "prepare.ends", run });
    const step = openEffect(model, run, "step");
    if (step) found.push({ type: "step.ends", run, step: JSON.parse(step.params).step });
  }
  if (!model.sealIsLost && openEffect(model, TURN.runId, "flush"))
    found.push({ type: "flush.ends", seal: surroundingsOf(model.decision).sealFails ? "lost" : "durable" });
  return found;
}

const REQUEST = {
  type: "handoff.request",
  handoffId: HANDOFF.id,
  successorRunId: HANDOFF.successorRunId,
  claimId: HANDOFF.claimId,
} as const;
const COMMIT = { type: "handoff.commit", handoffId: HANDOFF.id } as const;
const WITHDRAW = { type: "handoff.cancel", handoffId: HANDOFF.id } as const;
const STOP = { type: "turn.stop", turnId: TURN.turnId, by: "user" } as const;

/** The next state. `happening` is one of those that are possible. */
export function happen(model: Model, happening: Happening): Model {
  if (happening.type === "setting") return { ...model, decision: happening.decision };
  if (happening.type === "restart") return restarted(model);
  const surroundings = surroundingsOf(model.decision as Decision);
  const taking = new Taking({ ...model, trail: [] });
  switch (happening.type) {
    case "start":
      begin(taking);
      taking.settle(TURN.runId, "prepare", prepared(TURN.runId, surroundings));
      return taking.after;
    case "step.ends":
      taking.settle(happening.run, "step", { kind: "done", output: reported(STEPS[`${happening.run}#${happening.step}`]?.report) });
      return taking.after;
    case "prepare.ends":
      taking.settle(happening.run, "prepare", prepared(happening.run, surroundings));
      return taking.after;
    case "flush.ends":
      if (happening.seal === "lost") return { ...taking.after, sealIsLost: true };
      taking.settle(TURN.runId, "flush", { kind: "done", output: null });
      return taking.after;
    case "recover":
      taking.settle(TURN.runId, "flush", { kind: "done", output: null });
      return wished({ ...taking.after, sealIsLost: false }, happening.type);
    case "abort":
      taking.take({ kind: "event", to: `run/${TURN.runId}`, event: WITHDRAW });
      return { ...taking.after, isSignalled: false };
    default: {
      // The evidence that a machine is asked with cannot be had.
      const answer: Answer =
        happening.type === "resume" && surroundings.denialsFail
          ? { kind: "ignored", reason: "denial_lookup_failed" }
          : taking.take({ kind: "event", ...messageOf(happening.type, model, surroundings) });
      // Told the same a second time, nothing is different.
      if (answer.kind === "ignored" && answer.reason === model.refusals[happening.type]) return { ...model, trail: [] };
      if (answer.kind === "ignored") return wished({ ...model, trail: [] }, happening.type, answer.reason);
      // A backend without `prepare` fails at once: nobody can come between.
      if (happening.type === "resume" && surroundings.losesPrepare)
        taking.settle(HANDOFF.successorRunId, "prepare", {
          kind: "failed",
          error: { code: "composition_preparation_unsupported", message: "the backend has no prepare" },
        });
      return wished({ ...taking.after, isSignalled: happening.type === "request" || model.isSignalled }, happening.type);
    }
  }
}

/**
 * What the next ownership makes of a state: unfinished actors are told, at-most-once effects that were started are unknown, and a plan
 * whose turn has ended is interrupted. `isStarted` says of which effect, by its key, that its start was committed.
 */
export function restarted(model: Model, isStarted: (key: string) => boolean = () => true): Model {
  const taking = new Taking({ ...model, trail: [], sealIsLost: false, isSignalled: false }, model.draft.ground.epoch + 1);
  for (const address of ADDRESSES) taking.take({ kind: "reopen", actor: address });
  for (const address of ADDRESSES)
    for (const { key, name } of live(taking.after, address)?.effects ?? [])
      if (live(model, address)?.registration.effects.get(name)?.delivery === "at_most_once" && isStarted(key))
        taking.take({ kind: "result", effect: key, outcome: { kind: "unknown" } });
  taking.take({ kind: "event", to: PLAN_ADDRESS, event: { type: "plan.recover" } });
  return taking.after;
}

/**
 * What becomes of a happening in which a step or a preparation ends and the store refuses what comes of it: nobody knows then what the
 * step did, and a preparation has failed whose composition could not be kept. Empty for any other happening.
 */
export function unheard(before: Model, { happening, model }: PathStep): Model[] {
  // The outcome is the last that is taken in it.
  const taking = new Taking({ ...(model.trail.at(-2) ?? before), trail: [] });
  if (happening.type === "step.ends") taking.settle(happening.run, "step", { kind: "unknown" });
  else if (happening.type === "prepare.ends") taking.settle(happening.run, "prepare", UNKEPT);
  else if (happening.type === "start") taking.settle(TURN.runId, "prepare", UNKEPT);
  else return [];
  return [taking.after];
}

const UNKEPT = { kind: "failed", error: { code: "storage_failed", message: "the store refused it" } } as const;

/** Takes one macrostep after another. */
class Taking {
  after: Model;
  readonly #ground: Ground;

  constructor(model: Model, epoch = model.draft.ground.epoch) {
    this.after = model;
    this.#ground = { ...nothing.ground, epoch };
  }

  take(work: Work): Answer {
    const draft = new Draft(this.#ground, this.after.draft);
    const answer = macrostep(draft, work, rules);
    const { trail, ...before } = this.after;
    const after = { ...before, draft, journal: [...before.journal, ...draft.entries], letters: [...before.letters, ...draft.deadLetters] };
    this.after = { ...after, trail: [...trail, { ...after, trail: [] }] };
    return answer;
  }

  settle(run: string, name: string, outcome: Extract<Work, { kind: "result" }>["outcome"]): void {
    this.take({ kind: "result", effect: openEffect(this.after, run, name)?.key ?? "", outcome });
  }
}

const wished = (model: Model, wish: Wish, reason?: string): Model => ({
  ...model,
  made: [...model.made, wish],
  refusals: reason === undefined ? model.refusals : { ...model.refusals, [wish]: reason },
});

const CONFIGURATION = { backend: SESSION.backend, cwd: ".", permissionMode: "ask" } as const;

function begin(taking: Taking): void {
  const take = (work: Work) => taking.take(work);
  const input = { sessionId: SESSION.id, name: null, configuration: CONFIGURATION, copied: null };
  take({ kind: "create", machine: "session", id: SESSION.id, input, keys: [] });
  const plan = { type: "session.plan", planId: PLAN.planId, proposal: completed(PLAN.proposal) };
  take({ kind: "event", to: SESSION_ADDRESS, event: plan });
  const approve = { type: "plan.approve", expectedRevision: 1 };
  take({ kind: "event", to: PLAN_ADDRESS, event: approve });
  const send = { type: "session.send", ...TURN, text: TEXT, maxSteps: null };
  take({ kind: "event", to: SESSION_ADDRESS, event: send });
}

/** To whom a wish is told, and how. */
function messageOf(wish: Exclude<Wish, "recover">, model: Model, surroundings: Surroundings) {
  const run = `run/${TURN.runId}`;
  switch (wish) {
    case "request":
      return { to: run, event: REQUEST };
    case "commit":
      return { to: run, event: COMMIT };
    case "cancel":
      return { to: run, event: WITHDRAW };
    case "stop":
      return { to: SESSION_ADDRESS, event: STOP };
    case "resume": {
      const { seq, hash, snapshot } = live(model, run) as Live;
      const source = { runId: TURN.runId, seq, hash };
      const sourceComposition = surroundings.compositionIsGone ? null : snapshot.context.composition;
      return {
        to: HANDOFF_ADDRESS,
        event: { type: "handoff.resume", source, sourceComposition, evidence: evidenceOf(surroundings) },
        expect: [{ actor: run, seq }],
      };
    }
  }
}

/** A report as the runtime hands it on. */
function reported(report: StepReport | undefined) {
  if (!report) throw new Error("the model's turn has no such step");
  return {
    text: report.text ?? null,
    remainingSteps: report.remainingSteps ?? null,
    next: report.next,
    stopReason: report.next === "end" ? report.stopReason : null,
    interaction: null,
  };
}

/** The state of every actor that exists, by address. */
export const statesOf = (model: Model): Record<string, string> =>
  Object.fromEntries(
    ADDRESSES.flatMap((address) => {
      const actor = live(model, address);
      return actor ? [[address, stateName(actor.snapshot.value)]] : [];
    }),
  );

/** Where the backend stands while nothing happens: `prepare <run>`, `<run>#<step>`, `flush`. */
export const standingAt = (model: Model): string[] =>
  possible(model).flatMap((happening) => {
    if (happening.type === "prepare.ends") return [`prepare ${happening.run}`];
    if (happening.type === "step.ends") return [`${happening.run}#${happening.step}`];
    return happening.type === "flush.ends" ? ["flush"] : [];
  });

/** True where the actor exists and has ended. */
export const hasEnded = (model: Model, address: string): boolean => {
  const actor = live(model, address);
  return actor !== undefined && isFinal(actor.snapshot);
};

export const isHeld = (model: Model): boolean => live(model, `run/${TURN.runId}`)?.snapshot.hasTag("held") ?? false;

/** One step of a path: what happens, and the state that it leads to. */
export interface PathStep {
  readonly happening: Happening;
  readonly model: Model;
}

/** All that the actors are, and what they have under way. */
export const actorsOf = ({ draft }: Model) =>
  ADDRESSES.map((address) => {
    const known = draft.actor(address);
    return known?.kind === "live" ? [dehydrate(known.registration, known.snapshot), known.effects.map(({ name }) => name)] : null;
  });

/** Before anything has happened. */
export const BEGINNING: Model = {
  ...{ decision: null, made: [], refusals: {}, sealIsLost: false, isSignalled: false },
  ...{ draft: nothing, journal: [], letters: [], trail: [] },
};
