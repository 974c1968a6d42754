/** Turns that are handed on more than once: over thirty processes, and with a process killed at each moment of two handoffs. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Holdfast } from "../../src/index.ts";
import { runChild } from "../../src/testing/index.ts";
import { temporary, World } from "../agent/world.ts";
import { loadOf, reportOf } from "./chain.ts";
import { executions, IDS, workBackend } from "./work.ts";

const CHILD = join(import.meta.dirname, "chain.child.ts");

function newPlace(handoffs: number) {
  const directory = join(temporary(), "project");
  mkdirSync(directory);
  const world = new World({ assistant: workBackend(directory, "last", () => {}, loadOf(handoffs)) });
  return { world, root: world.root, directory, handoffs };
}

type Place = ReturnType<typeof newPlace>;

const child = ({ root, directory, handoffs }: Place, first: number, last: number, where: string) =>
  runChild(CHILD, [root, directory, handoffs, first, last, where].map(String));

/** What the turn said last. */
function said({ world }: Place): string {
  const tip = world.context("session/session-1").lastRunId as string;
  const last = world.rows(`run/${tip}`).findLast((row) => row.facts.includes('"message.added"'));
  return JSON.parse(last?.event ?? "{}").output?.text;
}

it("a turn that is handed on 30 times over 31 processes ends with the report of one that never is", async () => {
  const [chain, alone] = [newPlace(30), newPlace(30)];
  for (let member = 0; member <= 30; member++) expect((await child(chain, member, member, "never")).code, `member ${member}`).toBe(0);
  await alone.world.open();
  const session = await alone.world.holdfast.createSession({ backend: "assistant", id: "session-1", cwd: alone.directory });
  await (await session.send("Work on all of them", { ...IDS })).end();
  await chain.world.open();
  expect(said(chain)).toBe(reportOf(30));
  expect(said(chain)).toBe(said(alone));
  expect([...executions(chain.directory).values()]).toEqual(Array.from({ length: 31 }, () => 1));
  expect(chain.world.count("run.dispatched")).toBe(31);
  const turn = chain.world.holdfast.readTurn(IDS.runId);
  expect([turn.members.length, turn.rootRunId, turn.tipRunId, turn.outcome?.kind]).toEqual([31, IDS.runId, "member-30", "completed"]);
  expect(chain.world.holdfast.verify().faults).toEqual([]);
}, 300_000);

/** From whatever a killed process left to the end of the work. */
async function finish(holdfast: Holdfast, world: World): Promise<void> {
  for (;;) {
    const { turn, lastRunId } = world.context("session/session-1");
    const tip = (turn?.runId ?? lastRunId) as string;
    const end = await holdfast.run(tip).end();
    if (end.kind === "completed") return;
    const check = await holdfast.checkContinuation(tip, end.kind === "sealed" ? { purpose: "handoff" } : {});
    if (check.decision === "park") throw new Error(`${tip}: ${check.reasons.map(({ code }) => code)}`);
    for await (const _ of holdfast.resume(check.continuation));
  }
}

/** After the seal, after claim and opening (one commit), after the preparation, after the dispatch, after the first output, at the end. */
const MOMENTS = [
  ...["run.sealed#1", "handoff.claimed#1", "composition.recorded#2", "handoff.resumed#1", "tool.called#2", "tool.settled#2"],
  ...["run.sealed#2", "handoff.claimed#2", "composition.recorded#3", "handoff.resumed#2", "tool.called#3", "run.ended#1"],
];

describe("a turn that is handed on twice, whose process is killed", () => {
  it.each(MOMENTS)("after %s, is recovered to the same state twice and finished, each run dispatched once at most", async (where) => {
    const place = newPlace(2);
    const { world, directory } = place;
    expect((await child(place, 0, 2, where)).signal).toBe("SIGKILL");
    await world.open();
    const recovered = world.dump();
    expect(world.holdfast.verify().faults).toEqual([]);
    await world.holdfast.recover();
    await world.reopen();
    await world.holdfast.recover();
    expect(world.dump()).toBe(recovered);
    await finish(world.holdfast, world);
    expect(said(place)).toBe(reportOf(2));
    for (const { address } of world.actors("run"))
      expect(world.facts(address).filter(({ type }) => type === "run.dispatched").length).toBeLessThanOrEqual(1);
    const ran = [...executions(directory).values()].reduce((sum, count) => sum + count, 0);
    expect(ran).toBeLessThanOrEqual(3 + world.count("tool.unknown"));
    expect(world.holdfast.verify().faults).toEqual([]);
  });
});
