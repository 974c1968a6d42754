import { describe } from "vitest";
import { fakeComposition } from "../../src/index.ts";
import type { BackendPlace, ExerciseBackendOptions } from "../../src/testing/index.ts";
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
  patient,
  report,
  said,
  same,
  stepping,
} from "./faulty-backend.ts";

let processes = 0;

const silent = "ends soon where its turn is stopped while its model does not answer, and the run ends cancelled";
const early = "ends soon where it is aborted before it begins";
const stopped = "ends soon where its turn is stopped, and the run ends cancelled";

/** A backend that hangs: once it does, it is not waited for. Until then there is all the time that a loaded machine takes. */
function hanging(
  fault: string,
  breaks: readonly string[],
  made: (hang: () => Promise<never>) => Pick<ExerciseBackendOptions, "open" | "openStuck">,
): Fault {
  let isHanging = false;
  const { open, openStuck } = made(() => {
    isHanging = true;
    return new Promise(() => {});
  });
  const fresh = (place: BackendPlace) => {
    isHanging = false;
    return open(place);
  };
  const options: Partial<ExerciseBackendOptions> = {
    ...(openStuck ? { openStuck } : {}),
    get soonMs() {
      return isHanging ? 20 : patient.soonMs;
    },
  };
  return { fault, open: fresh, options, breaks, saying: "has not ended within 20 ms" };
}

const faults: readonly Fault[] = [
  hanging("does not heed the signal while its model is silent", [silent], (hang) => ({
    open: () => parts(),
    openStuck: () => parts({ step: hang }),
  })),
  hanging("waits for ever where its signal is aborted already", [early], (hang) => ({
    open: () => parts({ step: stepping(({ signal }) => signal.aborted && hang()) }),
  })),
  hanging("waits for ever once its signal is aborted", [early, stopped, aborted], (hang) => ({
    open: () =>
      parts({
        step: async (input) => {
          const { signal } = input;
          const end = signal.aborted
            ? hang()
            : new Promise<never>((_, reject) => signal.addEventListener("abort", () => hang().catch(reject)));
          const part = said(input) + 1;
          await input.callTool("note", { part }).catch(() => {});
          return signal.aborted ? end : report(part);
        },
      }),
  })),
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
    saying: "it called `fail`, which says that it is broken: Error: which run?",
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
