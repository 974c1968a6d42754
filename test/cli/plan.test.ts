import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../backend/survey/folder.ts";
import { holdfast, owner } from "./command.ts";

/** A root with a plan of each kind: proposed, active with one of two steps done, and revised. */
async function plans(): Promise<string> {
  const root = temporaryFolder();
  const opened = await owner(root);
  for (const [id, goesTo] of [
    ["one", "proposed"],
    ["two", "active"],
    ["three", "revised"],
  ] as const) {
    const session = await opened.createSession({ backend: "survey", id: `session-${id}` });
    const plan = await session.proposePlan({ title: "Secret", steps: [{ title: "A" }, { title: "B" }] }, { planId: `plan-${id}` });
    if (goesTo === "proposed") continue;
    const { executionId } = await plan.approve(1);
    await plan.update(executionId, [
      { id: "step-1", status: "skipped" },
      { id: "step-2", status: "pending" },
    ]);
    if (goesTo === "active") continue;
    await plan.interrupt("asked");
    await plan.propose({ title: "Secret", steps: [{ title: "C" }] });
  }
  return root;
}

describe("work plans on the command line", () => {
  it("are listed with how far they are, and without their texts", async () => {
    const root = await plans();
    const [json, text] = await Promise.all([
      holdfast(["ls", "plans", "--root", root, "--json"]),
      holdfast(["ls", "plans", "--root", root, "--state", "active"]),
    ]);
    expect(json.json.items).toMatchObject([
      { id: "plan-one", state: "proposed", session: "session-one", revision: 1, pending: 1, execution: null, settled: null, steps: 2 },
      {
        id: "plan-two",
        state: "active",
        session: "session-two",
        revision: 1,
        pending: null,
        execution: "plan-two.1",
        settled: 1,
        steps: 2,
      },
      { id: "plan-three", state: "revised", revision: 2, pending: 2, execution: "plan-three.1", settled: 1, steps: 2 },
    ]);
    expect(text.stdout).toMatch(/^PLAN +STATE +STEPS +CREATED +SESSION\nplan-two +active +1\/2 +\S.* +session-two\n$/);
    expect(json.stdout + text.stdout).not.toContain("Secret");
  });

  it("are shown with what awaits approval and why they are interrupted", async () => {
    const root = await plans();
    const { code, stdout } = await holdfast(["show", "plan-three", "--root", root]);
    expect(code).toBe(0);
    for (const told of [
      /why +asked/,
      /awaits approval +revision 2, entry 5/,
      /approved +revision 1, entry 1/,
      /steps +1 of 2 completed or skipped/,
    ])
      expect(stdout).toMatch(told);
  });
});
