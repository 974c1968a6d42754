import { describe } from "vitest";
import { fakeComposition } from "../../src/index.ts";
import {
  aborted,
  breakNothingElse,
  cut,
  deaths,
  type Fault,
  facts,
  handed,
  held,
  killed,
  note,
  parts,
  report,
  said,
  same,
  stepping,
} from "./faulty-backend.ts";

let processes = 0;

const faults: readonly Fault[] = [
  {
    fault: "does not heed the signal while its model is silent",
    open: () => parts(),
    options: { openStuck: () => parts({ step: () => new Promise(() => {}) }), soonMs: 20 },
    breaks: ["ends soon where its turn is stopped while its model does not answer, and the run ends cancelled"],
    saying: "has not ended within 20 ms",
  },
  {
    fault: "waits for ever where its signal is aborted already",
    open: () => parts({ step: stepping(({ signal }) => signal.aborted && new Promise(() => {})) }),
    options: { soonMs: 20 },
    breaks: ["ends soon where it is aborted before it begins"],
    saying: "has not ended within 20 ms",
  },
  {
    fault: "waits for ever where a tool was aborted",
    open: () =>
      parts({
        step: async (input) => {
          const part = said(input) + 1;
          const outcome = await input.callTool("note", { part });
          return !outcome.ok && outcome.error.code === "tool_aborted" ? new Promise(() => {}) : report(part);
        },
      }),
    options: { soonMs: 20 },
    breaks: [aborted],
    saying: "has not ended within 20 ms",
  },
  {
    fault: "names its process as the revision of its composer",
    open: () => {
      const composition = fakeComposition({ composerRevision: String(processes++) });
      return parts({ prepare: async () => composition });
    },
    breaks: [same],
    saying: "in a new process",
  },
  {
    fault: "has another prompt for a run that continues another",
    open: () =>
      parts({
        prepare: async ({ continuation }) => fakeComposition(continuation ? { promptHash: `sha256:${"1".repeat(64)}` } : {}),
      }),
    breaks: [handed, same, held],
    saying: "composition_drift",
  },
  {
    fault: "declares what is no composition, sometimes",
    open: () => {
      let times = 0;
      return parts({
        prepare: async ({ sessionId }) => fakeComposition(sessionId === "session-1" && times++ === 0 ? { toolNames: ["b", "a"] } : {}),
      });
    },
    breaks: ["declares a composition that fits the contract", same],
    saying: "toolNames",
  },
  {
    fault: "has a tool that denies what it has done",
    open: () =>
      parts({
        tools: [{ ...note, reconcile: "query", query: async () => ({ ok: false, error: { code: "not_done", message: "not done" } }) }],
      }),
    breaks: cut.slice(1),
    saying: "denied what it had done",
  },
  {
    fault: "cannot go on after a call of which nothing is known",
    open: () =>
      parts({
        step: stepping((input) => {
          if (facts(input).some(({ type }) => type === "tool.unknown")) throw new Error("what came of it?");
        }),
      }),
    breaks: cut,
    saying: "what came of it?",
  },
  {
    fault: "says that it is broken where it is asked to drain what it does not know",
    open: () => {
      const known = new Set<string>();
      const step = stepping(({ runId }) => known.add(runId));
      return parts({ step, flush: async ({ runId, fail }) => (known.has(runId) ? undefined : fail(new Error("which run?"))) });
    },
    breaks: ["flush ends in time and fails nothing, for runs that it does not know, for ended ones, and twice"],
    saying: "it says that it is broken",
  },
  {
    fault: "throws at the end of a run that it does not know",
    open: () => {
      const known = new Set<string>();
      const step = stepping(({ runId }) => known.add(runId));
      return parts({
        step,
        ended: ({ runId }) => {
          if (!known.delete(runId)) throw new Error("which run?");
        },
      });
    },
    breaks: ["ended throws for no run that it does not know, for no ended one, and not twice"],
    saying: "which run?",
  },
  {
    fault: "declares a composition to a run that continues another alone",
    open: () => parts({ prepare: async ({ continuation }) => (continuation ? fakeComposition() : null) }),
    options: { without: ["composition"] },
    breaks: ["declares nothing, each time"],
    saying: "null",
  },
  {
    fault: "goes on with no turn that was cut off",
    open: () =>
      parts({
        step: stepping(({ continuation }) => {
          if (continuation?.purpose === "plain") throw new Error("cut off");
        }),
      }),
    breaks: [killed, ...deaths],
    saying: "cut off",
  },
];

describe("the conformance suite of the backend contract, where a step is cut off or continued", () => breakNothingElse(faults));
