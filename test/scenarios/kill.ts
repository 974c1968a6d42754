/**
 * Processes that are killed at a commit point of a handed-off turn. What each leaves is recovered, twice, and the turn is finished.
 *
 * `HOLDFAST_CRASHES=1000` takes every point instead of a sample.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canonical } from "../../src/actor/json.ts";
import type { Holdfast } from "../../src/index.ts";
import { size } from "../../tools/test/size.ts";
import { backendOf, begin, executions, IDS, type Kind, takeOver, WORK_REPORT } from "./work.ts";
import { type Fact, temporary, World } from "./world.ts";

/** Commit points at which a process is killed, for each turn and each run of a sweep. */
const SAMPLE = size("CRASHES", 36);
const AT_ONCE = 2;
const CHILD = join(import.meta.dirname, "crash.child.ts");

/** Moments that no sample may miss: a commit with this fact, before it is durable and after. */
const MOMENTS = [
  "commit.after@run.opened",
  "commit.inside@run.dispatched",
  "commit.after@tool.called",
  "commit.inside@tool.settled",
  "commit.after@handoff.requested",
  "commit.inside@handoff.held",
  "commit.after@handoff.held",
  "commit.after@handoff.committed",
  "commit.inside@run.sealed",
  "commit.after@run.sealed",
  "commit.after@handoff.claimed",
  "commit.inside@handoff.resumed",
  "commit.after@run.ended",
];

/** A turn in a child process, and the world in which what it leaves is looked at. */
export interface Case {
  readonly kind: Kind;
  readonly place: string;
  readonly directory: string;
  readonly report: string;
  readonly world: World;
}

export function newCase(kind: Kind): Case {
  const place = temporary();
  const directory = join(place, "project");
  mkdirSync(directory);
  if (kind === "survey") writeProject(directory);
  const report = join(place, "report.md");
  return { kind, place, directory, report, world: new World({ assistant: backendOf(kind, directory, report, "3") }) };
}

function writeProject(directory: string): void {
  mkdirSync(join(directory, "src"));
  for (let index = 0; index < 10; index++)
    writeFileSync(join(directory, index % 2 ? "src" : ".", `file-${index}.ts`), `// TODO number ${index % 3}\n`.repeat((index % 3) + 1));
  writeFileSync(join(directory, "README.md"), "[there](src/file-1.ts) [not there](src/none.ts)\n");
}

/** Runs the child until it kills itself at `where`; `never`: to its end. */
export async function die({ kind, directory, report, world }: Case, where: string): Promise<{ killed: boolean; output: string }> {
  const child = spawn(process.execPath, [CHILD, kind, world.root, directory, report, where], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  const [code, signal] = await once(child, "close");
  if (signal !== "SIGKILL" && code !== 0) throw new Error(`the child ended with ${code ?? signal} at ${where}`);
  return { killed: signal === "SIGKILL", output };
}

const stateOf = (world: World) => {
  try {
    return {
      source: world.state("run/original-run"),
      successor: world.state("run/successor-run"),
      handoff: world.state("handoff/handoff-1"),
    };
  } catch (error) {
    // Killed before there was a root.
    if ((error as { code?: string }).code === "root_not_found") return { source: undefined, successor: undefined, handoff: undefined };
    throw error;
  }
};

/** What recovery makes of a state that a killed process left; states that are not named stay. */
const RECOVERED: Readonly<Record<"run" | "handoff", Readonly<Record<string, string>>>> = {
  run: {
    preparing: "failed interrupted_before_dispatch",
    "running.stepping": "failed interrupted",
    boundary: "failed interrupted_at_boundary",
    paused: "sealed",
  },
  handoff: { requested: "declined", boundary: "declined", paused: "sealed", claimed: "failed" },
};

function endOf(world: World, runId: string): string | undefined {
  const state = world.state(`run/${runId}`);
  const ended = world.facts(`run/${runId}`).find((fact) => fact.type === "run.ended");
  return ended?.kind === "failed" ? `${state} ${ended.error.code}` : state;
}

async function settled({ world }: Case): Promise<void> {
  // Recovery asks for what a paused run still needs; its seal comes right after.
  if (world.state("run/original-run") === "paused") await world.holdfast.run(IDS.runId).end();
}

/** From whatever the killed process left to the end of the turn. */
async function finish(holdfast: Holdfast, { world, directory }: Case): Promise<string> {
  await begin(holdfast, directory);
  const first = await holdfast.run(IDS.runId).end();
  if (first.kind === "sealed" && (await holdfast.checkContinuation(IDS.runId, { purpose: "handoff" })).decision === "continue")
    await takeOver(holdfast);
  for (;;) {
    const tip = world.context("session/session-1").lastRunId as string;
    const end = await holdfast.run(tip).end();
    if (end.kind === "completed") return tip;
    const check = await holdfast.checkContinuation(tip);
    if (check.decision === "park") throw new Error(`${tip}: ${check.reasons.map((reason) => reason.code)}`);
    for await (const _ of holdfast.resume(check.continuation));
  }
}

/** Calls by what they asked for: each may have been made once, and once more for each time that its outcome became unknown. */
function repeatedSettledCalls(world: World): string[] {
  const counts = new Map<string, { called: number; unknown: number; settled: number }>();
  for (const run of world.actors("run")) {
    const asked = new Map<string, string>();
    for (const row of world.rows(run.address))
      for (const fact of JSON.parse(row.facts) as Fact[]) {
        if (!fact.type.startsWith("tool.")) continue;
        const event = JSON.parse(row.event);
        if (fact.type === "tool.called") asked.set(fact.callId, canonical([event.name, event.args]));
        const key = asked.get(fact.callId) as string;
        const count = counts.get(key) ?? { called: 0, unknown: 0, settled: 0 };
        counts.set(key, count);
        count[fact.type.slice("tool.".length) as keyof typeof count]++;
      }
  }
  return [...counts].filter(([, { called, unknown, settled }]) => settled > 1 || called > settled + unknown).map(([key]) => key);
}

/**
 * Kills a process at a point, recovers what it left, twice, finishes the turn; says in which state it was left. Undefined: it came to its
 * end, for commits are grouped as it happens, and there may be fewer than were counted. A named moment comes in each turn.
 */
export async function survives(one: Case, where: string): Promise<string | undefined> {
  const { world } = one;
  const { killed } = await die(one, where);
  assert.ok(killed || !where.includes("@"), `no process came to ${where}`);
  const left = stateOf(world);
  await world.open();
  await settled(one);
  const recovered = world.dump();
  const what = `killed at ${where}, in ${JSON.stringify(left)}`;
  assert.deepEqual(world.holdfast.verify().faults, [], what);
  for (const [runId, before] of [
    [IDS.runId, left.source],
    ["successor-run", left.successor],
  ] as const)
    if (before !== undefined) assert.equal(endOf(world, runId), RECOVERED.run[before] ?? before, what);
  if (left.handoff !== undefined) assert.equal(world.state("handoff/handoff-1"), RECOVERED.handoff[left.handoff] ?? left.handoff, what);
  if (world.state("handoff/handoff-1") === "sealed")
    assert.equal((await world.holdfast.checkContinuation(IDS.runId, { purpose: "handoff" })).decision, "continue", what);
  await world.holdfast.recover();
  await world.holdfast.recover();
  assert.equal(world.dump(), recovered, what);
  await world.reopen();
  assert.equal(world.dump(), recovered, what);

  const tip = await finish(world.holdfast, one);
  for (const run of world.actors("run"))
    assert.ok(world.facts(run.address).filter((fact) => fact.type === "run.dispatched").length <= 1, what);
  assert.deepEqual(world.holdfast.verify().faults, [], what);
  assert.deepEqual(repeatedSettledCalls(world), [], what);
  assert.ok(world.count("run.sealed") <= 1, what);
  const said = world.rows(`run/${tip}`).findLast((row) => row.facts.includes('"message.added"'));
  if (one.kind === "work") {
    assert.equal(JSON.parse(said?.event ?? "{}").output?.text, WORK_REPORT, what);
    const unknown = world.count("tool.unknown");
    const ran = [...executions(one.directory).values()].reduce((sum, count) => sum + count, 0);
    assert.ok(ran <= 6 + unknown, what);
  }
  await world.close();
  if (!killed) return undefined;
  return `${left.source ?? "nothing"}${left.handoff ? ` / ${left.handoff}` : ""}${left.successor ? ` / ${left.successor}` : ""}`;
}

/**
 * Evenly spread over all commits of the turn, before, inside and after in turn, others in each run, and together all of them where
 * there are runs enough; in the first run also the moments that matter most.
 */
function points(hits: Record<string, number>, { index, of }: { readonly index: number; readonly of: number }): string[] {
  const all = Array.from({ length: hits["commit.before"] ?? 0 }, (_, commit) =>
    ["before", "inside", "after"].map((point) => `commit.${point}:${commit + 1}`),
  ).flat();
  // Where the runs are enough for all points, each is taken once; else as many as a sample has, before, inside and after in turn.
  const chosen =
    of * SAMPLE >= all.length
      ? all.filter((_, place) => place % of === index)
      : Array.from({ length: SAMPLE }, (_, place) => all[Math.floor(((place * of + index) * all.length) / (SAMPLE * of))] as string);
  return [...chosen, ...(index === 0 ? MOMENTS : [])];
}

export interface Sweep {
  /** Processes that were killed. */
  readonly killed: number;
  /** Commit points that the whole turn has. */
  readonly points: number;
  /** How often processes left each state. */
  readonly left: Readonly<Record<string, number>>;
}

/** Kills processes all over a turn. Throws where one leaves what cannot be recovered, or where a state was never left. */
export async function sweep(
  kind: Kind,
  attempt: { readonly index: number; readonly of: number } = { index: 0, of: 1 },
  check: (one: Case) => void = () => {},
): Promise<Sweep> {
  const whole = newCase(kind);
  const { output } = await die(whole, "never");
  discard(whole);
  const hits = JSON.parse(output) as Record<string, number>;
  const waiting = points(hits, attempt);
  let killed = 0;
  const left = new Map<string, number>();
  const worker = async () => {
    for (let where = waiting.shift(); where !== undefined; where = waiting.shift()) {
      const one = newCase(kind);
      const outcome = await survives(one, where);
      if (outcome !== undefined) {
        killed++;
        left.set(outcome, (left.get(outcome) ?? 0) + 1);
      }
      check(one);
      discard(one);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  // The moments leave all of them, and the first run takes the moments.
  if (attempt.index === 0)
    for (const state of ["boundary", "paused", "sealed / sealed", "claimed"])
      assert.ok(
        [...left.keys()].some((key) => key.includes(state)),
        `no process was killed in ${state}`,
      );
  return { killed, points: 3 * (hits["commit.before"] ?? 0), left: Object.fromEntries([...left].sort()) };
}

function discard({ place, world }: Case): void {
  rmSync(place, { recursive: true, force: true });
  rmSync(world.root, { recursive: true, force: true });
}
