/**
 * A process that works through a handed-off turn, as its first owner and then as the next one, and kills itself at a commit point.
 *
 * Arguments: kind, root, directory, report, and where to die: `commit.inside:7` (the seventh time), `commit.after@run.sealed` (with that fact),
 * or `never`. Ends by itself only where the point was not reached; then it prints how often each point was.
 */

import type { Probe } from "../../src/actor/commit.ts";
import { openHoldfast } from "../../src/index.ts";
import { backendOf, begin, handOff, type Kind, takeOver } from "./work.ts";

const [kind, root, directory, report, where] = process.argv.slice(2) as [Kind, string, string, string, string];
const [, point, , hit, fact] = /^([a-z.]+)((?::(\d+))|(?:@([a-z.]+)))?$/.exec(where) ?? [];

const hits: Record<string, number> = {};

const probe: Probe = (at, { entries = [] }) => {
  hits[at] = (hits[at] ?? 0) + 1;
  if (at !== point) return;
  if (hit !== undefined ? hits[at] === Number(hit) : entries.some((entry) => entry.facts.includes(`"${fact}"`)))
    process.kill(process.pid, "SIGKILL");
};

const open = (revision: string) => openHoldfast({ root, backends: { assistant: backendOf(kind, directory, report, revision) }, probe });

const first = await open("1");
await begin(first, directory);
await handOff(first);
await first.close();
const second = await open("2");
await takeOver(second);
await second.close();
process.stdout.write(`${JSON.stringify(hits)}\n`);
