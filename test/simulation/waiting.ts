/** Waiting: promises that were given to callers, and when nobody may be left waiting for them. */

interface Waiter {
  readonly gen: number;
  readonly what: string;
  /** True where it must have settled. */
  isDue(): boolean;
}

export class Waiting {
  readonly #waiters = new Set<Waiter>();

  /** Remembers a promise until it settles, whichever way. */
  add(gen: number, what: string, promise: Promise<unknown>, isDue: () => boolean): void {
    const waiter = { gen, what, isDue };
    this.#waiters.add(waiter);
    const settled = () => void this.#waiters.delete(waiter);
    promise.then(settled, settled);
  }

  /** A host is dead, and nobody of it waits any more. */
  forget(gen: number): void {
    for (const waiter of this.#waiters) if (waiter.gen === gen) this.#waiters.delete(waiter);
  }

  /** Whoever waits for this host and should not. */
  *overdue(gen: number): Generator<string> {
    for (const waiter of this.#waiters) if (waiter.gen === gen && waiter.isDue()) yield waiter.what;
  }

  /** What a host left unsettled. */
  *of(gen: number): Generator<string> {
    for (const waiter of this.#waiters) if (waiter.gen === gen) yield waiter.what;
  }
}
