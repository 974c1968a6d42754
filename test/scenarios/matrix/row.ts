/** What a row of the decision matrix is, and what rows expect in common. */

import type { Decision } from "../decision.ts";
import type { Script } from "./play.ts";

/** Which run of a row this is, of how many. A row that samples takes another sample each time. */
export interface Attempt {
  readonly index: number;
  readonly of: number;
}

interface Named {
  /** Its number in the specification. */
  readonly row: number;
  /** The specification's name of it, and for a variant what is different. */
  readonly decision: string;
  /** It has a crash or a race, or samples: worth to be run more than once. */
  readonly repeats?: true;
  /**
   * Part of what is seen: states of the actors, counts over the whole turn, and what the acts answered; undefined: it was done, and gave
   * nothing.
   */
  readonly expected: Readonly<Record<string, unknown>>;
}

/** Acts one after the other. */
export interface PlayedRow extends Named {
  readonly given: Script;
}

/** Acts from the model's path for a decision. */
export interface PathRow extends Named {
  readonly path: Decision;
  /** The backend drives whole turns and is adapted. */
  readonly wholeTurns?: true;
}

/** What needs processes or runtimes of its own, and says itself what it saw. */
export interface PerformedRow extends Named {
  perform(attempt: Attempt): Promise<Readonly<Record<string, unknown>>>;
}

export type Row = PlayedRow | PathRow | PerformedRow;

/** What every row that seals expects, and what a resumed one does besides. */
export const sealedRow = { ready: true, commit: true, sealed: true, source: "sealed", seals: 1, check: "continue" };
export const resumedRow = {
  ...sealedRow,
  handoff: "resumed",
  session: "idle",
  dispatches: 2,
  tip: "successor-run completed",
  resume: "completed",
};
export const refusedRow = {
  ...sealedRow,
  handoff: "failed",
  session: "idle",
  dispatches: 1,
  tip: "successor-run failed",
};
export const pendingRow = {
  ready: true,
  commit: true,
  sealed: true,
  source: "sealed",
  seals: 1,
  handoff: "sealed",
  session: "paused",
  dispatches: 1,
  tip: "original-run sealed",
};
export const unsealedRow = { seals: 0, session: "idle", dispatches: 1 };

/** In place of what an act answers: the row does not do it. */
export const NOT_ASKED = Symbol("not asked");
