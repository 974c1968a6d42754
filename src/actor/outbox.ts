/**
 * Outbox: the handlers at work on durable effects.
 *
 * Owns every running handler and the queues before them. Guarantees: a handler starts only after the commit that requested it (ACT-1),
 * and not before recovery has settled the past; no more of one type run at once than it allows, of those that heed their signal (one
 * that was interrupted, or took too long, gives its place to the next though it may work on); an ended effect's handler is
 * interrupted; each outcome is submitted once.
 * Refuses to decide: outcomes become events, and machines say what they mean.
 * Next: mailbox.ts again, with each outcome. Beside it, handling.ts does the work of one effect.
 */

import { effectOf } from "./action.ts";
import { type Clock, systemClock } from "./clock.ts";
import { engineError, type HoldfastError } from "./error.ts";
import type { HandlerDuties, Job, Work } from "./handling.ts";
import type { Registration } from "./registration.ts";
import type { EffectRow } from "./store.ts";

/** Handlers of one effect type that may run at once, unless its schema says otherwise; see the guarantees for what that counts. */
const CONCURRENCY = 64;

export interface OutboxDuties extends Omit<HandlerDuties, "wanted" | "atWork"> {
  readonly clock: Clock;
  registration(actor: string): Registration | undefined;
}

interface Running {
  readonly job: Job;
  /** Asks the handler to stop; its outcome still counts. */
  readonly asked: AbortController;
  /** Tells the handler why it is interrupted. */
  readonly ended: AbortController;
  readonly gate: Gate;
  work?: Work;
}

/** How many more of one effect type may work, and who waits for that. */
interface Gate {
  free: number;
  readonly waiting: Set<Running>;
}

export class Outbox {
  readonly #duties: OutboxDuties;
  readonly #running = new Map<string, Running>();
  readonly #gates = new Map<string, Gate>();
  /** Handlers that have not returned, also those whose effects have ended. */
  readonly #atWork = new Set<Promise<unknown>>();
  #state: "held" | "open" | "closed" = "held";

  constructor(duties: OutboxDuties) {
    this.#duties = duties;
  }

  /** From here on handlers may start; what was requested before is for recovery to start. */
  open(): void {
    if (this.#state === "held") this.#state = "open";
  }

  /** Starts the handler of an open effect, or lets it wait for its turn, unless it has one already. */
  start(row: EffectRow): void {
    const registration = this.#duties.registration(row.actor);
    const schema = registration && effectOf(registration, row.name);
    const handler = registration?.handlers[row.name];
    if (this.#state !== "open" || !schema || !handler || this.#running.has(row.key)) return;
    const asked = new AbortController();
    const ended = new AbortController();
    const done = schema.done === undefined ? undefined : registration.schemas.events[schema.done];
    const job: Job = { row, schema, handler, done, asked: asked.signal, ended: ended.signal, inFlight: false };
    const gate = this.#gate(`${registration.id}/${row.name}`, schema.concurrency ?? CONCURRENCY);
    const running: Running = { job, asked, ended, gate };
    this.#running.set(row.key, running);
    gate.waiting.add(running);
    this.#next(gate);
  }

  /** Starts the handler of an effect that a commit has opened. One that it still has is of the last try, and has been heard. */
  restart(row: EffectRow): void {
    this.end(row.key);
    this.start(row);
  }

  /** The effect has ended: its handler is interrupted and whatever it still gives is dropped. */
  end(key: string): void {
    const running = this.#running.get(key);
    if (!running) return;
    this.#running.delete(key);
    running.gate.waiting.delete(running);
    void interrupt([running], () => engineError("effect_gone", `the effect ${key} has ended`));
  }

  /** The actor was set aside: nobody would take what its handlers give. */
  endAll(actor: string): void {
    for (const [key, running] of this.#running) if (running.job.row.actor === actor) this.end(key);
  }

  /** Asks the handler to stop; its outcome still counts. One that waits for its turn need not wait for that. */
  abort(key: string): void {
    const running = this.#running.get(key);
    if (!running) return;
    running.asked.abort(engineError("effect_gone", `the effect ${key} was asked to stop`));
    if (running.gate.waiting.delete(running)) void this.#work(running);
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
    await interrupt([...this.#running.values()], () => engineError("closed", "the engine is closing"));
    await new Promise<void>((resolve) => {
      // Real time whatever the engine's clock is: this waits for code outside, and nothing durable depends on it.
      const cancel = systemClock.after(graceMs, resolve);
      void Promise.allSettled([...this.#atWork]).then(() => {
        cancel();
        resolve();
      });
    });
  }

  #next(gate: Gate): void {
    while (gate.free > 0) {
      const [running] = gate.waiting;
      if (!running) return;
      gate.waiting.delete(running);
      gate.free--;
      void this.#work(running).finally(() => {
        gate.free++;
        this.#next(gate);
      });
    }
  }

  async #work(running: Running): Promise<void> {
    const { row } = running.job;
    try {
      // Loaded with the first effect, not with the engine: a program that has none does without it.
      const { handle } = await import("./handling.ts");
      if (!this.#isWanted(running)) return;
      const duties = { ...this.#duties, wanted: () => this.#isWanted(running), atWork: (handler: Promise<unknown>) => this.#keep(handler) };
      running.work = handle(duties, running.job, this.#duties.clock);
      await running.work.done;
    } catch (error) {
      // Its code could not be loaded, so nothing was begun: the effect stays open, for `recover()` or the next owner.
      this.#duties.lost(row, error);
    } finally {
      if (this.#running.get(row.key) === running) this.#running.delete(row.key);
    }
  }

  #isWanted(running: Running): boolean {
    return this.#state === "open" && this.#running.get(running.job.row.key) === running;
  }

  #keep(handler: Promise<unknown>): void {
    const kept = Promise.resolve(handler).then(
      () => {},
      () => {},
    );
    this.#atWork.add(kept);
    void kept.then(() => this.#atWork.delete(kept));
  }

  #gate(name: string, concurrency: number): Gate {
    const gate = this.#gates.get(name) ?? { free: concurrency, waiting: new Set() };
    this.#gates.set(name, gate);
    return gate;
  }
}

/**
 * Interruption is asked for before anything else can happen, so that no answer to the abort is taken for an outcome. Most have none at
 * work any more, and need no reason.
 */
async function interrupt(running: readonly Running[], reason: () => HoldfastError): Promise<void> {
  for (const { job, ended } of running) if (job.inFlight) ended.abort(reason());
  await Promise.all(running.map(({ work }) => work?.interrupt()));
}
