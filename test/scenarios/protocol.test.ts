/**
 * The protocol of a turn: all that a person, a backend and processes can do to it, in every order, from the machines; driven on the real
 * runtime, with a crash at each commit, a killed process at some, and a store that fails at each write.
 *
 * What is tried besides the paths that cover every change: `HOLDFAST_PATHS=10000 npm test -- test/scenarios/protocol` tries all, and
 * lets the store fail at each way in which something changes; `HOLDFAST_KILLS=500` kills more processes.
 */

import { afterAll, describe, expect, it } from "vitest";
import "../agent/world.ts";
import { size } from "../../tools/test/size.ts";
import { type Decision, surroundingsOf } from "./decision.ts";
import { isHeard, type PathStep, statesOf } from "./model.ts";
import { drivePath, failStore, kill } from "./protocol/crash.ts";
import { explore, type Path, stranded, textOf } from "./protocol/graph.ts";
import { brokenIn } from "./protocol/promise.ts";
import { askOf, choose, evenly, isWritten, whole } from "./protocol/sample.ts";

const MORE = size("PATHS", 32);
const CRASHES = 6 * MORE;
const MORE_FAILING = Math.ceil(MORE / 4);
const KILLS = size("KILLS", 12);
const PHASES = ["before", "inside", "after"] as const;

const protocol = explore();
const { states, edges, ends } = protocol;
const paths = whole(edges);
const chosen = choose(paths, MORE);
/** Steps in which processes can die: each has some two commits, and each of these three moments. */
const mortal = chosen.flatMap(({ path, from }) =>
  path.slice(from).filter(({ happening }) => !["setting", "restart"].includes(happening.type)),
);
const count = { paths: 0, steps: 0, crashes: 0, failed: 0, killed: 0 };

afterAll(() => {
  console.log(`the protocol: ${states.length} states, ${edges.length} edges, ${paths.length} paths, ${ends.size} ends`);
  console.log(
    `driven: ${count.paths} paths with ${count.steps} steps of their own; ${count.crashes} crashes, ${count.killed} processes killed, ${count.failed} failed transactions`,
  );
});

/** How a turn can end: the original run, its successor, the handoff. Written by hand. */
const ENDS = [
  "completed - -",
  "failed - -",
  "cancelled - -",
  "completed - declined",
  "failed - declined",
  "cancelled - declined",
  "completed - cancelled",
  "failed - cancelled",
  "cancelled - cancelled",
  "cancelled - failed",
  "sealed completed resumed",
  "sealed failed resumed",
  "sealed cancelled resumed",
  "sealed failed failed",
  "sealed cancelled failed",
];

describe("the protocol of a turn", () => {
  it("ends in each way in which it may, and in no other", () => {
    const found = [...ends.values()].map((path) => {
      const at = statesOf((path.at(-1) as PathStep).model);
      return [at["run/original-run"], at["run/successor-run"] ?? "-", at["handoff/handoff-1"] ?? "-"].join(" ");
    });
    expect([...new Set(found)].sort()).toEqual([...ENDS].sort());
  });

  it("keeps every promise in every state that its machines can reach", () => {
    const broken = edges.flatMap((path) => {
      const { model } = path.at(-1) as PathStep;
      return [...model.trail, model].flatMap(brokenIn).map((what) => `${textOf(path)}: ${what}`);
    });
    expect(broken).toEqual([]);
  });

  it("can come to its end from every state, without the end of a process", () => {
    expect(stranded(protocol).map(textOf)).toEqual([]);
  });

  it("is explored with everything that may happen", () => {
    const types = new Set(edges.map((path) => path.at(-1)?.happening.type));
    expect([...types].sort()).toEqual(
      [
        "setting",
        "start",
        "request",
        "commit",
        "cancel",
        "abort",
        "stop",
        "recover",
        "resume",
        "restart",
        "step.ends",
        "prepare.ends",
        "flush.ends",
      ].sort(),
    );
  });
});

describe("the runtime does as the protocol says, also after a crash", () => {
  it.each(chosen.map(({ path, from }, index) => ({ text: textOf(path), path, from, index })))("$text", async ({ path, from, index }) => {
    // By its own count, so that a path alone crashes where it does among all.
    count.crashes += await drivePath(path, { from, isCrash: evenly(CRASHES, 6 * mortal.length, index) });
    count.paths++;
    count.steps += path.length - from;
  });
});

describe("a store that fails leaves nothing half done", () => {
  // What opens a root is tried by the restarts; here it is what is asked of an open one, and what its handlers come to.
  const acted = edges.filter((path) => !["setting", "restart"].includes(path.at(-1)?.happening.type as string));
  const covering = choose(acted, 0).map(({ path }) => path);
  const failing = choose(covering, MORE_FAILING, askOf);
  it.each(failing.map(({ path }) => ({ text: textOf(path), path })))("$text", async ({ path }) => {
    const failed = await failStore(path);
    expect(failed > 0).toBe(isAsked(path));
    count.failed += failed;
  });
});

/** True where the last step asks something of the store, and be it only to be told no. */
function isAsked(path: Path): boolean {
  const { happening, model } = path.at(-1) as PathStep;
  if (happening.type === "abort") return isWritten(path) || isHeard(model);
  // What the evidence is missing for is not even tried.
  return happening.type !== "resume" || !surroundingsOf(model.decision as Decision).denialsFail;
}

describe("a process that is killed leaves what the next one goes on with", () => {
  const killings = Array.from({ length: KILLS }, (_, index) => {
    const { path } = chosen[Math.floor((index * chosen.length) / KILLS)] as (typeof chosen)[number];
    return { text: textOf(path), path, phase: PHASES[index % 3] as (typeof PHASES)[number], nth: 1 + ((index * 5) % (2 * path.length)) };
  });
  it.each(killings)("$phase commit $nth: $text", async ({ path, phase, nth }) => {
    // A path that has fewer commits is killed at an earlier one.
    for (let at = nth; at > 0; at--)
      if (await kill(path, phase, at)) {
        count.killed++;
        return;
      }
    expect.fail("the process came to no commit");
  });
});
