/** Result: what a command gives back. One place prints it, so that `--json` is one document and nothing else. */

import type { Exit } from "./exit.ts";
import type { Interruption } from "./interruption.ts";
import type { Screen } from "./screen.ts";

export interface Result {
  readonly exit: Exit;
  /** Plain JSON: printed with `--json`. */
  readonly document: unknown;
  /** For people: printed without `--json`. */
  readonly lines: readonly string[];
}

/** A command, ready to be carried out. */
export type Task = (screen: Screen, interruption: Interruption) => Promise<Result>;

/** What every command takes. */
export interface CommonOptions {
  readonly root: string;
  readonly json?: boolean;
}

/** What every list takes. */
export interface PageOptions extends CommonOptions {
  readonly limit: number;
  readonly after: number;
}

/** Kinds of rows that `ls` lists. */
export const LISTS = [
  "sessions",
  "runs",
  "handoffs",
  "plans",
  "interactions",
  "actors",
  "quarantined",
  "effects",
  "timers",
  "dead-letters",
] as const;

export type List = (typeof LISTS)[number];
