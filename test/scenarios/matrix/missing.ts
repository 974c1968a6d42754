/** Rows, and parts of rows, that nothing executes yet: `npm run matrix` counts them as not passed. */

export interface Missing {
  readonly row: number;
  readonly decision: string;
}

/** To add one: its data in a row file, what it does in `act.ts`, for a decision its surroundings; then take it out here. */
export const MISSING: readonly Missing[] = [];

export const ROWS_IN_ALL = 40;
