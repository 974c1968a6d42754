/** Sets a timer, lets it come due, and dies at a named moment of its commit: `timer.child.ts ROOT POINT`. */

import type { FaultPoint } from "../../src/actor/commit.ts";
import { openActors } from "../../src/actors.ts";
import { killAt } from "../../src/testing/index.ts";
import { settableClock, timed, WAIT_MS } from "./timed.ts";

const [root = "", point] = process.argv.slice(2);
const probe = killAt(point as FaultPoint, 1, ({ entries }) => entries?.some(({ cause }) => cause.includes('"timer"')) ?? false);
const clock = settableClock();
const actors = await openActors({ root, machines: [timed], clock, probe });
const actor = await actors.create(timed, "a", { input: {} });
await actor.send({ type: "absolute" } as never);
clock.advance(WAIT_MS);
await actor.waitFor((snapshot) => snapshot.matches("idle"));
