/** A bound on waits: what is waited for never comes where a machine is wrong, and the row shall say so. */

const BOUND_MS = 120_000;

/** Rejects, naming `what`, where `work` has not ended within the bound. */
export async function bounded<T>(work: T | Promise<T>, what: string): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what} within ${BOUND_MS / 1000} s`)), BOUND_MS);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
