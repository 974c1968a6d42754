/** Backends with one fault each, and the promises of the conformance suite that are broken by it. */

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { z } from "zod";
import { type Backend, fakeComposition, type StepInput, type StepReport, type Tool } from "../../src/index.ts";
import { type ExerciseBackendOptions, exerciseBackend } from "../../src/testing/index.ts";

export const note: Tool<{ part: number }> = {
  name: "note",
  description: "Notes that a part was written.",
  parameters: z.strictObject({ part: z.number() }),
  reconcile: "retry",
  execute: async ({ part }) => ({ noted: part }),
};

export const facts = (input: StepInput) => [...input.transcript()].map(({ fact }) => fact);
export const said = (input: StepInput): number =>
  facts(input).filter((fact) => fact.type === "message.added" && fact.role === "assistant").length;

/** Writes a part with each step, two in all, and says how many are left. */
export function report(part: number): StepReport {
  const common = { text: `part ${part}`, remainingSteps: Math.max(0, 2 - part) };
  return part < 2 ? { ...common, next: "continue" } : { ...common, next: "end", stopReason: "end_turn" };
}

/** A backend that keeps its promises, but for what replaces a part of it. */
export function parts(changes: Partial<Backend> = {}): Backend {
  return {
    tools: [note],
    prepare: async () => fakeComposition(),
    step: async (input) => {
      const part = said(input) + 1;
      await input.callTool("note", { part });
      return report(part);
    },
    ...changes,
  };
}

/** A step like those of `parts`, but for what is done before its call and after it. */
export const stepping =
  (before: (input: StepInput, part: number) => unknown, after: (given: StepReport, input: StepInput) => StepReport = (given) => given) =>
  async (input: StepInput): Promise<StepReport> => {
    const part = said(input) + 1;
    await before(input, part);
    await input.callTool("note", { part });
    return after(report(part), input);
  };

/** A loaded machine is slow; whatever is too slow here never ends. */
export const patient = { soonMs: 60_000, turnMs: 120_000 };

/** The promises that are broken, with what is said of each. */
export async function broken(
  open: ExerciseBackendOptions["open"],
  options: Partial<ExerciseBackendOptions> = patient,
): Promise<Record<string, string>> {
  const tests: [string, () => Promise<void>][] = [];
  // Options may change as the tests run, so they are not copied.
  const given = Object.create({ ...patient, open }, Object.getOwnPropertyDescriptors(options)) as ExerciseBackendOptions;
  exerciseBackend("faulty", given, { describe: (_, body) => body(), test: (...one) => void tests.push(one) });
  const failed: Record<string, string> = {};
  for (const [name, body] of tests) await body().catch((error: Error) => (failed[name] = error.message));
  return failed;
}

/** Names of promises that several faults break. */
export const handed = "handed to a new process at each boundary, it comes to the same end by the same calls and texts";
export const killed = "killed at each boundary and continued by a new process, it comes to the same end by the same calls and texts";
export const answered = "answered in a new process, it comes to the same end by the same calls and texts";
export const held = "held at its first boundary, the run is sealed, and a new process completes the turn";
export const same = "declares the same composition again, in a new process, and for a run that continues another";
export const shows = "shows a boundary, tool calls, a composition and a question, but for what it is said to be without";
export const aborted = "ends soon where its turn is stopped while a tool is at work, and the run ends cancelled";
export const dead = (where: string) => `killed ${where}, it is continued by a new process, which completes the turn`;
export const cut = ["between T1 and the tool", "between the tool and T2"].map(
  (where) => `${dead(where)}, unless its tool lets nobody go on`,
);
export const deaths = [
  ...[dead("before a step does anything"), ...cut],
  ...[dead("after T2, before the step sees the result"), dead("before what a step reports is durable")],
];

/** A backend with one fault, the promises that it breaks, and what is said of the first. */
export interface Fault {
  readonly fault: string;
  readonly open: ExerciseBackendOptions["open"];
  readonly options?: Partial<ExerciseBackendOptions>;
  readonly breaks: readonly string[];
  readonly saying: string;
}

/** A backend that asks for a colour before its second part, and knows the answer from where `colour` finds it. */
export function asking(colour: (input: StepInput) => string | undefined): Backend {
  return parts({
    step: async (input) => {
      const part = said(input) + 1;
      const isAnswered = facts(input).some((fact) => fact.type === "message.added" && fact.text === "blue");
      if (part === 2 && !isAnswered) return { next: "wait", interaction: { id: `colour-${input.step}`, question: "Which colour?" } };
      return { ...report(part), remainingSteps: null, text: `part ${part} in ${part === 2 ? colour(input) : "black"}` };
    },
  });
}

/** Each of these breaks the promises that it is said to break, and no other. */
export function breakNothingElse(faults: readonly Fault[]): void {
  it.each(faults)("breaks for a backend that $fault", async ({ open, options, breaks, saying }) => {
    const failed = await broken(open, options);
    expect(Object.keys(failed).sort()).toEqual([...breaks].sort());
    expect(Object.values(failed)[0]).toContain(saying);
    for (const [promise, message] of Object.entries(failed)) {
      const [asked, did, expects, documented] = message.split(/\n(?=what it did: |the contract expects: |documented in: )/);
      expect(asked).toMatch(/^asked: \S/);
      expect(did).toMatch(/^what it did: (?!Expected values)\S/);
      expect(message).not.toContain("+ actual - expected");
      expect(expects).toContain(`the contract expects: "${promise}"; `);
      const [, page = "", heading = ""] = /^documented in: ([\w/.-]+)#([\w-]+) of/.exec(documented ?? "") ?? [];
      const headings = [...readFileSync(new URL(`../../${page}`, import.meta.url), "utf8").matchAll(/^## (.+)$/gm)];
      expect(headings.map(([, text = ""]) => text.toLowerCase().replaceAll(" ", "-"))).toContain(heading);
    }
  });
}
