/** Agent sessions: the embedding example of `holdfast`. A turn moves from one runtime to the next, as it would in a deploy. */

// ---
import { fakeBackend, openHoldfast } from "holdfast";

const root = process.argv[2] ?? "./.holdfast";
// A scripted backend stands in for a model: one step before the handoff, one after it. Yours implements `Backend`.
const assistant = fakeBackend({
  script: ({ maxSteps }) =>
    maxSteps === null
      ? { report: { next: "continue", remainingSteps: 2, text: "half done" } }
      : { report: { next: "end", stopReason: "end_turn", text: "done" } },
});

const first = await openHoldfast({ root, backends: { assistant } });
const session = await first.createSession({ backend: "assistant" });
const run = await session.send("Summarise the changes since v2");
const handoff = await run.requestHandoff();
if (await handoff.ready) await handoff.commit(); // held between two steps, decided durably
console.log("sealed:", await handoff.sealed, (await run.end()).kind);
await first.close();

const second = await openHoldfast({ root, backends: { assistant } }); // another process, another version
const check = await second.checkContinuation(run.id, { purpose: "handoff" });
if (check.decision === "park") throw new Error(check.reasons.map(({ code }) => code).join());
for await (const event of second.resume(check.continuation)) console.log(event.type);
console.log("continued by", second.receipt(run.id).successorRunId, "· verified:", second.verify().ok);
await second.close();
