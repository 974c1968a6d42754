/** Desk: where calls of the backends lie until the simulation lets one of them go on. */

/** One call that waits. */
export interface Lying {
  readonly gen: number;
  readonly what: string;
  go(): void;
}

export class Desk {
  #lying: Lying[] = [];

  get size(): number {
    return this.#lying.length;
  }

  /** Calls of these hosts, in the order in which they came. */
  of(fits: (gen: number) => boolean): readonly Lying[] {
    return this.#lying.filter(({ gen }) => fits(gen));
  }

  /** Resolves when the call is let go; rejects with the signal's reason where that comes first. */
  wait(gen: number, what: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const aborted = () => {
        this.#take(lying);
        reject(signal.reason);
      };
      const lying: Lying = {
        gen,
        what,
        go: () => {
          this.#take(lying);
          signal.removeEventListener("abort", aborted);
          resolve();
        },
      };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener("abort", aborted, { once: true });
      this.#lying.push(lying);
    });
  }

  /** The host is gone, and whatever called for it. */
  forget(gen: number): void {
    this.#lying = this.#lying.filter((lying) => lying.gen !== gen);
  }

  #take(taken: Lying): void {
    this.#lying = this.#lying.filter((lying) => lying !== taken);
  }
}

/** Resolves never; rejects when the signal is aborted, unless the call takes no notice of it. */
export function hang(signal: AbortSignal, isDeaf: boolean): Promise<never> {
  return new Promise((_, reject) => {
    if (isDeaf) return;
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
