/** Row 35: processes that are killed at commit points of a handed-off turn. */

import { sweep } from "../kill.ts";
import type { Row } from "./row.ts";

export const killRows: readonly Row[] = [
  {
    row: 35,
    repeats: true,
    decision: "crash at every commit point: killed processes",
    // What must hold of each is in `kill.ts`; over all runs the points are different ones.
    perform: async (attempt) => ({ recovered: true, ...(await sweep("work", attempt)) }),
    expected: { recovered: true },
  },
];
