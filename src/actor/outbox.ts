/**
 * Outbox: the handlers at work on durable effects.
 *
 * Owns every running handler. Guarantees: a handler starts only after the commit that requested it (ACT-1), and not before recovery
 * has settled the past; an ended effect's handler is interrupted; each outcome is submitted once.
 * Refuses to decide: outcomes become events, and machines say what they mean.
 * Next: mailbox.ts again, with each outcome. Beside it, handling.ts does the work of one effect.
 */

import * as EffectClock from "effect/Clock";
import * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Fiber from "effect/Fiber";
import * as Semaphore from "effect/Semaphore";
import { type Clock, systemClock } from "./clock.ts";
import { engineError, type HoldfastError } from "./error.ts";
import type { EffectHandler } from "./handler.ts";
import { type HandlerDuties, handle, type Job } from "./handling.ts";
import type { Registration } from "./registration.ts";
import type { EffectRow } from "./store.ts";
import { effectOf } from "./transition.ts";

/** Handlers of one effect type that may run at once, unless its schema says otherwise. */
const CONCURRENCY = 64;

export interface OutboxDuties extends Omit<HandlerDuties, "wanted" | "atWork"> {
  readonly handlers: Readonly<Record<string, EffectHandler>>;
  readonly clock: Clock;
  registration(actor: string): Registration | undefined;
}

interface Running {
  readonly job: Job;
  /** Asks the handler to stop; its outcome still counts. */
  readonly asked: AbortController;
  /** Tells the handler why it is interrupted. */
  readonly ended: AbortController;
  fiber?: Fiber.Fiber<void>;
}

export class Outbox {
  readonly #duties: OutboxDuties;
  readonly #running = new Map<string, Running>();
  readonly #permits = new Map<string, Semaphore.Semaphore>();
  readonly #clock: EffectClock.Clock;
  /** Handlers that have not returned, also those whose effects have ended. */
  readonly #atWork = new Set<Promise<unknown>>();
  #state: "held" | "open" | "closed" = "held";

  constructor(duties: OutboxDuties) {
    this.#duties = duties;
    this.#clock = effectClock(duties.clock);
  }

  /** From here on handlers may start; what was requested before is for recovery to start. */
  open(): void {
    if (this.#state === "held") this.#state = "open";
  }

  /** Starts the handler of an open effect, unless it runs already. */
  start(row: EffectRow): void {
    const registration = this.#duties.registration(row.actor);
    const schema = registration && effectOf(registration, row.name);
    const handler = this.#duties.handlers[row.name];
    if (this.#state !== "open" || !schema || !handler || row.state !== "open" || this.#running.has(row.key)) return;
    const asked = new AbortController();
    const ended = new AbortController();
    const done = registration.schemas.events[schema.done];
    const job: Job = { row, schema, handler, done, asked: asked.signal, ended: ended.signal, inFlight: false };
    const running: Running = { job, asked, ended };
    const wanted = () => this.#state === "open" && this.#running.get(row.key) === running;
    const work = handle(
      { ...this.#duties, wanted, atWork: (handler) => this.#keep(handler) },
      job,
      this.#permit(`${registration.id}/${row.name}`, schema.concurrency ?? CONCURRENCY),
    ).pipe(
      Effect.provideService(EffectClock.Clock, this.#clock),
      Effect.onExit(() =>
        Effect.sync(() => {
          if (this.#running.get(row.key) === running) this.#running.delete(row.key);
        }),
      ),
    );
    this.#running.set(row.key, running);
    running.fiber = Effect.runFork(work);
  }

  /** The effect has ended: its handler is interrupted and whatever it still gives is dropped. */
  end(key: string): void {
    const running = this.#running.get(key);
    if (!running) return;
    this.#running.delete(key);
    interrupt([running], engineError("effect_gone", `the effect ${key} has ended`));
  }

  /** The actor was set aside: nobody would take what its handlers give. */
  endAll(actor: string): void {
    for (const [key, running] of this.#running) if (running.job.row.actor === actor) this.end(key);
  }

  /** Asks the handler to stop; its outcome still counts. */
  abort(key: string): void {
    this.#running.get(key)?.asked.abort(engineError("effect_gone", `the effect ${key} was asked to stop`));
  }

  isRunning(key: string): boolean {
    return this.#running.has(key);
  }

  /**
   * Interrupts all handlers, at once; resolves when none is at work, or after `graceMs`: what takes no notice of its signal until
   * then is left behind. Their effects stay as they are in the store.
   */
  async close(graceMs: number): Promise<void> {
    this.#state = "closed";
    await interrupt([...this.#running.values()], engineError("closed", "the engine is closing"));
    if (this.#atWork.size === 0) return;
    await new Promise<void>((resolve) => {
      // Real time whatever the engine's clock is: this waits for code outside, and nothing durable depends on it.
      const cancel = systemClock.after(graceMs, resolve);
      void Promise.allSettled([...this.#atWork]).then(() => {
        cancel();
        resolve();
      });
    });
  }

  #keep(handler: Promise<unknown>): void {
    const kept = Promise.resolve(handler).then(
      () => {},
      () => {},
    );
    this.#atWork.add(kept);
    void kept.then(() => this.#atWork.delete(kept));
  }

  #permit(name: string, concurrency: number): Semaphore.Semaphore {
    const permits = this.#permits.get(name) ?? Semaphore.makeUnsafe(concurrency);
    this.#permits.set(name, permits);
    return permits;
  }
}

/** Interruption is asked for before anything else can happen, so that no answer to the abort is taken for an outcome. */
function interrupt(running: readonly Running[], reason: HoldfastError): Promise<void> {
  for (const { job, ended } of running) if (job.inFlight) ended.abort(reason);
  return Effect.runPromise(Fiber.interruptAll(running.flatMap(({ fiber }) => fiber ?? [])));
}

/** Longest wait that a clock is asked for. */
const WAIT_LIMIT_MS = 2 ** 31 - 1;

/** The engine's clock as Effect's, so that every wait of a handler follows the same time. */
function effectClock(clock: Clock): EffectClock.Clock {
  const nanos = () => BigInt(Math.round(clock.now())) * 1_000_000n;
  const wait = (ms: number): Effect.Effect<void> =>
    Effect.callback<void>((resume) => {
      const cancel = clock.after(Math.min(ms, WAIT_LIMIT_MS), () => resume(ms > WAIT_LIMIT_MS ? wait(ms - WAIT_LIMIT_MS) : Effect.void));
      return Effect.sync(cancel);
    });
  return {
    currentTimeMillisUnsafe: () => clock.now(),
    currentTimeMillis: Effect.sync(() => clock.now()),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) => wait(Duration.toMillis(duration)),
  };
}
