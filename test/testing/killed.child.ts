/** Hits a fault point five times; `killed.child.ts NTH` dies there. */

import { killAt } from "../../src/testing/index.ts";

const probe = killAt("commit.inside", Number(process.argv[2]));
for (let hit = 1; hit <= 5; hit++) {
  probe("commit.before", {});
  probe("commit.inside", {});
  process.stdout.write(`${hit}\n`);
}
process.stdout.write("and a line without an end");
process.stderr.write("done");
process.exitCode = 3;
