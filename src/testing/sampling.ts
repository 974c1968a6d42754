/** Which of many are tried. */

/** Those that have something that none before them has. */
export function covering<T>(all: readonly T[], partsOf: (one: T) => readonly string[]): T[] {
  const seen = new Set<string>();
  return all.filter((one) => {
    const before = seen.size;
    for (const part of partsOf(one)) seen.add(part);
    return seen.size > before;
  });
}

/** True for `count` of `of` indexes, evenly; for all where there are no more. */
export function isChosen(index: number, of: number, count: number): boolean {
  if (count >= of) return true;
  return Math.floor(((index + 1) * count) / of) > Math.floor((index * count) / of);
}
