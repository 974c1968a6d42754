/** What `exerciseBackend` is given: a backend, what its turn is, and what a person says in it. */

import type { Asked, Backend } from "../agent/backend.ts";
import { checkFunction, checkList, checkOptions, checkWhole, notA } from "./option-check.ts";

/** Where a backend is to work: the directory of its session, a folder of the suite's own. */
export interface BackendPlace {
  readonly cwd: string;
}

/** What a turn of a backend may be without: a boundary (it is one step), tool calls, a composition (it cannot be handed off). */
export type BackendLack = "boundary" | "tools" | "composition";

/** A backend, what its turn is, and what a person says in it. */
export interface ExerciseBackendOptions {
  /**
   * Makes a backend as a new process would have it, which shares nothing in memory with those before. Its model is a stand-in that says the
   * same to the same conversation.
   */
  open(place: BackendPlace): Backend | Promise<Backend>;
  /** Makes one whose first step ends only by its signal, as with a model that never answers; an abort reaches that then. */
  openStuck?(place: BackendPlace): Backend | Promise<Backend>;
  /** Called when the process of a backend is over. */
  close?(backend: Backend): void | Promise<void>;
  /** Makes the files of the folder in which the turn works. Default: none. */
  fill?(cwd: string): void | Promise<void>;
  /** What the user says. Default: `Do the job`. */
  readonly text?: string;
  /** What a person says: a text to a question, true or false to a permission. Absent: the turn asks nobody. */
  answer?(asked: Required<Asked>): string | boolean;
  /** What the turn is without, and need not show. Default: nothing. */
  readonly without?: readonly BackendLack[];
  /** Steps in which the turn comes to its end. Default: 100. */
  readonly maxSteps?: number;
  /** ms in which a step ends whose signal is aborted. Default: 4,000, less than test frameworks allow. */
  readonly soonMs?: number;
  /** ms in which a turn comes to its end. Default: 30,000. */
  readonly turnMs?: number;
}

const FUNCTIONS = ["open", "openStuck", "close", "fill", "answer"] as const satisfies readonly (keyof ExerciseBackendOptions)[];
const NUMBERS = ["maxSteps", "soonMs", "turnMs"] as const satisfies readonly (keyof ExerciseBackendOptions)[];
const LACKS: readonly string[] = ["boundary", "tools", "composition"] satisfies BackendLack[];

/** Throws a TypeError or a RangeError that names what is wrong. */
export function checkBackendOptions(options: ExerciseBackendOptions): void {
  checkOptions("exerciseBackend", options, [...FUNCTIONS, ...NUMBERS, "text", "without"]);
  if (options.open === undefined) throw notA("open", undefined, "a function");
  for (const name of FUNCTIONS) checkFunction(name, options[name]);
  for (const name of NUMBERS) checkWhole(name, options[name], 1);
  const { text = "", without = [] } = options;
  if (typeof text !== "string") throw notA("text", text, "a text");
  checkList("without", without);
  for (const lack of without) if (!LACKS.includes(lack)) throw notA("a part of without", lack, `one of ${LACKS.join(", ")}`);
}
