/** Place: a folder for one test, in which turns of a backend are tried one after the other. For `exerciseBackend`. */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Backend } from "../agent/backend.ts";
import type { ExerciseBackendOptions } from "./exercise-backend-option.ts";
import { type Ground, Trial } from "./exercise-backend-trial.ts";
import type { Hooks } from "./exercise-backend-watch.ts";

/** A promise, what the backend is asked for, and how that puts it to the proof. */
export type Promised = (promise: string, asked: string, body: (place: Place) => Promise<void>) => void;

/** A folder for one test: each backend in it works at the same path, in the same files. */
export class Place implements Ground {
  readonly options: ExerciseBackendOptions;
  readonly #directory = realpathSync.native(mkdtempSync(join(tmpdir(), "holdfast-backend-")));
  readonly #trials: Trial[] = [];
  readonly #backends: Backend[] = [];

  constructor(options: ExerciseBackendOptions) {
    this.options = options;
  }

  get cwd(): string {
    return join(this.#directory, "work");
  }

  /** A turn that is to begin, in the folder as it is at first. */
  async trial(hooksOf: (trial: Trial) => Hooks = () => ({})): Promise<Trial> {
    for (const before of this.#trials) await before.end();
    await this.#fill();
    const trial = new Trial(this, join(this.#directory, `state-${this.#trials.length}`), hooksOf);
    this.#trials.push(trial);
    return trial;
  }

  /** A backend without a runtime. */
  async backend(): Promise<Backend> {
    if (this.#backends.length === 0) await this.#fill();
    const backend = await this.make("open");
    this.#backends.push(backend);
    return backend;
  }

  /** A backend that was just made; whoever asks closes it. */
  async make(how: "open" | "openStuck"): Promise<Backend> {
    const backend = await this.options[how]?.({ cwd: this.cwd });
    assert(backend, `\`${how}\` gives no backend`);
    return backend;
  }

  async end(): Promise<void> {
    try {
      for (const trial of this.#trials) await trial.end();
      for (const backend of this.#backends) await this.options.close?.(backend);
    } finally {
      rmSync(this.#directory, { recursive: true, force: true });
    }
  }

  async #fill(): Promise<void> {
    rmSync(this.cwd, { recursive: true, force: true });
    mkdirSync(this.cwd);
    await this.options.fill?.(this.cwd);
  }
}
