/**
 * A world on a database that nobody waits for the disk for, with a clock that stands still: what a path needs that is one of thousands.
 * It can be left as a process leaves it that dies, and its store can fail.
 */

import { join } from "node:path";
import type { Store, StoreReader } from "../../../src/actor/store.ts";
import { openRuntime } from "../../../src/agent/runtime.ts";
import type { Holdfast, OpenHoldfastOptions } from "../../../src/index.ts";
import { storeFaults } from "../../../src/testing/exercise-machine-fault.ts";
import { RETRY_MS } from "../../../src/testing/exercise-machine-path.ts";
import { copyDatabase, openUnsynced } from "../../../src/testing/exercise-machine-stage.ts";
import { simulatedClock } from "../../../src/testing/index.ts";
import { World } from "../world.ts";

export type Phase = "before" | "inside" | "after";

export class QuickWorld extends World {
  readonly faults = storeFaults();
  /** Called before, inside and after each commit. */
  onCommit: (phase: Phase) => void = () => {};
  #file = join(this.root, "0.db");
  #deaths = 0;
  #clock = simulatedClock();
  #store: Store | undefined;

  override get databaseFile(): string {
    return this.#file;
  }

  override get reader(): Store {
    return this.#store as Store;
  }

  /** What a process leaves that dies now. */
  leave(): string {
    const left = join(this.root, `${++this.#deaths}.db`);
    copyDatabase(this.#file, left);
    return left;
  }

  override async reopen(): Promise<Holdfast> {
    await this.close();
    return this.open();
  }

  /** The process is gone; the next one opens what it left, by default what it would leave now. */
  async die(left = this.leave()): Promise<Holdfast> {
    await this.close();
    this.use(left);
    return this.open();
  }

  /** Works on that database from the next opening on. */
  use(file: string): void {
    this.#file = file;
  }

  /** What could not be committed is tried again now. */
  retry(): void {
    this.#clock.advance(RETRY_MS);
  }

  override async close(): Promise<void> {
    await super.close();
    this.#store?.close();
    this.#store = undefined;
  }

  protected override start(options: Omit<OpenHoldfastOptions, "root">): Promise<Holdfast> {
    this.#store = openUnsynced(this.#file);
    this.#clock = simulatedClock();
    return openRuntime(this.faults.around(this.#store), {
      ...options,
      clock: this.#clock,
      // What is read is always what is stored.
      cacheLimit: 0,
      probe: (point, subject) => {
        if (point === "commit.before") this.onCommit("before");
        options.probe?.(point, subject);
        if (point === "commit.inside") this.onCommit("inside");
        if (point === "commit.after") this.onCommit("after");
      },
    });
  }
}

/** What a database says that nobody has open. */
export function readDatabase<T>(file: string, read: (store: StoreReader) => T): T {
  const store = openUnsynced(file);
  try {
    return read(store);
  } finally {
    store.close();
  }
}
