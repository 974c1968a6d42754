/** A cold start with the engine: the next step of a stored actor. Says when the step is durable. Arguments: root, number of the event. */

import { writeSync } from "node:fs";
import { eventAt } from "../machine/event.ts";
import type { stepOf } from "../machine/step-of.ts";

export async function start(machine: () => Promise<ReturnType<typeof stepOf>>): Promise<void> {
  const begun = performance.now();
  const { openActors } = await import("holdfast/actors");
  const imported = performance.now();
  const step = await machine();
  const defined = performance.now();
  const [root = "", index] = process.argv.slice(2);
  const engine = await openActors({ root, machines: [step] });
  const opened = performance.now();
  const answer = await engine.get(step, "actor-0")?.send(eventAt(Number(index)));
  const stepped = performance.now();
  const parts = { importMs: imported - begun, machineMs: defined - imported, openMs: opened - defined, stepMs: stepped - opened };
  writeSync(1, `${JSON.stringify({ kind: answer?.kind, ...parts })}\n`);
  await engine.close();
}
