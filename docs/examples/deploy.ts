/** A deploy: on SIGTERM every live run is handed off; the next version of the program finds what was, and goes on with it. */

// ---
import { type Holdfast, openHoldfast } from "holdfast";
import { type Model, modelBackend } from "./backend.ts";

const root = process.argv[2] ?? "./.holdfast";
// Stands in for a model: four parts, one a step, whoever asks.
const model: Model = async (transcript) => {
  const part = transcript.filter(({ fact }) => fact.type === "message.added" && fact.role === "assistant").length + 1;
  return { text: `part ${part}`, isMore: part < 4 };
};

/** All active actors of one machine, page by page, but for those that are set aside. */
function* active(holdfast: Holdfast, machine: "session" | "run"): Generator<string> {
  for (let after = 0, more = true; more; ) {
    const page = holdfast.list({ machine, status: "active", quarantined: false }, { after, limit: 1000 });
    yield* page.map(({ id }) => id);
    after = page.at(-1)?.ordinal ?? after;
    more = page.length === 1000;
  }
}

/** Hands every live run off. Before it, stop taking in new work. What has no boundary in time is interrupted by the next opening. */
async function handOff(holdfast: Holdfast, timeoutMs: number): Promise<void> {
  const hand = async (id: string) => {
    const handoff = await holdfast.run(id).requestHandoff({ signal: AbortSignal.timeout(timeoutMs) });
    if (await handoff.ready) await handoff.commit(); // held between two steps, decided durably
    return handoff.sealed;
  };
  const ends = await Promise.allSettled([...active(holdfast, "run")].map(hand));
  console.log("handed off:", JSON.stringify(ends.map((end) => (end.status === "fulfilled" ? end.value : end.reason.code))));
}

/** Continues every sealed turn, and resolves when all of them have ended. */
async function goOn(holdfast: Holdfast): Promise<void> {
  const one = async (sessionId: string) => {
    const run = holdfast.session(sessionId).currentRun(); // of a sealed turn, the run that was sealed
    if (!run) return; // idle
    const check = await holdfast.checkContinuation(run.id, { purpose: "handoff" });
    if (check.decision === "park") return console.log("parked:", check.reasons.map(({ code }) => code).join()); // `not_sealed`: it is live
    for await (const event of holdfast.resume(check.continuation)) // claims with the first event that is read
      if (event.type === "run.ended") console.log("continued:", event.kind);
  };
  await Promise.all([...active(holdfast, "session")].map(one));
}

const old = await openHoldfast({ root, backends: { assistant: modelBackend(model, { revision: "1" }) } });
const onTerm = () => handOff(old, 30_000).then(() => old.close());
process.once("SIGTERM", onTerm);
const sessions = [await old.createSession({ backend: "assistant" }), await old.createSession({ backend: "assistant" })];
const runs = await Promise.all(sessions.map((session) => session.send("Write four parts")));
process.off("SIGTERM", onTerm);
await onTerm(); // as the signal would

// From here on it is the new version, in a process of its own.
const next = await openHoldfast({ root, backends: { assistant: modelBackend(model, { revision: "2" }) } });
await goOn(next);
for (const { id } of runs) {
  const { members, transcript } = next.readTurn(id);
  console.log(members.length, "runs ·", [...transcript()].map(({ fact }) => fact.type === "message.added" && fact.text).join(", "));
}
await next.close();
