/**
 * A process that drives a path of the protocol and kills itself at a commit: `protocol.child.ts FILE PATH PHASE NTH`, where the path is
 * a file with a list of happenings. Its last line says on which database it worked then. Ends by itself only where it does not come to it.
 */

import { readFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { Decision } from "../decision.ts";
import { BEGINNING, type Happening, happen } from "../model.ts";
import { Drive } from "./drive.ts";
import type { Phase } from "./quick-world.ts";

const [file = "", place = "", phase, nth] = process.argv.slice(2);
// What it leaves is removed with what it was given.
process.env.TMPDIR = dirname(file);
const happenings = JSON.parse(readFileSync(place, "utf8")) as readonly Happening[];
let model = BEGINNING;
const steps = happenings.map((happening) => {
  model = happen(model, happening);
  return { happening, model };
});
const drive = new Drive(model.decision as Decision);
drive.world.use(file);
let left = Number(nth);
drive.world.onCommit = (at: Phase) => {
  if (at !== phase || --left > 0) return;
  writeSync(1, `${drive.world.databaseFile}\n`);
  process.kill(process.pid, "SIGKILL");
};
await drive.open();
for (const step of steps) await drive.happen(step.happening, step.model);
await drive.end();
