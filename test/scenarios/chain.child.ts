/**
 * A process that owns a turn for some of its members, one after the other, and kills itself at a commit.
 *
 * Arguments: root, directory, how often the turn is handed on, its first and its last member here, and where to die: `run.sealed#2` (after
 * the second commit with that fact), or `never`.
 */

import type { Probe } from "../../src/actor/commit.ts";
import { own } from "./chain.ts";

const [root, directory, handoffs, first, last, where] = process.argv.slice(2) as [string, string, string, string, string, string];
const [fact, nth] = where.split("#");
let seen = 0;

const probe: Probe = (point, { entries = [] }) => {
  if (point !== "commit.after" || !entries.some((entry) => entry.facts.includes(`"${fact}"`))) return;
  if (++seen === Number(nth)) process.kill(process.pid, "SIGKILL");
};

for (let member = Number(first); member <= Number(last); member++)
  await own({ root, directory, handoffs: Number(handoffs) }, member, probe);
