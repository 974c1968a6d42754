import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { exerciseBackend } from "../../src/testing/index.ts";
import {
  aborted,
  answered,
  asking,
  breakNothingElse,
  broken,
  type Fault,
  handed,
  killed,
  note,
  parts,
  report,
  said,
  shows,
  stepping,
} from "./faulty-backend.ts";

const faults: readonly Fault[] = [
  {
    fault: "keeps in memory how far it is",
    open: () => {
      let part = 0;
      return parts({
        step: async (input) => {
          await input.callTool("note", { part: ++part });
          return report(part);
        },
      });
    },
    breaks: [handed, killed],
    saying: `asked: a whole turn; and again, with a backend that \`open\` has just made after each handoff
what it did: it came to another end than the turn that nothing interrupted: it ended by step_limit, and not by end_turn; text 2 is "part 1", and was "part 2"; \
it called ["note",{"part":1}], which it had not, or not as often; it did not call ["note",{"part":2}], which it had, or not as often
the contract expects: "handed to a new process at each boundary, it comes to the same end by the same calls and texts"; all that`,
  },
  {
    fault: "keeps in memory what it asked",
    open: () => {
      let asked: string | undefined;
      const backend = asking(() => asked);
      return {
        ...backend,
        step: async (input) => {
          const given = await backend.step(input);
          if (given.next === "wait") asked = "blue";
          return given;
        },
      };
    },
    options: { answer: () => "blue", without: ["tools"] },
    breaks: [handed, answered],
    saying: "part 2 in undefined",
  },
  {
    fault: "shows progress after its step has returned",
    open: () =>
      parts({
        step: stepping(
          () => {},
          (given, input) => {
            void setImmediate().then(() => input.progress("late"));
            return given;
          },
        ),
      }),
    breaks: ["does nothing between two steps, and nothing after the last", "does nothing after a step behind which no more are allowed"],
    saying: "progress",
  },
  {
    fault: "calls a tool after its last step",
    open: () =>
      parts({
        step: stepping(
          () => {},
          (given, input) => {
            if (given.next === "end") void setImmediate().then(() => input.callTool("note", { part: 4 }).catch(() => {}));
            return given;
          },
        ),
      }),
    breaks: ["does nothing between two steps, and nothing after the last"],
    saying: "callTool note",
  },
  {
    fault: "calls a tool that it has not",
    open: () => parts({ step: stepping((input) => input.callTool("erase", {})) }),
    breaks: ["calls tools that it has, with arguments that fit them"],
    saying: "there is no tool erase",
  },
  {
    fault: "calls a tool with what does not fit it",
    open: () => parts({ step: stepping((input) => input.callTool("note", { part: "first" })) }),
    breaks: ["calls tools that it has, with arguments that fit them"],
    saying: "the arguments of note do not fit",
  },
  {
    fault: "has two tools of one name",
    open: () => parts({ tools: [note, note] }),
    breaks: ["has tools with unique names, descriptions, schemas, and a known way to reconcile"],
    saying: "a name is given twice",
  },
  {
    fault: "has a tool that can be asked and does not answer",
    open: () => parts({ tools: [{ ...note, reconcile: "query" }] }),
    breaks: ["can ask each tool that says so what came of a call"],
    saying: "declared as `query`, and without one",
  },
  {
    fault: "works on the world by itself",
    open: ({ cwd }) => parts({ step: stepping((_, part) => writeFileSync(join(cwd, `part-${part}`), "written")) }),
    breaks: ["changes nothing in its folder but by its tools"],
    saying: "before the tool note ran",
  },
  {
    fault: "calls a failing tool again for ever",
    open: () =>
      parts({
        step: async (input) => {
          const part = said(input) + 1;
          while (!(await input.callTool("note", { part })).ok);
          return report(part);
        },
      }),
    breaks: ["reports, or rejects, where every tool fails"],
    saying: "256 times",
  },
  {
    fault: "says of the steps left what it has not",
    open: () =>
      parts({
        step: stepping(
          () => {},
          (given) => ({ ...given, remainingSteps: 5 }),
        ),
      }),
    breaks: ["says of the steps left what becomes fewer with each step"],
    saying: "step 2 reports 5 steps left; by what was said before it is 4 at most",
  },
  {
    fault: "does not begin what it may not finish",
    open: () =>
      parts({
        step: stepping(({ maxSteps, step, continuation }) => {
          if (maxSteps === 1 && step === 1 && !continuation) throw new Error("too few steps");
        }),
      }),
    breaks: ["is over with its first step where no more are allowed"],
    saying: "too few steps",
  },
  {
    fault: "is without what it is not said to be without",
    open: () => parts({ step: async (input) => report(said(input) + 1) }),
    breaks: [
      shows,
      aborted,
      "killed after T2, before the step sees the result, it is continued by a new process, which completes the turn",
      "killed between T1 and the tool, it is continued by a new process, which completes the turn, unless its tool lets nobody go on",
      "killed between the tool and T2, it is continued by a new process, which completes the turn, unless its tool lets nobody go on",
    ],
    saying: "`without`",
  },
  {
    fault: "has a boundary, and is said to be without",
    open: () => asking(() => "blue"),
    options: { answer: () => "blue", without: ["tools", "boundary"] },
    breaks: [shows],
    saying: "`without`",
  },
];

describe("the conformance suite of the backend contract", () => {
  it("holds for a backend that keeps its promises", async () => {
    expect(await broken(() => parts())).toEqual({});
  });

  it("holds for one with a tool after which nobody goes on: where its call is cut off, the turn is parked", async () => {
    const { reconcile: _, ...final } = note;
    expect(await broken(() => parts({ tools: [final] }))).toEqual({});
  });

  breakNothingElse(faults);

  it("says what a report does not fit in, and that a turn has no end, whatever else breaks by it", async () => {
    const long = parts({
      step: stepping(
        () => {},
        (given) => ({ ...given, text: "long", remainingSteps: 1.5 }),
      ),
    });
    expect(await broken(() => long)).toMatchObject({ "reports what fits the contract": expect.stringContaining("remainingSteps") });
    const endless = parts({ step: async () => ({ next: "continue" }) });
    expect(await broken(() => endless, { maxSteps: 3 })).toMatchObject({ "comes to its end": expect.stringContaining("after 3 steps") });
    // It begins anew in each process, and so comes nowhere.
    const forgetful = () => {
      let part = 0;
      return parts({ step: async () => ({ ...report(++part), remainingSteps: null }) });
    };
    expect(await broken(forgetful, { without: ["tools"] })).toMatchObject({
      [handed]: expect.stringContaining(
        'not come to its end; its last steps reported: continue "part 1", continue "part 1", continue "part 1"\n',
      ),
    });
  });
});

describe("the options of exerciseBackend", () => {
  it.each([
    [null, "options of exerciseBackend is null; expected an object"],
    [{}, "open is missing; expected a function"],
    [{ open: () => parts(), withot: ["tools"] }, "exerciseBackend has no option withot; there are open,"],
    [{ open: () => parts(), without: ["tool"] }, 'a part of without is "tool"; expected one of boundary, tools, composition'],
    [{ open: () => parts(), answer: "yes" }, 'answer is "yes"; expected a function'],
    [{ open: () => parts(), maxSteps: Number.NaN }, "maxSteps is NaN; expected a whole number from 1"],
    [{ open: () => parts(), soonMs: -1 }, "soonMs is -1; expected a whole number from 1"],
  ])("that are wrong are one failing test: %#", async (given, message) => {
    const tests: (() => Promise<void>)[] = [];
    exerciseBackend("wrong", given as never, { describe: (_, body) => body(), test: (_, body) => void tests.push(body) });
    expect(tests).toHaveLength(1);
    await expect(tests[0]?.()).rejects.toThrow(message);
  });
});
