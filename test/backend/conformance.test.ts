import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "vitest";
import { type Backend, fakeBackend, fakeComposition, type StepInput, surveyBackend, type Tool, turnBackend } from "../../src/index.ts";
import { exerciseBackend } from "../../src/testing/exercise-backend.ts";
import { note, patient } from "../testing/faulty-backend.ts";

const asked: Tool<{ part: number }> = { ...note, reconcile: "ask" };

/** The part to write: one more than the transcript has. */
const partOf = ({ transcript }: Pick<StepInput, "transcript">): number =>
  [...transcript()].filter(({ fact }) => fact.type === "message.added" && fact.role === "assistant").length + 1;

const scripted = (): Backend =>
  fakeBackend({
    tools: [asked],
    script: (input) => {
      const part = partOf(input);
      const isAnswered = [...input.transcript()].some(({ fact }) => fact.type === "message.added" && fact.text === "in blue");
      if (part === 2 && !isAnswered)
        return { report: { next: "wait", interaction: { id: `colour-${input.step}`, question: "Which colour?" } } };
      const calls = [{ name: "note", args: { part } }];
      const text = `part ${part}`;
      return { partial: [text], calls, report: part < 3 ? { next: "continue", text } : { next: "end", stopReason: "end_turn", text } };
    },
  });

exerciseBackend("scripted", { open: scripted, answer: () => "in blue", ...patient }, { describe, test });

const oneStep = (): Backend =>
  fakeBackend({ composition: false, script: { report: { next: "end", stopReason: "end_turn", text: "Done.", remainingSteps: 0 } } });

exerciseBackend(
  "scripted, in one step, that declares nothing",
  { open: oneStep, without: ["boundary", "tools", "composition"], ...patient },
  { describe, test },
);

const files: Readonly<Record<string, string>> = {
  "README.md": "[there](src/a.ts) [not there](src/none.ts)\n",
  "src/a.ts": "// TODO: more\n",
  "src/b.ts": "export {};\n",
  "empty.txt": "",
};

exerciseBackend(
  "survey",
  {
    open: () => surveyBackend({ report: "report.md", batchSize: 2 }),
    openStuck: () => surveyBackend({ report: "report.md", gate: () => new Promise<void>(() => {}) }),
    fill: (cwd) => {
      mkdirSync(join(cwd, "src"));
      for (const [path, text] of Object.entries(files)) writeFileSync(join(cwd, path), text);
    },
    text: "Survey this folder",
    ...patient,
  },
  { describe, test },
);

const pathOf = (cwd: string, part: number) => join(cwd, `part-${part}`);

/** Leaves a file, by which it can be told later that it ran. */
const file: Tool<{ part: number }> = {
  ...note,
  reconcile: "query",
  execute: async ({ part }, { cwd }) => {
    writeFileSync(pathOf(cwd, part), "noted");
    return { noted: part };
  },
  query: async ({ part }, { cwd }) =>
    existsSync(pathOf(cwd, part))
      ? { ok: true, result: { noted: part } }
      : { ok: false, error: { code: "not_noted", message: "not noted" } },
};

/** Writes three parts in one go, from wherever the transcript is. */
function driving(isStuck = false): Backend {
  return turnBackend({
    tools: [file],
    prepare: async () => fakeComposition(),
    async *send(input) {
      if (isStuck) await new Promise((_, reject) => input.signal.addEventListener("abort", () => reject(input.signal.reason)));
      for (let part = partOf(input); ; part++) {
        yield { type: "partial", output: `part ${part}` };
        const outcome = await input.callTool("note", { part });
        yield { type: "text", text: `part ${part}${outcome.ok ? "" : ", not noted"}` };
        if (part >= 3) break;
        if ((await input.handoffBoundary(input.signal, 3 - part)) === "pause") return;
      }
      yield { type: "complete", stopReason: "end_turn" };
    },
  });
}

exerciseBackend("turn", { open: () => driving(), openStuck: () => driving(true), ...patient }, { describe, test });
