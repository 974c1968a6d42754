/** Contract of time: the only source of the present, and of waiting, that the engine uses. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /** Calls `wake` once, `ms` milliseconds (0..2^31 - 1) from now, unless the returned function is called before. */
  after(ms: number, wake: () => void): () => void;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, wake) {
    const timeout = setTimeout(wake, ms);
    return () => clearTimeout(timeout);
  },
};
