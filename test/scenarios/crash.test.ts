/**
 * Row 35: a process that is killed at a commit point of a handed-off turn. What it leaves is recovered, twice, and the turn is finished.
 *
 * `HOLDFAST_CRASHES=1000 vitest run test/scenarios/crash.test.ts` takes every point of both turns instead of a sample.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { canonical } from "../../src/actor/json.ts";
import { type Holdfast, openHoldfast } from "../../src/index.ts";
import { type Fact, temporary, World } from "../agent/world.ts";
import { backendOf, begin, executions, IDS, type Kind, takeOver, WORK_REPORT } from "./work.ts";

/** Commit points at which a process is killed, for each of the two turns. */
const SAMPLE = Number(process.env.HOLDFAST_CRASHES ?? 36);
const AT_ONCE = 2;
const CHILD = join(import.meta.dirname, "crash.child.ts");

/** Moments that no sample may miss. */
const MOMENTS = [
  "run.opened",
  "run.dispatched",
  "tool.called",
  "tool.settled",
  "handoff.requested",
  "handoff.held",
  "handoff.committed",
  "run.sealed",
  "handoff.claimed",
  "handoff.resumed",
  "run.ended",
];

interface Case {
  readonly kind: Kind;
  readonly directory: string;
  readonly report: string;
  readonly world: World;
}

function newCase(kind: Kind): Case {
  const place = temporary();
  const directory = join(place, "project");
  mkdirSync(directory);
  if (kind === "survey") writeProject(directory);
  const report = join(place, "report.md");
  return { kind, directory, report, world: new World({ assistant: backendOf(kind, directory, report, "3") }) };
}

function writeProject(directory: string): void {
  mkdirSync(join(directory, "src"));
  for (let index = 0; index < 10; index++)
    writeFileSync(join(directory, index % 2 ? "src" : ".", `file-${index}.ts`), `// TODO number ${index % 3}\n`.repeat((index % 3) + 1));
  writeFileSync(join(directory, "README.md"), "[there](src/file-1.ts) [not there](src/none.ts)\n");
}

async function die({ kind, directory, report, world }: Case, where: string): Promise<{ killed: boolean; output: string }> {
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
const RECOVERED: Readonly<Record<string, string>> = {
  preparing: "failed interrupted_before_dispatch",
  "running.stepping": "failed interrupted",
  boundary: "failed interrupted_at_boundary",
  paused: "sealed",
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

async function survives(one: Case, where: string): Promise<string> {
  const { world } = one;
  const { killed } = await die(one, where);
  const left = stateOf(world);
  await world.open();
  await settled(one);
  const recovered = world.dump();
  const what = `killed at ${where}, in ${JSON.stringify(left)}`;
  expect(world.holdfast.verify().faults, what).toEqual([]);
  for (const [runId, before] of [
    [IDS.runId, left.source],
    ["successor-run", left.successor],
  ] as const)
    if (before !== undefined && RECOVERED[before] !== undefined) expect(endOf(world, runId), what).toBe(RECOVERED[before]);
  if (left.handoff === "claimed") expect(world.state("handoff/handoff-1"), what).toBe("failed");
  if (world.state("handoff/handoff-1") === "sealed")
    expect(await world.holdfast.checkContinuation(IDS.runId, { purpose: "handoff" }), what).toMatchObject({ decision: "continue" });
  await world.holdfast.recover();
  await world.holdfast.recover();
  expect(world.dump(), what).toBe(recovered);
  await world.reopen();
  expect(world.dump(), what).toBe(recovered);

  const tip = await finish(world.holdfast, one);
  for (const run of world.actors("run"))
    expect(world.facts(run.address).filter((fact) => fact.type === "run.dispatched").length, what).toBeLessThanOrEqual(1);
  expect(world.holdfast.verify().faults, what).toEqual([]);
  expect(repeatedSettledCalls(world), what).toEqual([]);
  expect(world.count("run.sealed"), what).toBeLessThanOrEqual(1);
  const said = world.rows(`run/${tip}`).findLast((row) => row.facts.includes('"message.added"'));
  if (one.kind === "work") {
    expect(JSON.parse(said?.event ?? "{}").output?.text, what).toBe(WORK_REPORT);
    const unknown = world.count("tool.unknown");
    const ran = [...executions(one.directory).values()].reduce((sum, count) => sum + count, 0);
    expect(ran, what).toBeLessThanOrEqual(6 + unknown);
  }
  await world.close();
  return killed
    ? `${left.source ?? "nothing"}${left.handoff ? ` / ${left.handoff}` : ""}${left.successor ? ` / ${left.successor}` : ""}`
    : "not reached";
}

/** Evenly spread over all commits of the turn, before, inside and after in turn; and the moments that matter most. */
function points(hits: Record<string, number>): string[] {
  const all = Array.from({ length: hits["commit.before"] ?? 0 }, (_, index) =>
    ["before", "inside", "after"].map((point) => `commit.${point}:${index + 1}`),
  ).flat();
  const spread = all.filter((_, index) => Math.floor((index * SAMPLE) / all.length) !== Math.floor(((index - 1) * SAMPLE) / all.length));
  const moments = MOMENTS.map((fact, index) => `commit.${index % 2 ? "inside" : "after"}@${fact}`);
  return [...spread, ...(SAMPLE > 0 ? moments : [])];
}

async function sweep(kind: Kind, check: (one: Case) => void = () => {}): Promise<void> {
  const { output } = await die(newCase(kind), "never");
  const hits = JSON.parse(output) as Record<string, number>;
  const waiting = points(hits);
  const size = waiting.length;
  const outcomes = new Map<string, number>();
  const worker = async () => {
    for (let where = waiting.shift(); where !== undefined; where = waiting.shift()) {
      const one = newCase(kind);
      const outcome = await survives(one, where);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      check(one);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  console.log(`${kind}: ${size} processes killed, over a turn with ${3 * (hits["commit.before"] ?? 0)} commit points; what they left:`);
  for (const [outcome, count] of [...outcomes].sort()) console.log(`  ${String(count).padStart(3)}  ${outcome}`);
  for (const state of ["boundary", "paused", "sealed / sealed", "claimed"])
    expect(
      [...outcomes.keys()].some((key) => key.includes(state)),
      state,
    ).toBe(true);
}

describe("a process that is killed at a commit point of a handed-off turn", () => {
  it("leaves a turn that is recovered, the same twice, and finished with no settled call repeated", async () => {
    await sweep("work");
  }, 600_000);

  it("leaves a survey that ends with the same report, to the byte", async () => {
    const whole = newCase("survey");
    await die(whole, "never");
    const report = readFileSync(whole.report, "utf8");
    expect(report).toContain("file-1.ts");
    await sweep("survey", (one) => expect(readFileSync(one.report, "utf8")).toBe(report));
  }, 600_000);
});

describe("a root that a killed process left", () => {
  it("has no owner: the next one opens it at once", async () => {
    const one = newCase("work");
    await die(one, "commit.after@handoff.held");
    const holdfast = await openHoldfast({ root: one.world.root, backends: one.world.backends });
    await holdfast.close();
  });
});
