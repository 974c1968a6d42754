/** Scale: how much of everything is measured. */

export interface Scale {
  /** Turns of each contestant: one actor at a time, and many at once. */
  readonly sequentialTurns: number;
  readonly concurrentTurns: number;
  /** Steps of a turn in sequence, with FULL and with NORMAL. */
  readonly sequence: number;
  /** Events of each actor in a turn of 1,000 actors; of 64 actors 20 times as many. */
  readonly rounds: number;
  /** Actors that are one group. */
  readonly together: number;
  /** Transitions of a turn of the pure contestants. */
  readonly pure: number;
  /** Entries of the actors whose steps and openings are compared. */
  readonly lengths: readonly [short: number, middle: number, long: number];
  /** Turns of that comparison, each of `lengthSteps` steps per actor. */
  readonly lengthTurns: number;
  readonly lengthSteps: number;
  /** Steps over which bytes are counted. */
  readonly bytesSteps: number;
  readonly openTurns: number;
  /** Finished actors, and the two numbers of interrupted ones among them. */
  readonly finished: number;
  readonly interrupted: readonly [few: number, many: number];
  /** Turns with the few and with the many. */
  readonly recoveryTurns: readonly [few: number, many: number];
  readonly roundTrips: number;
  readonly timers: number;
  /** Steps of the traced processes: few, so that no checkpoint falls into them, and many. */
  readonly traced: readonly [few: number, many: number];
  readonly starts: number;
  /** Calls of a turn when the parts of a step are measured alone. */
  readonly parts: number;
}

export const WHOLE: Scale = {
  sequentialTurns: 15,
  concurrentTurns: 9,
  sequence: 300,
  rounds: 20,
  together: 1000,
  pure: 20_000,
  lengths: [10, 1000, 100_000],
  lengthTurns: 120,
  lengthSteps: 20,
  bytesSteps: 1000,
  openTurns: 15,
  finished: 100_000,
  interrupted: [1000, 10_000],
  recoveryTurns: [7, 3],
  roundTrips: 500,
  timers: 10_000,
  traced: [40, 1000],
  starts: 15,
  parts: 10_000,
};

/** Enough to see that it works; its figures mean little. */
export const QUICK: Scale = {
  sequentialTurns: 2,
  concurrentTurns: 2,
  sequence: 50,
  rounds: 2,
  together: 100,
  pure: 2000,
  lengths: [10, 100, 1000],
  lengthTurns: 3,
  lengthSteps: 20,
  bytesSteps: 100,
  openTurns: 2,
  finished: 1000,
  interrupted: [70, 200],
  recoveryTurns: [1, 1],
  roundTrips: 50,
  timers: 500,
  traced: [20, 150],
  starts: 2,
  parts: 1000,
};
