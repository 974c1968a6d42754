/** Worlds for tests of vitest: what a test leaves open ends with it. */

import { afterEach } from "vitest";
import { endWorlds } from "../scenarios/world.ts";

export { Gate } from "../scenarios/gate.ts";
export { codeOf, collect, type Fact, stored, temporary, World } from "../scenarios/world.ts";

afterEach(endWorlds);
