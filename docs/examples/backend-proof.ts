/** The proof of the backend in backend.ts: that it keeps its contract, on the real runtime. */

// ---
import { describe, test } from "node:test"; // vitest's do as well
import { exerciseBackend } from "holdfast/testing";
import { type Model, modelBackend } from "./backend.ts";

// Stands in for a model: the same conversation always gives the same.
const model: Model = async (transcript) => {
  const facts = transcript.map(({ fact }) => fact);
  const known = facts.findLast((fact) => fact.type === "tool.settled" || fact.type === "tool.reconciled");
  if (known) return { text: known.outcome.ok ? "Published." : "That failed." };
  return { text: "", call: { name: "publish", args: { version: "2.0" } } };
};
const silent: Model = (_, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

exerciseBackend(
  "releases",
  { open: () => modelBackend(model), openStuck: () => modelBackend(silent), text: "Publish the release", answer: () => true },
  { describe, test },
);
