/** A backend over a model: one call of the model a step, a composition of real hashes, a tool that can be asked, leave by a person. */

// ---
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Backend, Composition, Json, Tool, TranscriptEntry } from "holdfast";
import { z } from "zod";

/** What your provider's client makes of a conversation: a text, and at most one wish. `call`: a tool. `isMore`: it was cut short. */
export type Model = (
  transcript: readonly TranscriptEntry[],
  signal: AbortSignal,
) => Promise<{ text: string; call?: { name: string; args: Json }; question?: string; isMore?: boolean }>;

const SYSTEM = "You publish releases.";
const digest = (value: unknown) => createHash("sha256").update(JSON.stringify(value)).digest("hex");

const released = (cwd: string, version: string) => join(cwd, `release-${version}.json`);
const publish: Tool<{ version: string }> = {
  name: "publish",
  description: "Publishes a version.",
  parameters: z.object({ version: z.string().regex(/^[\w.]+$/) }),
  reconcile: "query",
  execute: async ({ version }, { cwd, runId, callId }) => {
    await writeFile(released(cwd, version), JSON.stringify({ by: `${runId}/${callId}` }), { flag: "wx" });
    return { version };
  },
  // Asked before a continuation, where the process died between the call and its result. Null: it cannot tell either.
  query: async ({ version }, { cwd, runId, callId }) => {
    const text = await readFile(released(cwd, version), "utf8").catch((error) => (error.code === "ENOENT" ? undefined : ""));
    if (text === undefined) return { ok: false, error: { code: "not_published", message: `${version} was not published` } };
    return text === JSON.stringify({ by: `${runId}/${callId}` }) ? { ok: true, result: { version } } : null;
  },
};
const tools = [publish];

/** `revision` is that of your program. */
export function modelBackend(model: Model, { revision = "1", temperature = 0 } = {}): Backend {
  const composition: Composition = {
    composerId: "example.releases",
    composerRevision: revision,
    sourceRevisions: [],
    promptHash: `sha256:${digest(SYSTEM)}`,
    toolsHash: `sha256:${digest(tools.map(({ name, description, parameters }) => [name, description, z.toJSONSchema(parameters)]))}`,
    availabilityHash: `sha256:${digest(tools.map(({ name }) => name))}`,
    providerOptionsHash: `sha256:${digest({ temperature })}`,
    toolNames: [...new Set(tools.map(({ name }) => name))].sort(),
    contextWindow: 200_000,
  };
  return {
    tools,
    prepare: async () => composition,
    step: async (input) => {
      const transcript = [...input.transcript()];
      input.progress("thinking"); // for whoever watches; never stored
      const { text, call, question, isMore } = await model(transcript, input.signal);
      if (question) return { next: "wait", text, interaction: { id: `question-${input.step}`, question } };
      if (!call) return isMore ? { next: "continue", text } : { next: "end", stopReason: "end_turn", text };
      // Named by what it is about, so that leave for one call is no leave for another. Leave given to an earlier run does not count.
      const id = digest(call);
      const decided = transcript
        .filter(({ runId }) => runId === input.runId)
        .map(({ fact }) => fact)
        .find((fact) => fact.type === "permission.decided" && fact.interactionId === `${input.runId}.${id}`);
      if (decided?.type !== "permission.decided")
        return { next: "wait", text, interaction: { id, kind: "permission", question: `May I call ${call.name}?`, subject: call } };
      if (decided.allow) await input.callTool(call.name, call.args); // T1, the tool, T2
      return { next: "continue" };
    },
  };
}
