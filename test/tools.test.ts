/** The commands of the checkout: what they refuse before they do anything. */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { machines } from "../machines/index.ts";
import { mutantsOf } from "../tools/mutate/mutant.ts";

const handoff = machines.filter(({ id }) => id === "handoff");
const [mutant] = handoff.flatMap((machine) => mutantsOf(machine));

/** How a program ended. None may write: the pages of the checkout are held against what they should be elsewhere. */
function ended(tool: string, args: readonly string[]) {
  const file = fileURLToPath(new URL(`../${tool}/run.ts`, import.meta.url));
  return spawnSync(process.execPath, [file, ...args], { encoding: "utf8" });
}

it.each(["tools/paths", "tools/simulate", "tools/matrix", "tools/mutate", "bench"])(
  "%s says how it is called, and does nothing",
  (tool) => {
    const { status, stdout, stderr } = ended(tool, ["--help"]);
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^usage: npm run .*--json.*\n$/);
  },
);

it.each([
  ["paths", ["--jsn"], "usage: npm run paths"],
  ["paths", ["handoff"], "usage: npm run paths"],
  ["mutate", ["--machine", "run", "--only", mutant?.id ?? ""], `there is no mutant ${mutant?.id} of the machine run`],
])("%s refuses %j with exit code 2", (tool, args, saying) => {
  const { status, stdout, stderr } = ended(`tools/${tool}`, args);
  expect([status, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(saying);
});
