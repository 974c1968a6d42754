/** A cold start with the engine, of the machine whose schemas are zod's. */

import { start } from "./cold-engine.ts";

await start(async () => (await import("../machine/step.ts")).step);
