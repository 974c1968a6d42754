/** Ratios of what was measured, and the limits that the project has set itself. */

import type { Figures } from "./figure.ts";

export interface Limit {
  /** Name of the figure. */
  readonly name: string;
  readonly relation: "at least" | "at most" | "exactly";
  readonly limit: number;
  readonly about: string;
}

export const LIMITS: readonly Limit[] = [
  { name: "ratios.sequential_vs_raw", relation: "at least", limit: 0.8, about: "engine, 1 actor / raw, same statements" },
  { name: "ratios.concurrent_vs_ideal", relation: "at least", limit: 0.6, about: "engine, 1,000 actors / (pure, then raw grouped)" },
  { name: "ratios.concurrent_vs_rows", relation: "at least", limit: 0.1, about: "engine, 1,000 actors / single rows, grouped" },
  { name: "ratios.concurrent_vs_naive", relation: "at least", limit: 6, about: "engine / naive, 1,000 actors" },
  { name: "ratios.step_100k_vs_10", relation: "at most", limit: 1.15, about: "a step after 100,000 / after 10" },
  { name: "ratios.open_100k_vs_10", relation: "at most", limit: 1.5, about: "open and step after 100,000 / after 10" },
  { name: "ratios.cold_start_vs_naive", relation: "at most", limit: 2, about: "process start to step / naive" },
  { name: "ratios.recovery_1000_vs_raw_reads", relation: "at most", limit: 5, about: "1,000 interrupted / reading 1,000 rows" },
  { name: "ratios.recovery_1000_vs_alone", relation: "at most", limit: 1.5, about: "among 100,000 finished / among none" },
  { name: "ratios.recovery_10000_vs_alone", relation: "at most", limit: 1.5, about: "the same with 10,000 interrupted" },
  { name: "fsyncs_per_step", relation: "exactly", limit: 1, about: "without checkpoints" },
  { name: "bytes_per_step", relation: "at most", limit: 500, about: "at rest, whatever the length" },
  { name: "written_per_step", relation: "at most", limit: 16_000, about: "with checkpoints, whatever the length" },
];

/** How a figure stands to its limit; `missing` where it was not measured. */
export function verdict({ name, relation, limit }: Limit, figures: Figures): "ok" | "missed" | "missing" {
  const value = figures.value(name);
  if (value === undefined || Number.isNaN(value)) return "missing";
  if (relation === "at least") return value >= limit ? "ok" : "missed";
  return relation === "at most" ? verdictOf(value <= limit) : verdictOf(value === limit);
}

function verdictOf(holds: boolean): "ok" | "missed" {
  return holds ? "ok" : "missed";
}

/** Adds the ratios whose parts were measured. */
export function addRatios(figures: Figures): void {
  const divide = (name: string, above: string, below: string, note?: string) => {
    const [over, under] = [figures.value(above), figures.value(below)];
    if (over !== undefined && under !== undefined) figures.counted(name, "", over / under, note);
  };
  divide("ratios.sequential_vs_raw", "engine.sequential_full_per_s", "raw.step_full_per_s");
  divide("ratios.sequential_vs_raw_writes", "engine.sequential_full_per_s", "raw.step_writes_full_per_s", "raw without its reads");
  divide("ratios.sequential_vs_raw_normal", "engine.sequential_normal_per_s", "raw.step_normal_per_s", "where no disk hides the engine");
  divide("ratios.concurrent_vs_rows", "engine.actors_1000_full_per_s", "raw.grouped_row_full_per_s");
  divide("ratios.sequential_vs_naive", "engine.sequential_full_per_s", "naive.sequential_full_per_s");
  divide("ratios.concurrent_vs_naive", "engine.actors_1000_full_per_s", "naive.actors_1000_full_per_s");
  addIdeal(figures, "concurrent_vs_ideal", "pure_per_s", "raw.grouped_step_full_per_s", "by the run machine");
  addIdeal(
    figures,
    "concurrent_vs_ideal_step",
    "pure_step_per_s",
    "raw.grouped_step_full_per_s",
    "by the cheaper machine that takes the steps",
  );
  addIdeal(figures, "concurrent_vs_ideal_writes", "pure_step_per_s", "raw.grouped_step_writes_full_per_s", "raw without its reads");
}

/** Ideal: a program that does nothing but the machine's transition, then the statements. */
function addIdeal(figures: Figures, name: string, machine: string, statements: string, note: string): void {
  const [engine, pure, raw] = ["engine.actors_1000_full_per_s", machine, statements].map((part) => figures.value(part));
  if (engine === undefined || pure === undefined || raw === undefined) return;
  figures.counted(`ratios.${name}`, "", engine / (1 / (1 / pure + 1 / raw)), note);
}
