/** Ways to open an engine over counters, and to look at what it did. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Engine, type EngineOptions, openEngine } from "../../src/actor/engine.ts";
import type { EffectHandler } from "../../src/actor/handler.ts";
import type { Store } from "../../src/actor/store.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { counter } from "./machine.ts";

export { counter, counterOf } from "./machine.ts";

/** Handlers that succeed at once; tests replace those that they care about. */
export const handlers: Record<"work" | "once" | "silent" | "poison", EffectHandler> = {
  work: async ({ params }) => ({ by: params.by }),
  once: async ({ params }) => ({ by: params.by }),
  silent: async () => null,
  poison: async () => null,
};

/** A new directory that ends with its test. */
export function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-actor-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Both stores, to run a promise over each; `HOLDFAST_STORES` names one of them, for a mutation run, which repeats each test some thousand times. */
export const STORES = (["memory", "sqlite"] as const).filter((kind) => (process.env.HOLDFAST_STORES ?? kind) === kind);

export interface Place {
  readonly store: Store;
  readonly file: string | undefined;
}

export function place(kind: (typeof STORES)[number] = "memory"): Place {
  if (kind === "memory") return { store: memoryStore(), file: undefined };
  const file = join(temporary(), "root.db");
  const store = openSqliteStore({ file, synchronous: "normal" });
  onTestFinished(() => store.close());
  return { store, file };
}

/** An engine over counters; closed when its test ends. */
export async function open(store: Store, options: Partial<EngineOptions> = {}): Promise<Engine> {
  const { effects, ...others } = options;
  const engine = await openEngine(store, { machines: [counter], closeGraceMs: 0, ...others, effects: { ...handlers, ...effects } });
  onTestFinished(() => engine.close());
  return engine;
}

/** A counter with this id, from 0. */
export function make(engine: Engine, id = "a", start = 0) {
  return engine.create(counter, id, { input: { start } });
}

/** A promise and the function that settles it. */
export function gate<T = void>() {
  let open: (value: T) => void = () => {};
  const passed = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

/** What a promise rejects with. */
export async function rejection(
  promise: Promise<unknown>,
): Promise<{ code?: string; message: string; details?: Record<string, unknown>; cause?: unknown }> {
  const settled = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (settled === undefined) throw new Error("expected it to reject");
  return settled as { message: string };
}

/** The stored journal of an actor, parsed. */
export function journal(engine: Engine, actor = "counter/a") {
  return engine.reader.journal(actor, { limit: 1000 }).map((row) => ({
    seq: row.seq,
    event: JSON.parse(row.event),
    cause: JSON.parse(row.cause),
    facts: JSON.parse(row.facts),
    actions: JSON.parse(row.actions),
  }));
}
