/**
 * A process that takes a sealed turn over when it is told to: one command a line on stdin, one line of JSON for each answer.
 * `take ROOT` holds in the successor's first step; `finish` goes on from there to the end of the turn.
 */

import { createInterface } from "node:readline";
import { type Holdfast, openHoldfast, type RunEvent } from "../../src/index.ts";
import { Gate } from "./gate.ts";
import { IDS, workBackend } from "./work.ts";

let gate = new Gate();
let holdfast: Holdfast | undefined;
let events: AsyncGenerator<RunEvent> | undefined;

const commands: Record<string, (argument: string) => Promise<unknown>> = {
  ready: async () => process.pid,
  async take(root) {
    gate = new Gate();
    holdfast = await openHoldfast({ root, backends: { assistant: workBackend(root, "2", () => gate.pass()) } });
    const check = await holdfast.checkContinuation(IDS.runId, { purpose: "handoff" });
    if (check.decision === "park") {
      await holdfast.close();
      throw Object.assign(new Error("parked"), { code: check.reasons[0]?.code });
    }
    events = holdfast.resume(check.continuation);
    for (let next = await events.next(); !next.done; next = await events.next()) if (next.value.type === "run.dispatched") return "took it";
    throw new Error("the successor was not dispatched");
  },
  async finish() {
    gate.open();
    let last: RunEvent | undefined;
    for await (const event of events ?? []) last = event;
    await holdfast?.close();
    return last?.type === "run.ended" ? last.kind : last?.type;
  },
};

createInterface({ input: process.stdin })
  .on("line", async (line) => {
    const [name = "", ...rest] = line.split(" ");
    let answer: unknown;
    try {
      answer = { value: await commands[name]?.(rest.join(" ")) };
    } catch (error) {
      const { code, stack } = error as { code?: string; stack?: string };
      answer = code === undefined ? { bug: stack } : { code };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  })
  .on("close", () => process.exit(0));
