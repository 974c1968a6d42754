/** `npm run build`: the package's JavaScript and its declarations, into `dist`. Exit: 0 done, 1 the source does not compile. */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT, run } from "../command.ts";
import { bundlePackage } from "./bundle.ts";

const folder = join(ROOT, "dist");
rmSync(folder, { recursive: true, force: true });
const { ok } = run("tsc", ["-p", "tsconfig.build.json"], { show: true });
if (ok) await bundlePackage(folder);
else process.exitCode = 1;
