/** The report for people: figures with their spread, ratios with their limits, and what was wrong. Plain text in columns. */

import { availableParallelism } from "node:os";
import type { Faults } from "./fault.ts";
import type { Figure, Figures } from "./figure.ts";
import { LIMITS, verdict } from "./ratio.ts";

/** `load`: the machine's load before, between and after the sections. */
export function report(figures: Figures, faults: Faults, load: readonly number[]): string {
  const all = [...figures.all.values()];
  const limited = new Set(LIMITS.map(({ name }) => name));
  const others = all.filter(({ name }) => !limited.has(name));
  const rows = others.map((figure) => [figure.name, text(figure.value), figure.unit, spread(figure), figure.note ?? ""]);
  const verdicts = LIMITS.map((limit) => {
    const figure = figures.all.get(limit.name);
    const found = verdict(limit, figures);
    return [
      limit.name,
      text(figure?.value ?? null),
      `${limit.relation} ${limit.limit}`,
      found,
      found === "missing" ? (figure?.note ?? limit.about) : limit.about,
    ];
  });
  const lines = [
    ...table(["figure", "median", "unit", "least .. most (repetitions)", ""], rows, [1]),
    "",
    ...table(["against its limit", "found", "limit", "", ""], verdicts, [1]),
    "",
    faults.all.length === 0 ? `Counts: ${faults.checks} checked in the stores, all right.` : `Counts: ${faults.all.length} WRONG`,
    ...faults.all.map((fault) => `  ${fault}`),
    ...busyness(load),
  ];
  return lines.join("\n");
}

/** The bench alone keeps one core at work, and a second one now and then. */
function busyness(load: readonly number[]): string[] {
  const most = Math.max(...load);
  const cores = availableParallelism();
  const heading = `Load: ${Math.min(...load).toFixed(1)} to ${most.toFixed(1)} on ${cores} cores`;
  return [most > Math.max(2, cores) ? `${heading}: others were at work too, and figures are worse than they would be.` : `${heading}.`];
}

/** True where a limit was missed; what was not measured misses none. */
export function missed(figures: Figures): boolean {
  return LIMITS.some((limit) => verdict(limit, figures) === "missed");
}

function text(value: number | null): string {
  if (value === null || Number.isNaN(value)) return "-";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 3);
}

function spread({ samples }: Figure): string {
  return samples.length === 0 ? "" : `${text(Math.min(...samples))} .. ${text(Math.max(...samples))} (${samples.length})`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[], right: readonly number[]): string[] {
  const whole = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...whole.map((row) => (row[column] ?? "").length)));
  return whole.map((row) =>
    row
      .map((cell, column) => (right.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}
