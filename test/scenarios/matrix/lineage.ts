/** Row 30: a turn of as many runs as there may be, each handed off to the next by the real runtime. */

import { LINEAGE_LIMIT } from "../../../machines/schema.ts";
import { fakeBackend, type Run } from "../../../src/index.ts";
import { Gate } from "../gate.ts";
import { collect, World } from "../world.ts";

/** Hands the turn on until its last run, then asks for one more. */
export async function lineageLimit(): Promise<Readonly<Record<string, unknown>>> {
  const gates = new Map<string, Gate>();
  const gate = (runId: string) => gates.get(runId) ?? gates.set(runId, new Gate()).get(runId)!;
  const backend = fakeBackend({
    script: async ({ runId, step }) => {
      if (step === 1) await gate(runId).pass();
      return step === 1 ? { report: { next: "continue" } } : { report: { next: "end", stopReason: "end_turn" } };
    },
  });
  const world = await World.open(backend);
  try {
    const session = await world.holdfast.createSession({ backend: "assistant", cwd: world.root, id: "session-1" });
    let run = await session.send("Do the long job", { runId: "run-1", turnId: "turn-1" });
    for (let member = 1; member < LINEAGE_LIMIT; member++) run = await handedOn(world, run, `run-${member + 1}`, gate);
    const before = world.dump();
    const refused = await run.requestHandoff().then(
      () => "accepted",
      (error: { code: string }) => error.code,
    );
    const written = world.dump() !== before;
    gate(run.id).open();
    const last = (await run.end()).kind;
    const members = world.holdfast.readTurn("run-1").members.length;
    return { members, refused, dispatches: world.count("run.dispatched"), last, written };
  } finally {
    await world.end();
  }
}

/** Seals a run whose first step is under way, and begins its successor. */
async function handedOn(world: World, run: Run, successorRunId: string, gate: (runId: string) => Gate): Promise<Run> {
  const handoff = await run.requestHandoff({ id: `handoff-${successorRunId}`, successorRunId, claimId: `claim-${successorRunId}` });
  gate(run.id).open();
  await handoff.ready;
  await handoff.commit();
  await handoff.sealed;
  const check = await world.holdfast.checkContinuation(run.id, { purpose: "handoff" });
  if (check.decision === "park") throw new Error(check.reasons.map(({ code }) => code).join());
  const events = world.holdfast.resume(check.continuation);
  await events.next();
  collect(events).catch(() => {});
  await gate(successorRunId).reached;
  return world.holdfast.run(successorRunId);
}
