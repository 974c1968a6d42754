/** Plays a case on a database, says all that it sees, and is killed where it is told: `kill.child.ts FILE CASE POINT NTH`. */

import { readFileSync, writeSync } from "node:fs";
import { simulatedClock } from "../../../src/testing/index.ts";
import { sqliteGround } from "./grounds.ts";
import { Play } from "./play.ts";
import type { Case, Point } from "./spec.ts";

const [file = "", place = "", point, nth] = process.argv.slice(2);
const ground = sqliteGround(file);
const play = new Play(JSON.parse(readFileSync(place, "utf8")) as Case, {
  ground,
  clock: simulatedClock(),
  // Synchronous: what was said is said, whatever happens next.
  see: (seen) => writeSync(1, `${JSON.stringify(seen)}\n`),
  plan: (points) => points.callAt(point as Point, () => process.kill(process.pid, "SIGKILL"), { nth: Number(nth) }),
});
await play.run();
await play.end();
ground.close();
