/**
 * Handling: the work of one effect, from its turn to its outcome.
 *
 * Guarantees: an at-most-once handler starts only after a commit of its own admitted it; tries, time-outs and the wait after a
 * request to stop are bounded by the effect's schema; a result that does not fit is a failure; what could not be committed is submitted
 * again, after growing waits, while the effect is wanted.
 * Refuses to write rows: what comes of it is submitted, like anything from outside.
 */

import * as EffectClock from "effect/Clock";
import * as Effect from "effect/Effect";
import * as Fiber from "effect/Fiber";
import * as Schedule from "effect/Schedule";
import type { Answer } from "./answer.ts";
import { putBlob } from "./blob.ts";
import type { Clock } from "./clock.ts";
import type { Probe } from "./commit.ts";
import type { StandardSchema } from "./declaration.ts";
import { effectClock } from "./effect-clock.ts";
import { codeOf, engineError, messageOf } from "./error.ts";
import type { EffectHandler } from "./handler.ts";
import { PAYLOAD_LIMIT } from "./journal.ts";
import { type Json, notJson, plainCopy } from "./json.ts";
import type { EffectSchema } from "./registration.ts";
import { checkAgainst } from "./schema.ts";
import type { EffectRow } from "./store.ts";
import type { Work as Asked, EffectOutcome } from "./work.ts";

export interface HandlerDuties {
  readonly probe: Probe;
  submit(work: Asked): Promise<Answer>;
  progress(actor: string, output: Json): void;
  /** Its start or its outcome could not be committed. It is submitted again, the outcome of an at-most-once effect as unknown. */
  lost(row: EffectRow, error: unknown): void;
  /** False once the handler shall not start any more. */
  wanted(): boolean;
  /** A handler is at work until this is settled, also where it takes no notice of its signal. */
  atWork(handler: Promise<unknown>): void;
}

/** One effect to be worked on. */
export interface Job {
  readonly row: EffectRow;
  readonly schema: EffectSchema;
  readonly handler: EffectHandler;
  /** Schema of the event that brings its result; none for invoked promise logic. */
  readonly done: StandardSchema | undefined;
  /** Aborted when the handler is asked to stop and still report. */
  readonly asked: AbortSignal;
  /** Aborted when the handler is interrupted, with the reason. */
  readonly ended: AbortSignal;
  /** True while the handler works. */
  inFlight: boolean;
}

const MINUTE_MS = 60_000;
const TIMEOUT_MS = 5 * MINUTE_MS;
const BACKOFF_MS = 100;
const BACKOFF_FACTOR = 2;
const ABORT_GRACE_MS = 10_000;
/** Longest wait before what could not be committed is submitted again. */
const COMMIT_BACKOFF_LIMIT_MS = 10_000;
const ATTEMPTS = 5;

/** The work of one effect, under way. */
export interface Work {
  /** Resolves when it is reported or interrupted; never rejects. */
  readonly done: Promise<void>;
  /** Ends it wherever it is, and nothing is reported; resolves when it has ended. */
  interrupt(): Promise<void>;
}

/** Is admitted, tries, and reports. */
export function handle(duties: HandlerDuties, job: Job, clock: Clock): Work {
  const isOnce = job.schema.delivery === "at_most_once";
  const admitted = isOnce ? admit(duties, job) : Effect.succeed(true);
  const tried = admitted.pipe(Effect.flatMap((go) => (go ? tries(duties, job) : Effect.succeed(undefined))));
  const work = Effect.raceFirst(tried, stopped(job)).pipe(
    Effect.flatMap((came) => (came ? report(duties, job, came) : Effect.void)),
    Effect.provideService(EffectClock.Clock, effectClock(clock)),
  );
  const fiber = Effect.runFork(work);
  return {
    done: new Promise((resolve) => fiber.addObserver(() => resolve())),
    interrupt: () => Effect.runPromise(Fiber.interrupt(fiber)),
  };
}

function tries(duties: HandlerDuties, job: Job): Effect.Effect<EffectOutcome> {
  const { schema, asked } = job;
  const attempts = schema.delivery === "at_most_once" ? 1 : (schema.attempts ?? ATTEMPTS);
  const { backoffMs = BACKOFF_MS, backoffFactor = BACKOFF_FACTOR, backoffLimitMs = MINUTE_MS } = schema;
  const backoff = growing(backoffMs, backoffFactor, backoffLimitMs);
  let attempt = 0;
  const once = Effect.suspend(() => {
    if (asked.aborted) return Effect.fail<unknown>(asked.reason);
    job.inFlight = true;
    const settle = Effect.sync(() => {
      job.inFlight = false;
    });
    return tryOnce(duties, job, ++attempt).pipe(Effect.ensuring(settle));
  });
  return once.pipe(
    Effect.retry({ schedule: backoff, times: attempts - 1, while: (error: unknown) => !asked.aborted && !isFinalFailure(error) }),
    Effect.match({
      onSuccess: (output): EffectOutcome => ({ kind: "done", output }),
      onFailure: (error): EffectOutcome => (asked.aborted ? { kind: "aborted" } : { kind: "failed", error: describe(error) }),
    }),
    // What fails here by a fault of ours still is an outcome: a machine must never wait for a fiber that is gone.
    Effect.catchDefect((defect) => Effect.succeed<EffectOutcome>({ kind: "failed", error: describe(defect) })),
  );
}

/** One try. A result that its event's schema refuses is a failure of the handler, and a final one. */
function tryOnce({ probe, submit, progress, atWork }: HandlerDuties, job: Job, attempt: number): Effect.Effect<Json, unknown> {
  const { row, schema, handler, asked, ended } = job;
  const tried = Effect.tryPromise({
    try: async (interrupted) => {
      probe("effect.before", { effect: row });
      const working = handler({
        params: JSON.parse(row.params),
        key: row.key,
        actor: row.actor,
        attempt,
        signal: firstOf([ended, asked, interrupted]),
        progress: (value) => progress(row.actor, value),
        send: (event) => submit({ kind: "event", to: row.actor, event: plainCopy(event), during: row.key }),
        putBlob: (bytes) => putBlob(submit, bytes),
      });
      atWork(working);
      const output = await working;
      probe("effect.after", { effect: row });
      return checkedResult(job, output === undefined ? null : output);
    },
    catch: (error) => error,
  });
  const timeoutMs = schema.timeoutMs === undefined ? TIMEOUT_MS : schema.timeoutMs;
  if (timeoutMs === null) return tried;
  const late = Effect.suspend(() => Effect.fail(engineError("effect_timeout", `the effect ${row.name} took longer than ${timeoutMs} ms`)));
  return tried.pipe(Effect.timeoutOrElse({ duration: timeoutMs, orElse: () => late }));
}

/** Aborted with the first of these, and with its reason. (`AbortSignal.any` of Node 24 takes over the reason of a later one too.) */
function firstOf(signals: readonly AbortSignal[]): AbortSignal {
  const first = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) first.abort(signal.reason);
    signal.addEventListener("abort", () => first.abort(signal.reason));
  }
  return first.signal;
}

function checkedResult({ row, schema, done }: Job, output: unknown): Json {
  const bad = (problem: string) => engineError("effect_result_invalid", `the result of the effect ${row.name} ${problem}`);
  // As it stands in its event, so that the wrapping cannot make it too deep.
  const found = notJson({ output });
  if (found) throw bad(`is not plain JSON at ${found}`);
  // A copy: the handler may keep what it gives, and JSON knows no negative zero.
  const text = JSON.stringify(output);
  const kept = JSON.parse(text) as Json;
  if (text.length > PAYLOAD_LIMIT / 2) throw bad(`has ${text.length} characters; store it as a blob and give its digest`);
  if (row.child !== null) return kept;
  if (!done) throw bad("has no schema");
  const checked = checkAgainst(done, { output, effect: row.key });
  if (!checked.ok) throw bad(`does not fit ${schema.done}: ${checked.path} ${checked.message}`);
  return kept;
}

/** Ends an effect that was asked to stop and did not within its grace; one whose handler is not at work ends at once. */
function stopped(job: Job): Effect.Effect<EffectOutcome> {
  const { asked, schema } = job;
  const isAsked = Effect.callback<void>((resume) => {
    const wake = () => resume(Effect.void);
    if (asked.aborted) wake();
    else asked.addEventListener("abort", wake);
    return Effect.sync(() => asked.removeEventListener("abort", wake));
  });
  const grace = Effect.suspend(() => (job.inFlight ? Effect.sleep(schema.abortGraceMs ?? ABORT_GRACE_MS) : Effect.void));
  return isAsked.pipe(
    Effect.andThen(grace),
    Effect.map((): EffectOutcome => ({ kind: "aborted" })),
  );
}

/** Says in a commit of its own that the handler starts; false where it shall not. */
function admit(duties: HandlerDuties, { row, asked }: Job): Effect.Effect<boolean> {
  const wanted = () => duties.wanted() && !asked.aborted;
  const admission: Asked = {
    kind: "row",
    apply: (draft) => {
      // The actor first: reading it may change its effects.
      const actor = draft.actor(row.actor);
      const now = draft.effect(row.key);
      // Admitted and not started would be unknown for ever: whoever ended it in the meantime is asked here, in the commit.
      if (actor?.kind !== "live" || now?.state !== "open" || !wanted())
        return { kind: "refused", code: "effect_gone", message: `the effect ${row.key} is not wanted any more` };
      draft.replaceEffect(actor, { ...now, state: "started", epoch: draft.ground.epoch });
      return { kind: "ignored" };
    },
  };
  return submitted({ ...duties, wanted }, row, admission).pipe(Effect.map((answer) => answer !== undefined && answer.kind !== "refused"));
}

function report(duties: HandlerDuties, { row, schema }: Job, outcome: EffectOutcome): Effect.Effect<void> {
  const result = (given: EffectOutcome): Asked => ({ kind: "result", effect: row.key, outcome: given });
  if (schema.delivery !== "at_most_once") return Effect.asVoid(submitted(duties, row, result(outcome)));
  return submittedOnce(duties, row, result(outcome)).pipe(
    // Whether the work was done is known only here, and could not be written: the machine must decide without it.
    Effect.catch(() => (duties.wanted() ? submitted(duties, row, result({ kind: "unknown" })) : Effect.void)),
    Effect.asVoid,
  );
}

/** Submits again, after growing waits, what could not be committed; undefined once it is not wanted any more. */
function submitted(duties: HandlerDuties, row: EffectRow, work: Asked): Effect.Effect<Answer | undefined> {
  const backoff = growing(BACKOFF_MS, BACKOFF_FACTOR, COMMIT_BACKOFF_LIMIT_MS);
  return submittedOnce(duties, row, work).pipe(
    Effect.retry({ schedule: backoff, while: () => duties.wanted() }),
    Effect.catch(() => Effect.succeed(undefined)),
  );
}

function submittedOnce({ submit, lost }: HandlerDuties, row: EffectRow, work: Asked): Effect.Effect<Answer, unknown> {
  const once = Effect.tryPromise({ try: () => submit(work), catch: (error) => error });
  return once.pipe(Effect.tapError((error) => Effect.sync(() => lost(row, error))));
}

/** Waits that grow by a factor, up to a limit. */
function growing(firstMs: number, factor: number, limitMs: number) {
  return Schedule.min([Schedule.exponential(firstMs, factor), Schedule.spaced(limitMs)]);
}

function isFinalFailure(error: unknown): boolean {
  try {
    return (error as { retryable?: unknown } | null)?.retryable === false;
  } catch {
    // A property that throws when it is read says nothing.
    return false;
  }
}

function describe(error: unknown): { code: string; message: string } {
  return { code: codeOf(error, "effect_failed"), message: messageOf(error) };
}
