/** The oracle can fail: over a store that breaks one invariant it reports that one, and over the same store unbroken, none. */

import { expect, it } from "vitest";
import { memoryGround, sqliteGround } from "./grounds.ts";
import { BROKEN } from "./sabotage.ts";
import { nothingYet, trial } from "./trial.ts";

it.each(BROKEN)("a store that $how breaks $id", async ({ id, sabotage, given }) => {
  for (const ground of [memoryGround, sqliteGround]) {
    const found = await trial(given, ground(), nothingYet(), sabotage());
    expect([...new Set(found.map((breach) => breach.id))], JSON.stringify(found)).toEqual([id]);
    expect(await trial(given, ground())).toEqual([]);
  }
});
