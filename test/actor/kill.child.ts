/** Does the work of `kill.ts` on a root, and dies where it is told: `kill.child.ts ROOT LOG [POINT NTH]`. */

import { writeSync } from "node:fs";
import type { FaultPoint } from "../../src/actor/commit.ts";
import { openActors } from "../../src/actors.ts";
import { faultPoints, killAt } from "../../src/testing/index.ts";
import { handlersThatLog, machine, work } from "./kill.ts";

const [root = "", log = "", point, nth] = process.argv.slice(2);
const points = faultPoints();
const probe = point === undefined ? points.probe : killAt(point as FaultPoint, Number(nth));
// Synchronous: what was said is said, whatever happens next.
const say = (line: string) => writeSync(1, `${line}\n`);

await using actors = await openActors({ root, machines: [machine], effects: handlersThatLog(log), probe, synchronous: "normal" });
await work(actors, (ack) => say(JSON.stringify(ack)));
for (const name of ["commit.before", "commit.inside", "commit.after", "effect.before", "effect.after"] as const)
  say(JSON.stringify({ point: name, count: points.count(name) }));
