/** A turn with tools that any process can go on with: what is left to do is read from the transcript. Shared by tests and their child processes. */

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { type Backend, fakeComposition, type Holdfast, type Json, surveyBackend, type TranscriptEntry } from "../../src/index.ts";

export const IDS = { runId: "original-run", turnId: "logical-turn" } as const;
export const HANDOFF = { id: "handoff-1", successorRunId: "successor-run", claimId: "claim-1" } as const;

const ITEMS = ["a", "b", "c", "d", "e", "f"];
const ITEMS_PER_STEP = 2;

/** What every finished turn reports. */
export const WORK_REPORT = ITEMS.map((item) => item.toUpperCase()).join(" ");

interface Past {
  readonly settled: Map<string, Json>;
  readonly unknown: string[];
}

function readPast(transcript: Iterable<TranscriptEntry>): Past {
  const items = new Map<string, string>();
  const past: Past = { settled: new Map(), unknown: [] };
  for (const { runId, fact } of transcript) {
    if (fact.type === "message.added" || fact.type === "permission.decided") continue;
    const call = `${runId} ${fact.callId}`;
    if (fact.type === "tool.called") items.set(call, (fact.args as { item: string }).item);
    if (fact.type === "tool.settled" && fact.outcome.ok) past.settled.set(items.get(call) as string, fact.outcome.result);
    if (fact.type === "tool.unknown") past.unknown.push(items.get(call) as string);
  }
  return past;
}

/** What is worked on, and how much of it in one step. */
export interface Load {
  readonly items: readonly string[];
  readonly perStep: number;
}

/** Works on its items, two at a time, each by a tool that leaves a trace outside: a line in `directory`/ran. */
export function workBackend(
  directory: string,
  revision = "1",
  gate: () => Promise<void> | void = () => {},
  { items, perStep }: Load = { items: ITEMS, perStep: ITEMS_PER_STEP },
): Backend {
  return {
    tools: [
      {
        name: "work",
        description: "Works on one item.",
        parameters: z.strictObject({ item: z.string() }),
        reconcile: "retry",
        execute: async ({ item }) => {
          appendFileSync(join(directory, "ran"), `${item}\n`);
          await setImmediate();
          return item.toUpperCase();
        },
      },
    ],
    prepare: async () => fakeComposition({ composerRevision: revision }),
    step: async ({ transcript, callTool }) => {
      await gate();
      const { settled } = readPast(transcript());
      const left = items.filter((item) => !settled.has(item));
      if (left.length === 0) return { next: "end", stopReason: "end_turn", text: items.map((item) => settled.get(item)).join(" ") };
      await Promise.all(left.slice(0, perStep).map((item) => callTool("work", { item })));
      return { next: "continue" };
    },
  };
}

/** How often each item was worked on, whoever did it. */
export function executions(directory: string): Map<string, number> {
  const counts = new Map<string, number>();
  const file = join(directory, "ran");
  for (const item of existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [])
    counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

export type Kind = "work" | "survey";

/** The backend of a kind of turn; `directory` is what a survey surveys, or where the work leaves its trace. */
export function backendOf(kind: Kind, directory: string, report: string, revision: string): Backend {
  return kind === "work" ? workBackend(directory, revision) : surveyBackend({ report, batchSize: 4, revision });
}

/** Begins the turn, unless it was begun. */
export async function begin(holdfast: Holdfast, directory: string): Promise<void> {
  const session = await holdfast.createSession({ backend: "assistant", id: "session-1", cwd: directory });
  await session.send("Work on all of them", { ...IDS, key: "the only turn" });
}

/** Brings the turn to its seal, in the process that began it. */
export async function handOff(holdfast: Holdfast): Promise<void> {
  const run = holdfast.run(IDS.runId);
  const handoff = await run.requestHandoff(HANDOFF);
  if (!(await handoff.ready) || !(await handoff.commit()) || !(await handoff.sealed)) throw new Error("the turn was not sealed");
}

/** Takes the sealed turn over and finishes it. */
export async function takeOver(holdfast: Holdfast): Promise<void> {
  const check = await holdfast.checkContinuation(IDS.runId, { purpose: "handoff" });
  if (check.decision === "park") throw Object.assign(new Error("parked"), { code: check.reasons[0]?.code });
  for await (const _ of holdfast.resume(check.continuation));
}
