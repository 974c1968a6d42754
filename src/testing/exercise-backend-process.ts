/**
 * Process: a runtime with a backend that was just made, as a program has them from its start to its end. For `exerciseBackend`.
 *
 * One that dies commits nothing from that moment on, so it leaves what a killed one leaves.
 */

import type { Backend } from "../agent/backend.ts";
import type { Holdfast } from "../agent/runtime.ts";
import { openHoldfast } from "../index.ts";
import { type Hooks, type Seen, watched } from "./exercise-backend-watch.ts";

const DEATH = "the process is dead";

export class Process {
  /** Not watched. */
  readonly backend: Backend;
  readonly #died = Promise.withResolvers<"died">();
  #isDead = false;
  #holdfast: Holdfast | undefined;

  private constructor(backend: Backend) {
    this.backend = backend;
  }

  static async open(root: string, backend: Backend, watching: { readonly seen: Seen; readonly hooks: Hooks }): Promise<Process> {
    const opened = new Process(backend);
    opened.#holdfast = await openHoldfast({
      root,
      backends: { backend: watched(backend, { ...watching, isDead: () => opened.#isDead }) },
      synchronous: "normal",
      closeGraceMs: 0,
      probe: (point) => {
        if (opened.#isDead && point === "commit.before") throw new Error(DEATH);
      },
    });
    return opened;
  }

  get holdfast(): Holdfast {
    return this.#holdfast as Holdfast;
  }

  /** Resolves when it has died. */
  get died(): Promise<"died"> {
    return this.#died.promise;
  }

  /** It dies here: from now on it writes nothing. */
  die(): never {
    this.#isDead = true;
    this.#died.resolve("died");
    throw new Error(DEATH);
  }

  /** Ends it, in good order unless it is dead. */
  async end(): Promise<void> {
    await this.#holdfast?.close();
  }
}
