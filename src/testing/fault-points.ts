/** Fault points: what a test makes happen at the engine's named moments. Pass `probe` to `openActors` or `openEngine`. */

import type { FaultPoint, Probe } from "../actor/commit.ts";

/** What is at hand at a fault point: the entries of a commit, or the row of an effect. */
export type FaultSubject = Parameters<Probe>[1];

/** Where and when a plan applies. */
export interface FaultFilter {
  /** The nth matching hit, counted from the moment of planning. Default 1. */
  readonly nth?: number;
  /** Only hits that fit count. */
  readonly where?: (subject: FaultSubject) => boolean;
}

/** A probe with a plan, and a record of what came by. */
export interface FaultPoints {
  /** To be passed to the engine. */
  readonly probe: Probe;
  /**
   * Throws `error` at the point. At `commit.before` and `commit.inside` it is the store that fails, and nothing of the group happens;
   * at `effect.before` and `effect.after` the handler fails. After a commit nothing can fail any more: there is only `callAt` and a kill.
   */
  throwAt(point: Exclude<FaultPoint, "commit.after">, error: Error, filter?: FaultFilter): void;
  /** Calls `act` at the point, once. */
  callAt(point: FaultPoint, act: (subject: FaultSubject) => void, filter?: FaultFilter): void;
  /** Resolves with the subject when the point is hit. */
  reached(point: FaultPoint, filter?: FaultFilter): Promise<FaultSubject>;
  /** How often the point was hit. */
  count(point: FaultPoint): number;
}

interface Plan {
  readonly point: FaultPoint;
  readonly where: (subject: FaultSubject) => boolean;
  readonly act: (subject: FaultSubject) => void;
  left: number;
}

/** A new probe without plans. */
export function faultPoints(): FaultPoints {
  const plans = new Set<Plan>();
  const counts = new Map<FaultPoint, number>();
  const callAt = (point: FaultPoint, act: (subject: FaultSubject) => void, { nth = 1, where = () => true }: FaultFilter = {}): void => {
    if (!Number.isSafeInteger(nth) || nth < 1) throw new RangeError(`nth is ${nth}; expected a whole number from 1`);
    plans.add({ point, where, act, left: nth });
  };
  return {
    probe(point, subject) {
      counts.set(point, (counts.get(point) ?? 0) + 1);
      const due = [...plans].filter((plan) => plan.point === point && plan.where(subject) && --plan.left === 0);
      const errors: unknown[] = [];
      // Each plan sees each hit, also where another one throws at it.
      for (const plan of due) {
        plans.delete(plan);
        try {
          plan.act(subject);
        } catch (error) {
          errors.push(error);
        }
      }
      if (errors.length > 0) throw errors[0];
    },
    callAt,
    throwAt(point, error, filter) {
      callAt(
        point,
        () => {
          throw error;
        },
        filter,
      );
    },
    reached: (point, filter) => new Promise((resolve) => callAt(point, resolve, filter)),
    count: (point) => counts.get(point) ?? 0,
  };
}
