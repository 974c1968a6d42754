/** A clock that moves only when a test moves it. */

import type { Clock } from "../actor/clock.ts";

/** A clock for tests: nothing is due until `advance` says so, and what is due then runs in a fixed order. */
export interface SimulatedClock extends Clock {
  /** Moves the time on by `ms`, calling what falls due on the way in order of time, then of asking; also what those calls ask for. */
  advance(ms: number): void;
  /** Resolves as soon as something waits that falls due within `ms` from now: the moment at which `advance(ms)` makes sense. */
  due(ms: number): Promise<void>;
  /** How many callbacks wait. */
  readonly waiting: number;
}

interface Waiting {
  readonly atMs: number;
  readonly order: number;
  readonly wake: () => void;
}

/** A simulated clock that starts at `startMs` (milliseconds since 1970; default 2026-01-01T00:00:00Z). */
export function simulatedClock(startMs = 1_767_225_600_000): SimulatedClock {
  let nowMs = startMs;
  let asked = 0;
  const waiting = new Set<Waiting>();
  const watchers = new Set<() => void>();
  const first = (): Waiting | undefined => [...waiting].sort((a, b) => a.atMs - b.atMs || a.order - b.order)[0];
  return {
    now: () => nowMs,
    after(ms, wake) {
      const entry = { atMs: nowMs + Math.max(0, ms), order: asked++, wake };
      waiting.add(entry);
      for (const watcher of [...watchers]) watcher();
      return () => void waiting.delete(entry);
    },
    advance(ms) {
      const untilMs = nowMs + ms;
      for (let next = first(); next && next.atMs <= untilMs; next = first()) {
        waiting.delete(next);
        nowMs = Math.max(nowMs, next.atMs);
        next.wake();
      }
      nowMs = untilMs;
    },
    due(ms) {
      return new Promise((resolve) => {
        const look = () => {
          const next = first();
          if (!next || next.atMs > nowMs + ms) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
      });
    },
    get waiting() {
      return waiting.size;
    },
  };
}
