/** The commands of the checkout: what they refuse before they do anything. */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { machines } from "../machines/index.ts";
import { mutantsOf } from "../tools/mutate/mutant.ts";

const handoff = machines.filter(({ id }) => id === "handoff");
const [mutant] = handoff.flatMap((machine) => mutantsOf(machine));

it.each([
  ["paths", ["--jsn"], "usage: npm run paths"],
  ["paths", ["handoff"], "usage: npm run paths"],
  ["mutate", ["--machine", "run", "--only", mutant?.id ?? ""], `there is no mutant ${mutant?.id} of the machine run`],
])("%s refuses %j with exit code 2", (tool, args, saying) => {
  const file = fileURLToPath(new URL(`../tools/${tool}/run.ts`, import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], { encoding: "utf8" });
  expect([status, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(saying);
});
