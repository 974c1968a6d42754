/** Which of many are tried. */

/** True for `count` of `of` indexes, evenly; for all where there are no more. */
export function isChosen(index: number, of: number, count: number): boolean {
  if (count >= of) return true;
  return Math.floor(((index + 1) * count) / of) > Math.floor((index * count) / of);
}
