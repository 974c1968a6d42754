/** A turn that is handed on from owner to owner, one step each: shared by tests and their child processes. */

import type { Probe } from "../../src/actor/commit.ts";
import { type Holdfast, openHoldfast } from "../../src/index.ts";
import { Gate } from "./gate.ts";
import { IDS, type Load, workBackend } from "./work.ts";

/** One item a step, and one more than there are handoffs, so that the last owner has something to do. */
export const loadOf = (handoffs: number): Load => ({
  items: Array.from({ length: handoffs + 1 }, (_, index) => `item-${index + 1}`),
  perStep: 1,
});

/** What the turn reports at its end, however often it was handed on. */
export const reportOf = (handoffs: number): string =>
  loadOf(handoffs)
    .items.map((item) => item.toUpperCase())
    .join(" ");

const memberOf = (index: number): string => (index === 0 ? IDS.runId : `member-${index}`);

/** One owner's part: takes the turn, works on one step, and hands it on; the last one works to the end. */
export async function own(
  place: { readonly root: string; readonly directory: string; readonly handoffs: number },
  member: number,
  probe?: Probe,
): Promise<void> {
  const { root, directory, handoffs } = place;
  const gate = new Gate();
  const backend = workBackend(directory, `${member}`, () => gate.pass(), loadOf(handoffs));
  const holdfast = await openHoldfast({ root, backends: { assistant: backend }, ...(probe ? { probe } : {}) });
  try {
    const taking = member === 0 ? begin(holdfast, directory) : take(holdfast, memberOf(member - 1));
    await Promise.race([gate.reached, taking]);
    if (member < handoffs) await handOn(holdfast, member, gate);
    gate.open();
    await taking;
    await holdfast.run(memberOf(member)).end();
  } finally {
    await holdfast.close();
  }
}

async function begin(holdfast: Holdfast, directory: string): Promise<void> {
  const session = await holdfast.createSession({ backend: "assistant", id: "session-1", cwd: directory });
  await (await session.send("Work on all of them", { ...IDS })).end();
}

async function take(holdfast: Holdfast, source: string): Promise<void> {
  const check = await holdfast.checkContinuation(source, { purpose: "handoff" });
  if (check.decision === "park") throw new Error(check.reasons.map(({ code }) => code).join());
  for await (const _ of holdfast.resume(check.continuation));
}

async function handOn(holdfast: Holdfast, member: number, gate: Gate): Promise<void> {
  const [successorRunId, claimId] = [memberOf(member + 1), `claim-${member + 1}`];
  const handoff = await holdfast.run(memberOf(member)).requestHandoff({ id: `handoff-${member + 1}`, successorRunId, claimId });
  gate.open();
  if (!(await handoff.ready) || !(await handoff.commit()) || !(await handoff.sealed)) throw new Error(`member ${member} was not sealed`);
}
