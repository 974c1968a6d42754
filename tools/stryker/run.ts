/**
 * `npm run mutate:actor`: Stryker over the engine, by hand. Installs Stryker beside this file first. All of `src/actor/` takes a night;
 * `-- --mutate src/actor/transition.ts` tries one file, and `--testFiles test/actor/transition.test.ts,…` fewer tests.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT, run } from "../command.ts";

const FOLDER = join(ROOT, "tools", "stryker");
const STRYKER = join(FOLDER, "node_modules", "@stryker-mutator", "core", "bin", "stryker.js");

/** Stryker stops by itself what takes too long. */
const NIGHT_MS = 24 * 3_600_000;

// Its runner asks for vitest as a peer, and finds ours; npm would bring another one.
const isThere = existsSync(STRYKER) || run("npm", ["ci", "--legacy-peer-deps"], { cwd: FOLDER, show: true }).ok;
const config = join("tools", "stryker", "stryker.config.json");
if (!isThere || !run("node", [STRYKER, "run", config, ...process.argv.slice(2)], { show: true, timeoutMs: NIGHT_MS }).ok)
  process.exitCode = 1;
