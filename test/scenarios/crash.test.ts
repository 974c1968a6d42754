/** Row 35 on real files: a survey whose process is killed. The turn with tools is a row of the matrix. */

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { openHoldfast } from "../../src/index.ts";
import "../agent/world.ts";
import { die, newCase, sweep } from "./kill.ts";

it("a survey that is killed at a commit point ends with the same report, to the byte", async () => {
  const whole = newCase("survey");
  await die(whole, "never");
  const report = readFileSync(whole.report, "utf8");
  expect(report).toContain("file-1.ts");
  const { killed, points, left } = await sweep("survey", undefined, (one) => expect(readFileSync(one.report, "utf8")).toBe(report));
  console.log(`${killed} processes killed, over a turn with ${points} commit points; what they left: ${JSON.stringify(left)}`);
}, 600_000);

it("a root that a killed process left has no owner: the next one opens it at once", async () => {
  const one = newCase("work");
  await die(one, "commit.after@handoff.held");
  const holdfast = await openHoldfast({ root: one.world.root, backends: one.world.backends });
  await holdfast.close();
});
