/** Contract of time: the only source of the present, and of waiting, that the engine uses. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970-01-01T00:00:00Z; what is behind the point is cut off. */
  now(): number;
  /** Calls `wake` once, `ms` milliseconds (0..2^31 - 1) from now, unless the returned function is called before. */
  after(ms: number, wake: () => void): () => void;
}

/** A clock in whole milliseconds, as rows hold them: a part of one has not passed yet. */
export function wholeClock(clock: Clock): Clock {
  return { now: () => Math.floor(clock.now()), after: (ms, wake) => clock.after(ms, wake) };
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, wake) {
    const timeout = setTimeout(wake, ms);
    return () => clearTimeout(timeout);
  },
};
