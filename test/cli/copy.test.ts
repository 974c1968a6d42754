import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folder, temporaryFolder } from "../backend/survey/folder.ts";
import { handedOff, holdfast, owner, PROJECT, sealedRun } from "./command.ts";

describe("holdfast copy", () => {
  it("makes a session of its own, whose turn is one run that says where it comes from, and starts nothing", async () => {
    const root = join(temporaryFolder(), "root");
    const { run, successor } = await handedOff(root, folder(PROJECT));
    const { session, turn } = (await holdfast(["show", run, "--root", root, "--json"])).json;
    const copied = await holdfast(["copy", session, "--name", "Another way", "--root", root, "--json"]);
    expect(copied).toMatchObject({ code: 0, stderr: "", json: { from: session, through: turn, turns: 1, name: "Another way" } });
    const copy = copied.json.session;
    expect((await holdfast(["show", `session/${copy}`, "--root", root, "--json"])).json).toMatchObject({
      state: "idle",
      copiedFrom: session,
      turns: 1,
      lastRun: copied.json.lastRun,
    });
    expect((await holdfast(["show", copied.json.lastRun, "--root", root, "--json"])).json).toMatchObject({
      state: "copied",
      copiedFrom: { session, turn, runs: [run, successor] },
    });
    expect((await holdfast(["ls", "effects", "--root", root])).stdout).toBe("No effects are open.\n");
    expect((await holdfast(["verify", "--root", root, "--json"])).json).toMatchObject({ ok: true });
    expect(await holdfast(["resume", copied.json.lastRun, "--root", root, "--json"])).toMatchObject({
      code: 2,
      json: { error: { code: "nothing_to_resume" } },
    });
    const told = await holdfast(["copy", session, "--through", turn, "--root", root]);
    expect(told).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^copied {2}session\/[^\n]+: 1 turn, through [^\n]+\nCopy {5}session\//),
    });
  });

  it("refuses a turn that is sealed, what is not there, and a root that somebody owns", async () => {
    const root = join(temporaryFolder(), "root");
    const run = await sealedRun(root, folder(PROJECT));
    const { session } = (await holdfast(["show", run, "--root", root, "--json"])).json;
    const refused = async (...args: string[]) => (await holdfast(["copy", ...args, "--root", root, "--json"])).json.error.code;
    expect(await refused(session)).toBe("branch_runtime_fact_rewrite_unsupported");
    expect(await refused(session, "--through", "nothing")).toBe("turn_not_found");
    expect(await refused("nothing")).toBe("session_not_found");
    await owner(root);
    expect(await refused(session)).toBe("root_owned");
  });
});
