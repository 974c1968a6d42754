/** `npm run docs`: writes what is generated. With `--check` it only says what differs, and exits 1 where something does. */

import { fileURLToPath } from "node:url";
import { plural } from "../../src/agent/count.ts";
import { apply, changes } from "./generate.ts";
import { loadSource } from "./source.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const check = process.argv.includes("--check");
const found = changes(root, loadSource());
if (!check) apply(root, found);
for (const { path, content } of found)
  console.log(`${content === null ? "removed" : "written"}${check ? " by `npm run docs`" : ""}: ${path}`);
console.log(found.length === 0 ? "docs: up to date" : `docs: ${plural(found.length, "file")} ${check ? "out of date" : "changed"}`);
if (check && found.length > 0) process.exitCode = 1;
