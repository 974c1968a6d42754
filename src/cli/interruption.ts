/** Interruption: Ctrl-C once asks the work to end, twice leaves at once. A request to terminate counts as Ctrl-C. */

import { EXIT } from "./exit.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export class Interruption implements Disposable {
  readonly #controller = new AbortController();
  readonly #receive = () => {
    if (this.happened) process.exit(EXIT.interrupted);
    this.#controller.abort();
  };

  constructor() {
    for (const name of SIGNALS) process.on(name, this.#receive);
  }

  /** True from the first Ctrl-C on. */
  get happened(): boolean {
    return this.#controller.signal.aborted;
  }

  /** Aborted by the first Ctrl-C. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Calls `act` at the first Ctrl-C, also where that was before. */
  onFirst(act: () => void): void {
    if (this.happened) act();
    else this.signal.addEventListener("abort", act, { once: true });
  }

  /** Gives the signals back to Node. */
  [Symbol.dispose](): void {
    for (const name of SIGNALS) process.off(name, this.#receive);
  }
}
