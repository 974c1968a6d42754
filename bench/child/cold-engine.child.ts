/** A cold start with the engine: the next step of a stored actor. Says when the step is durable. Arguments: root, number of the event. */

import { writeSync } from "node:fs";

const begun = performance.now();
const { openActors } = await import("../../src/actors.ts");
const imported = performance.now();
const { step } = await import("../machine/step.ts");
const { eventAt } = await import("../machine/event.ts");
const [root = "", index] = process.argv.slice(2);
const engine = await openActors({ root, machines: [step] });
const opened = performance.now();
const answer = await engine.get(step, "actor-0")?.send(eventAt(Number(index)));
const parts = { importMs: imported - begun, openMs: opened - imported, stepMs: performance.now() - opened };
writeSync(1, `${JSON.stringify({ kind: answer?.kind, ...parts })}\n`);
await engine.close();
