/** Actors in memory: the engine without a directory, for tests of machines. */

import { type Engine, type EngineOptions, openEngine } from "../actor/engine.ts";
import type { Store } from "../actor/store.ts";
import { memoryStore } from "../store/memory.ts";

/** What an engine in memory runs, and what it stands on. */
export interface MemoryActorsOptions extends EngineOptions {
  /** A store of an earlier opening, to be opened again as a restart would; default: a new, empty one. */
  readonly store?: Store;
}

/**
 * Opens the engine on a memory store: everything `openActors` does, except that nothing survives the process. Throws as `openActors`
 * does, without the errors of a directory.
 */
export function openMemoryActors({ store = memoryStore(), ...options }: MemoryActorsOptions): Promise<Engine> {
  return openEngine(store, options);
}
