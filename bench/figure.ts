/** Figures: what was measured, under the names that the JSON document gives them. */

import { median } from "./measure.ts";

export interface Figure {
  /** Dotted: `raw.step_full_per_s`. */
  readonly name: string;
  readonly unit: string;
  /** The median; null where it could not be measured. */
  readonly value: number | null;
  /** Of all repetitions; empty where the figure is a count or was computed. */
  readonly samples: readonly number[];
  /** Why there is no value, or what to know about it. */
  readonly note?: string;
}

export class Figures {
  readonly all = new Map<string, Figure>();

  /** The repetitions of one measurement. */
  sampled(name: string, unit: string, samples: readonly number[], note?: string): void {
    this.#add({ name, unit, value: median(samples), samples, ...(note === undefined ? {} : { note }) });
  }

  /** A count, or a figure that was computed from others. */
  counted(name: string, unit: string, value: number, note?: string): void {
    this.#add({ name, unit, value, samples: [], ...(note === undefined ? {} : { note }) });
  }

  /** Could not be measured here. */
  missing(name: string, unit: string, note: string): void {
    this.#add({ name, unit, value: null, samples: [], note });
  }

  /** The value under a name; undefined where there is none. */
  value(name: string): number | undefined {
    return this.all.get(name)?.value ?? undefined;
  }

  /** All of them as one document: a dot in a name opens an object. */
  document(): Record<string, unknown> {
    const whole: Record<string, unknown> = {};
    for (const { name, value } of this.all.values()) {
      const path = name.split(".");
      const last = path.pop() as string;
      let place = whole;
      for (const part of path) {
        place[part] ??= {};
        place = place[part] as Record<string, unknown>;
      }
      place[last] = rounded(value);
    }
    return whole;
  }

  #add(figure: Figure): void {
    this.all.set(figure.name, figure);
  }
}

/** Four digits that count: more would claim more than this machine can tell. */
export function rounded(value: number | null): number | null {
  if (value === null || !Number.isFinite(value)) return null;
  return Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(4));
}
