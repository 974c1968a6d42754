/** Rows, and parts of rows, that nothing executes yet: `npm run matrix` counts them as not passed. */

export interface Missing {
  readonly row: number;
  readonly decision: string;
}

/** To add one: its data in a row file, what it does in `act.ts`, for a decision its surroundings; then take it out here. */
export const MISSING: readonly Missing[] = [
  { row: 15, decision: "inherited_denial" },
  { row: 16, decision: "denial_lookup_failure" },
  { row: 30, decision: "lineage_limit" },
  { row: 33, decision: "workspace_changed, tool_set_changed, background_pending" },
  { row: 34, decision: "configuration_changed" },
  { row: 37, decision: "damaged_source: the next recovery quarantines the run" },
  { row: 39, decision: "answered before the resume; prepared again after a restart" },
];

export const ROWS_IN_ALL = 40;
