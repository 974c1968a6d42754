/** Plays for tests of vitest: what they leave open ends with the test. */

import "../agent/world.ts";

export { type Act, HOLD, RESUME, SEAL } from "./matrix/act.ts";
export { Play } from "./matrix/play.ts";
