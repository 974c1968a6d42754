/** Fault points: what a test makes happen at the engine's named moments. Pass `probe` to `openActors` or `openEngine`. */

import type { FaultPoint, Probe } from "../actor/commit.ts";
import { checkFunction, checkOptions, checkWhole, notA } from "./option-check.ts";

/** What is at hand at a fault point: the entries of a commit, or the row of an effect. */
export type FaultSubject = Parameters<Probe>[1];

/** Where and when a plan applies. */
export interface FaultFilter {
  /** The nth matching hit, counted from the moment of planning. Default 1. */
  readonly nth?: number;
  /** Only hits that fit count. */
  readonly where?: (subject: FaultSubject) => boolean;
}

/**
 * A probe with a plan, and a record of what came by. A point or a filter that there is not is refused with a TypeError, an `nth` below 1
 * with a RangeError.
 */
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

/** All points, for what comes without types; where nothing can fail any more comes last. */
const POINTS = ["commit.before", "commit.inside", "effect.before", "effect.after", "commit.after"] as const satisfies readonly FaultPoint[];

interface Plan {
  readonly point: FaultPoint;
  readonly where: (subject: FaultSubject) => boolean;
  readonly act: (subject: FaultSubject) => void;
  left: number;
}

/** Throws a TypeError for what is no point: a plan for it would never strike, and a test that waits for that proves nothing. */
function checkPoint(point: unknown, points: readonly FaultPoint[] = POINTS): void {
  if (!points.includes(point as FaultPoint)) throw notA("point", point, `one of ${points.join(", ")}`);
}

/** A new probe without plans. */
export function faultPoints(): FaultPoints {
  const plans = new Set<Plan>();
  const counts = new Map<FaultPoint, number>();
  const callAt = (point: FaultPoint, act: (subject: FaultSubject) => void, filter: FaultFilter = {}): void => {
    checkPoint(point);
    if (typeof act !== "function") throw notA("act", act, "a function");
    checkOptions("a fault's filter", filter, ["nth", "where"]);
    const { nth = 1, where = () => true } = filter;
    checkWhole("nth", nth, 1);
    checkFunction("where", where);
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
      checkPoint(point, POINTS.slice(0, -1));
      callAt(
        point,
        () => {
          throw error;
        },
        filter,
      );
    },
    reached: (point, filter) => new Promise((resolve) => callAt(point, resolve, filter)),
    count(point) {
      checkPoint(point);
      return counts.get(point) ?? 0;
    },
  };
}
