/** A point at which a script stands still until a test lets it go on. Also for child processes. */

/** A point at which a script stands still: `reached` resolves when it is there, `open()` lets it go on, now or beforehand. */
export class Gate {
  readonly #reached = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<void>();
  #isReached = false;

  /** True where the script has come here. */
  get isReached(): boolean {
    return this.#isReached;
  }

  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  pass(): Promise<void> {
    this.#isReached = true;
    this.#reached.resolve();
    return this.#opened.promise;
  }

  open(): void {
    this.#opened.resolve();
  }
}
