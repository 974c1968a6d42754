/**
 * Takes steps in a new root, for whoever traces or profiles the process.
 * Arguments: root, actors, steps of each, `full` or `normal`.
 */

import { createSteps, openSteps, stepTogether } from "../contestant/engine.ts";

const [root = "", actors, steps, synchronous] = process.argv.slice(2);
const engine = await openSteps(root, synchronous === "normal" ? "normal" : "full");
const refs = await createSteps(engine, Number(actors));
const begun = performance.now();
await stepTogether(refs, 0, Number(steps));
const us = ((performance.now() - begun) * 1000) / (Number(actors) * Number(steps));
await engine.close();
console.log(`${us.toFixed(1)} µs per step`);
