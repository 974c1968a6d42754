/** The same script as a backend that drives whole turns, with a boundary between two steps, adapted to steps. */

import { type Backend, type FakeBackendOptions, type ScriptedStep, type StepInput, turnBackend } from "../../../src/index.ts";

/** What a whole turn is played from. */
export interface WholeTurnOptions extends Required<Pick<FakeBackendOptions, "tools" | "flush">> {
  readonly script: (input: { readonly runId: string; readonly step: number }) => Promise<ScriptedStep>;
  readonly composition: NonNullable<Backend["prepare"]>;
}

/** `steps` lists what it was asked, in order, as a scripted backend does. */
export function wholeTurns({ script, composition, tools, flush }: WholeTurnOptions): Backend & { readonly steps: readonly StepInput[] } {
  const steps: StepInput[] = [];
  const backend = turnBackend({
    tools,
    flush,
    prepare: composition,
    async *send(input) {
      for (let step = 1; ; step++) {
        const { partial = [], calls = [], report } = await script({ runId: input.runId, step });
        for (const output of partial) yield { type: "partial", output };
        for (const { name, args } of calls) await input.callTool(name, args);
        if (report.text !== undefined) yield { type: "text", text: report.text };
        if (report.next === "end") {
          yield { type: "complete", stopReason: report.stopReason };
          return;
        }
        if ((await input.handoffBoundary(input.signal, report.remainingSteps ?? null)) === "pause") return;
      }
    },
  });
  const step = backend.step.bind(backend);
  return Object.assign(backend, {
    steps,
    step: (input: StepInput) => {
      steps.push(input);
      return step(input);
    },
  });
}
