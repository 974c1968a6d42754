/** A conversation of three turns in which everything happened that a copy must keep. Also for child processes. */

import { z } from "zod";
import { fakeBackend, type Holdfast, type StepInput, type Tool, type TranscriptEntry } from "../../src/index.ts";
import { Gate } from "../scenarios/gate.ts";
import type { World } from "./world.ts";

const done = { next: "end", stopReason: "end_turn" } as const;

const note: Tool<{ text: string }> = {
  name: "note",
  description: "Keeps a text.",
  parameters: z.strictObject({ text: z.string() }),
  execute: async ({ text }, { putBlob }) => ({ kept: await putBlob(Buffer.from(text)) }),
};

/** What comes of it cannot be recorded. */
const move: Tool<object> = {
  name: "move",
  description: "Moves.",
  parameters: z.strictObject({}),
  reconcile: "ask",
  execute: async () => "moved",
};

/** The backend of the conversation; its first step waits until a handoff was `asked` for. `heard` receives what the run of each later `send` is told, in its first step. */
export function talker(heard: TranscriptEntry[][] = [], asked = new Gate()) {
  const script = async (input: StepInput) => {
    if (input.runId === "run-1") await asked.pass();
    if (input.runId === "run-1")
      return { calls: [{ name: "note", args: { text: "first" } }], report: { text: "one", next: "continue" as const } };
    if (input.runId === "run-2" && input.step === 1)
      return {
        calls: [{ name: "note", args: { text: "second" } }],
        report: { text: "two", next: "wait" as const, interaction: { id: "leave", kind: "permission" as const, question: "May I go?" } },
      };
    if (input.runId === "run-2") return { report: { text: "I stay", ...done } };
    if (input.runId === "run-3") {
      await input.callTool("move", {}).catch(() => {});
      return { report: { text: "stuck", ...done } };
    }
    if (input.text !== "") heard.push([...input.transcript()]);
    return { report: { text: "on", ...done } };
  };
  return fakeBackend({ tools: [note, move], script });
}

/** Holds the first turn at its first boundary for `run-2`, and seals it. */
export async function seal(holdfast: Holdfast, cwd: string, asked: Gate): Promise<void> {
  const session = await holdfast.createSession({ backend: "assistant", cwd, id: "session-1", name: "Talk" });
  const run = await session.send("Note them", { runId: "run-1", turnId: "turn-1", origin: { kind: "goal", goalId: "goal-1" } });
  const handoff = await run.requestHandoff({ id: "handoff-1", successorRunId: "run-2", claimId: "claim-1" });
  asked.open();
  if (!((await handoff.ready) && (await handoff.commit()) && (await handoff.sealed))) throw new Error("it was not sealed");
}

/** Three turns: one of two runs, with a permission that is denied; one with a call of unknown outcome; its continuation, where it is known. */
export async function talk(world: World, asked: Gate): Promise<void> {
  const { holdfast } = world;
  await seal(holdfast, world.root, asked);
  const check = await holdfast.checkContinuation("run-1", { purpose: "handoff" });
  if (check.decision === "park") throw new Error(check.reasons.map(({ code }) => code).join());
  for await (const event of holdfast.resume(check.continuation))
    if (event.type === "run.waiting") await holdfast.run("run-2").decide(event.id, false, { hash: event.hash, note: "Not yet" });
  world.probe = (point, { entries = [] }) => {
    if (point === "commit.inside" && entries.some(({ actor, facts }) => actor === "run/run-3" && facts.includes("tool.settled")))
      throw new Error("disk full");
  };
  await (await holdfast.session("session-1").send("And now?", { runId: "run-3", turnId: "turn-2" })).end();
  world.probe = undefined;
  const outcomes = { "1.1": { ok: true as const, result: "moved" } };
  const plain = await holdfast.checkContinuation("run-3", { outcomes });
  if (plain.decision === "park") throw new Error(plain.reasons.map(({ code }) => code).join());
  for await (const _ of holdfast.resume(plain.continuation));
}
