/** Versions of machines: one to three numbers with dots between. */

/** True where this is a version: `"2"`, `"1.4.0"`. */
export function isVersion(value: unknown): value is string {
  return typeof value === "string" && /^\d{1,9}(\.\d{1,9}){0,2}$/.test(value);
}

/** Below 0 where the left one is older, above 0 where it is newer. Numbers that are absent count as 0. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => version.split(".").map(Number));
  for (let index = 0; index < 3; index++) {
    const difference = (a?.[index] ?? 0) - (b?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
