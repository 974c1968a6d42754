/** Human approvals: a run asks a question and then leave; the program ends meanwhile, and another one shows what is open and decides. */

// ---
import { dirname } from "node:path";
import { openHoldfast } from "holdfast";
import { type Model, modelBackend } from "./backend.ts";

const root = process.argv[2] ?? "./.holdfast";
// Stands in for a model: it asks which version, wants to publish it, and says what came of that.
const model: Model = async (transcript) => {
  const facts = transcript.map(({ fact }) => fact);
  const settled = facts.find((fact) => fact.type === "tool.settled");
  const denied = facts.find((fact) => fact.type === "permission.decided" && !fact.allow);
  if (settled || denied) return { text: settled ? "Published." : "I leave it." };
  const [, answer] = facts.flatMap((fact) => (fact.type === "message.added" && fact.role === "user" ? [fact.text] : []));
  if (answer === undefined) return { text: "", question: "Which version?" };
  return { text: "", call: { name: "publish", args: { version: answer } } };
};
const backends = { assistant: modelBackend(model) };

const first = await openHoldfast({ root, backends });
const session = await first.createSession({ backend: "assistant", cwd: dirname(root) });
const run = await session.send("Publish the release");
for await (const event of run.events()) {
  if (event.type !== "run.waiting") continue; // id, kind, question, subject, and the hash of all that is asked
  console.log(event.kind, "·", event.question, "·", JSON.stringify(event.subject));
  if (event.kind === "permission") break; // nobody is there: it stays open, without a process, for as long as it takes
  await run.answer(event.id, "2.0");
}
await first.close();

const second = await openHoldfast({ root, backends });
for (const { id } of second.list({ machine: "interaction", status: "active" })) {
  const asked = second.interaction(id).getSnapshot();
  if (!asked.hasTag("open")) continue; // answered, and the run has yet to hear of it
  const { runId, kind, subject, hash } = asked.context;
  if (kind !== "permission") continue;
  console.log("decide", "·", JSON.stringify(subject)); // show this to a person, and decide with the hash of what was shown
  await second.run(runId).decide(id, true, { hash, note: "notes are written" });
}
console.log((await second.run(run.id).end()).kind);
for (const { fact } of second.readTurn(run.id).transcript()) console.log(fact.type);
await second.close();
