/**
 * Bounded parallel work.
 *
 * Guarantees: when `inParallel` is done, by result or by error, nothing that it started is still in flight.
 */

/**
 * Runs `work` on every item, in order, at most `width` at a time. After an error no further item is started; when the rest is done an
 * error is thrown.
 */
export async function inParallel<T>(items: readonly T[], width: number, work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  let failed = false;
  const lane = async () => {
    while (!failed && next < items.length) {
      try {
        await work(items[next++] as T);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: Math.min(width, items.length) }, lane));
  const errors = lanes.filter((result) => result.status === "rejected");
  if (errors[0]) throw errors[0].reason;
}
