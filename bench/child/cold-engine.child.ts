/** A cold start with the engine, of the machine whose schemas need no library. */

import { start } from "./cold-engine.ts";

await start(async () => (await import("../machine/plain-step.ts")).plainStep);
