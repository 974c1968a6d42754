/** Interruption: Ctrl-C once asks the work to end, twice leaves at once. A request to terminate counts as Ctrl-C. */

import { cliError } from "./error.ts";
import { EXIT } from "./exit.ts";

/** Also while a machine file is loaded, which may not exit. */
const exit = process.exit.bind(process);
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export class Interruption implements Disposable {
  readonly #controller = new AbortController();
  readonly #receive: () => void;

  /** `leaving` is called where the second Ctrl-C ends the process. */
  constructor(leaving: () => void = () => {}) {
    this.#receive = () => {
      if (!this.happened) return this.happen();
      leaving();
      exit(EXIT.interrupted);
    };
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

  /** As if Ctrl-C were pressed now. */
  happen(): void {
    this.#controller.abort();
  }

  /** Throws `command_interrupted` where Ctrl-C was pressed; for places where nothing was begun. */
  throwIfHappened(): void {
    if (this.happened) throw cliError("command_interrupted", "interrupted before anything was begun");
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
