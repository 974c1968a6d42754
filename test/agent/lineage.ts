/** A turn that was handed off and whose successor failed, with a plain continuation after it; and what a forger makes of its rows. */

import type { Json } from "../../src/index.ts";
import { type Act, Play, RESUME, SEAL } from "../scenarios/play.ts";
import { collect, type World } from "./world.ts";

/** Runs `original-run` and `successor-run` of one turn, and `third-run` of the next. */
export async function continued(): Promise<World> {
  const fails = () => {
    throw new Error("the model is out of reach");
  };
  const { world } = await Play.of({
    acts: [...SEAL, "check", "begin to resume", "end of the successor"] satisfies readonly Act[],
    steps: { "successor-run#1": { report: fails } },
  });
  const check = await world.holdfast.checkContinuation("successor-run");
  if (check.decision === "park") throw new Error(JSON.stringify(check.reasons));
  await collect(world.holdfast.resume({ ...check.continuation, runId: "third-run", turnId: "next-turn" }));
  return world;
}

/** A turn that was handed off twice: `original-run`, `successor-run`, `third-run`. */
export async function handedOffTwice(): Promise<World> {
  const { world } = await Play.of({
    gates: ["successor-run#1"],
    acts: [
      ...SEAL,
      "check",
      "begin to resume",
      "reach successor-run#1",
      "request on the successor",
      "open successor-run#1",
      "ready",
      "commit",
      "sealed",
      "resume the third",
    ],
  });
  return world;
}

/** One turn, sealed and not continued. */
export async function sealedTurn(): Promise<World> {
  return (await Play.of({ acts: [...SEAL] })).world;
}

/** One turn that was handed off once and completed. */
export async function handedOffOnce(): Promise<World> {
  return (await Play.of({ acts: [...SEAL, ...RESUME] })).world;
}

/** Changes what a run's snapshot says, at a path below its context. */
export function claim(world: World, runId: string, path: string, value: Json): void {
  const sql = "UPDATE actors SET snapshot = json_set(snapshot, ?, json(?)) WHERE address = ?";
  if (world.tamper(sql, `$.context.${path}`, JSON.stringify(value), `run/${runId}`) !== 1) throw new Error(`no run ${runId}`);
}

/** Changes the last facts of a run, and nothing that binds them. */
export function state(world: World, runId: string, facts: Json): void {
  const sql = "UPDATE journal SET facts = ? WHERE actor = ? AND seq = (SELECT seq FROM actors WHERE address = ?)";
  if (world.tamper(sql, JSON.stringify(facts), `run/${runId}`, `run/${runId}`) !== 1) throw new Error(`no run ${runId}`);
}

/** Adds `count` runs behind `runId`, each as if it had continued the one before it plainly; gives the last one's id. */
export function lengthen(world: World, runId: string, count: number): string {
  let last = runId;
  for (let number = 1; number <= count; number++) {
    const row = world.reader.actor(`run/${last}`);
    if (!row) throw new Error(`no run ${last}`);
    const next = `${runId}-${number}`;
    copyRun(world, last, next);
    const head = { runId: last, seq: row.seq, hash: row.hash };
    claim(world, next, "source", { kind: "plain", runId: last, head, denied: false });
    claim(world, next, "turnId", `turn of ${next}`);
    claim(world, next, "rootRunId", next);
    last = next;
  }
  return last;
}

/** Gives a sealed turn `count` runs, each as if the one before it had been sealed for it; the last one completed. Gives their ids. */
export function lengthenTurn(world: World, count: number): string[] {
  const seal = world.facts("run/original-run").at(-1) as { readonly [key: string]: Json };
  const runs = ["original-run", "successor-run", ...Array.from({ length: count - 2 }, (_, index) => `run-${index + 3}`)];
  for (const [index, run] of runs.entries()) {
    const before = runs[index - 1];
    const row = before && world.reader.actor(`run/${before}`);
    if (row) {
      copyRun(world, "original-run", run);
      const head = { runId: before, seq: row.seq, hash: row.hash };
      claim(world, run, "source", { kind: "handoff", handoffId: "handoff-1", claimId: "claim-1", runId: before, head, denied: false });
      world.tamper("INSERT INTO identities (name, actor) VALUES (?, ?)", `boundary/${before}`, `run/${run}`);
    }
    const next = runs[index + 1];
    state(world, run, [next === undefined ? COMPLETED : { ...seal, successorRunId: next }]);
  }
  return runs;
}

export const COMPLETED = { type: "run.ended", kind: "completed", stopReason: "end_turn" } as const;

/** A copy of a run's row and journal under another id; no hash is computed again. */
export function copyRun(world: World, from: string, to: string): void {
  world.tamper(
    `INSERT INTO actors (address, machine, id, version, definition, status, state, seq, hash, position, epoch, created_ms, updated_ms, quarantine,
       snapshot)
     SELECT 'run/' || ?, machine, ?, version, definition, status, state, seq, hash, 0, epoch, created_ms, updated_ms, quarantine,
       json_set(snapshot, '$.context.runId', ?) FROM actors WHERE address = ?`,
    ...[to, to, to, `run/${from}`],
  );
  world.tamper(
    `INSERT INTO journal (actor, seq, at_ms, cause, event, facts, actions, version, hash, before)
     SELECT 'run/' || ?, seq, at_ms, cause, event, facts, actions, version, hash, 0 FROM journal WHERE actor = ? ORDER BY seq`,
    ...[to, `run/${from}`],
  );
}
