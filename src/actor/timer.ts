/**
 * Timers: rows that become events at their time (ACT-8).
 *
 * Owns the waiting; the rows are the truth. Guarantees: due timers are fired in the order of their due times, a page at a time; a clock
 * that is set forward is noticed within a minute, one that is set back makes timers wait; a timer that cannot be fired now is tried
 * again or parked, and holds up no other.
 * Refuses to decide: firing is asked for like anything from outside, and the commit looks at the row again.
 */

import type { Answer } from "./answer.ts";
import type { Clock } from "./clock.ts";
import type { StoreReader, TimerRow } from "./store.ts";
import type { Work } from "./work.ts";

/** Timers that are fired in one group. */
const PAGE = 500;

/** Longest wait without a look at the clock: it may have been set forward meanwhile. */
const LOOK_MS = 60_000;

/** Wait after a storage error. */
const RETRY_MS = 1000;

export interface TimerDuties {
  readonly reader: Pick<StoreReader, "dueTimers" | "nextDueMs">;
  readonly clock: Clock;
  submit(work: Work): Promise<Answer>;
}

export class Timers {
  readonly #duties: TimerDuties;
  #state: "held" | "open" | "firing" | "closed" = "held";
  /** When the next look is due; Infinity where nothing is set. */
  #nextMs = Number.POSITIVE_INFINITY;
  #cancel = () => {};

  constructor(duties: TimerDuties) {
    this.#duties = duties;
  }

  /** From here on due timers fire. */
  open(): void {
    if (this.#state !== "held") return;
    this.#state = "open";
    this.#look();
  }

  /** Timers were set by a commit, or ended with it: where the one that is waited for ended, nothing may be left to wait for. */
  changed(set: readonly TimerRow[], areEnded: boolean): void {
    if (this.#state !== "open") return;
    const firstMs = set.reduce((first, { dueMs }) => Math.min(first, dueMs), Number.POSITIVE_INFINITY);
    if (firstMs < this.#nextMs) this.#wait(firstMs);
    else if (areEnded && this.#nextMs !== Number.POSITIVE_INFINITY) this.#look();
  }

  close(): void {
    this.#state = "closed";
    this.#cancel();
  }

  #wait(untilMs: number): void {
    this.#cancel();
    this.#nextMs = untilMs;
    if (untilMs === Number.POSITIVE_INFINITY) return;
    const ms = Math.min(Math.max(0, untilMs - this.#duties.clock.now()), LOOK_MS);
    this.#cancel = this.#duties.clock.after(ms, () => this.#look());
  }

  #look(): void {
    if (this.#state !== "open") return;
    const { reader, clock } = this.#duties;
    try {
      const nextMs = reader.nextDueMs() ?? Number.POSITIVE_INFINITY;
      if (nextMs <= clock.now()) void this.#fire();
      else this.#wait(nextMs);
    } catch {
      // A store that cannot be read now is asked again; what it holds is not lost.
      this.#wait(clock.now() + RETRY_MS);
    }
  }

  /** Fires what is due, page by page; others may ask for work between two pages. */
  async #fire(): Promise<void> {
    const { reader, clock, submit } = this.#duties;
    this.#state = "firing";
    let isFailed = false;
    try {
      while (!isFailed && this.#state === "firing") {
        const due = reader.dueTimers(clock.now(), PAGE);
        if (due.length === 0) break;
        const results = await Promise.allSettled(due.map((row) => submit({ kind: "timer", timer: row.key })));
        isFailed = results.some((result) => result.status === "rejected" || (result.value.kind === "refused" && isLost(result.value.code)));
      }
    } catch {
      isFailed = true;
    }
    if (this.#state !== "firing") return;
    this.#state = "open";
    if (isFailed) this.#wait(clock.now() + RETRY_MS);
    else this.#look();
  }
}

/** Refusals that say nothing of the timer. */
function isLost(code: string): boolean {
  return code === "not_owner";
}
