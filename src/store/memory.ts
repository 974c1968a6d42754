/**
 * The store in memory: the same contract for tests, gone with its process.
 *
 * Guarantees: as `sqlite.ts`, except that nothing survives the process and no other process can look in. Rows are copied on the way
 * in and frozen, so no caller can change what is stored.
 *
 * Next: `memory-table.ts`.
 */

import { engineError } from "../actor/error.ts";
import type { Store, StoreWriter, TimerRow } from "../actor/store.ts";
import { breach, checkRow, refusePromise } from "./check.ts";
import { MemoryReader, Tables } from "./memory-reader.ts";
import { MemoryWriter } from "./memory-writer.ts";
import { freshId } from "./root-id.ts";

class MemoryStore extends MemoryReader implements Store {
  /** Not through the checked getter: closing twice is harmless. */
  readonly #tables: Tables;

  constructor(rootId: string, tables: Tables) {
    super(rootId, tables);
    this.#tables = tables;
  }

  beginEpoch(atMs: number): number {
    return this.#exclusive((tables) => {
      checkRow({ atMs });
      const { epoch, openedMs, openedPosition, restedMs, deletedMs, deletedPosition } = tables.root;
      const last = [tables.journal.last, { position: deletedPosition, atMs: deletedMs }].reduce((a, b) =>
        (a?.position ?? 0) > (b?.position ?? 0) ? a : b,
      );
      const lastCommitMs = restedMs > 0 ? restedMs : last && last.position > openedPosition ? last.atMs : openedMs;
      for (const { ordinal: _, ...timer } of tables.timers.all())
        tables.timers.put(timer.key, { ...timer, state: "armed", dueMs: rebased(timer, lastCommitMs, atMs) });
      tables.changeRoot({ epoch: epoch + 1, openedMs: atMs, restedMs: 0, openedPosition: tables.journal.lastPosition });
      return epoch + 1;
    });
  }

  write<T>(epoch: number, body: (writer: StoreWriter) => T): T {
    return this.#exclusive((tables) => {
      const current = tables.root.epoch;
      if (current !== epoch)
        throw engineError("not_owner", `Epoch ${epoch} is over; ${current} is current. Nothing was written.`, {
          details: { epoch, current },
        });
      const writer = new MemoryWriter(this.rootId, tables);
      try {
        const result = body(writer);
        refusePromise(result);
        return result;
      } finally {
        writer.end();
      }
    });
  }

  close(): void {
    const tables = this.#tables;
    if (tables.writing) throw breach("close inside a write");
    tables.closed = true;
  }

  /** Runs `work` alone: everything that it changed stays, or, where it throws, nothing. */
  #exclusive<T>(work: (tables: Tables) => T): T {
    const tables = this.tables;
    if (tables.writing) throw breach("a write inside a write");
    tables.writing = true;
    try {
      const result = work(tables);
      tables.log.keep();
      return result;
    } catch (error) {
      tables.log.undo();
      throw error;
    } finally {
      tables.writing = false;
    }
  }
}

/** When a timer is due after the time without an owner (ACT-8). */
export function rebased({ policy, dueMs, delayMs }: TimerRow, lastCommitMs: number, atMs: number): number {
  if (policy === "absolute") return dueMs;
  return Math.min(Number.MAX_SAFE_INTEGER, atMs + Math.max(0, policy === "restart" ? delayMs : dueMs - lastCommitMs));
}

/** A new, empty store in memory. */
export function memoryStore(options: { readonly rootId?: string } = {}): Store {
  return new MemoryStore(options.rootId ?? freshId(), new Tables());
}
