import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { counted, folder, temporaryFolder } from "../backend/survey/folder.ts";
import { holdfast, holdfastProcess, manyFiles, owner, PROJECT, sealedRun } from "./command.ts";

describe("holdfast run", () => {
  it("replaces nothing but a regular file by its report", async () => {
    const cwd = folder(PROJECT);
    const place = temporaryFolder();
    const root = join(place, "root");
    execFileSync("mkfifo", [join(place, "pipe")]);
    symlinkSync("nowhere", join(place, "link"));
    writeFileSync(join(place, "file"), "");
    for (const out of ["pipe", "link", "file/below"]) {
      const ran = await holdfast(["run", "Survey it", "--dir", cwd, "--root", root, "--out", join(place, out), "--json"]);
      expect(ran).toMatchObject({ code: 2, json: { error: { code: "argument_invalid", details: { path: "--out" } } } });
    }
    expect(existsSync(root)).toBe(false);
    expect(lstatSync(join(place, "pipe")).isFIFO()).toBe(true);
  });

  it("refuses to work in the state root, whose lock a reader in the same process would drop", async () => {
    const root = join(temporaryFolder(), "root");
    await holdfast(["run", "Survey it", "--dir", folder(PROJECT), "--root", root, "--json"]);
    for (const dir of [root, join(root, "reports")]) {
      const ran = await holdfast(["run", "Survey it", "--dir", dir, "--root", root, "--json"]);
      expect(ran).toMatchObject({ code: 2, json: { error: { code: "argument_invalid", details: { path: "--dir" } } } });
    }
  });

  it("does a survey whose numbers are those of find and grep, and leaves everything to be read", async () => {
    const cwd = folder(PROJECT);
    const root = join(temporaryFolder(), "root");
    const ran = await holdfastProcess(["run", "Survey it", "--dir", cwd, "--root", root, "--json"]);
    expect(ran.code).toBe(0);
    const { run, session, turn, report } = ran.json;
    expect(ran.json).toEqual({
      root,
      run,
      session,
      turn,
      continues: null,
      state: "completed",
      outcome: { kind: "completed", stopReason: "end_turn" },
      report: join(root, "reports", `${session}.md`),
      survey: counted(cwd),
    });
    expect(readFileSync(report, "utf8")).toMatch(/^# /);

    const listed = await holdfast(["ls", "--root", root, "--json"]);
    expect(listed).toMatchObject({ code: 0, stderr: "" });
    expect(listed.json).toMatchObject({
      list: "runs",
      next: null,
      items: [{ id: run, state: "completed", final: true, session, turn, successor: null }],
    });
    expect((await holdfast(["ls", "sessions", "--root", root, "--json"])).json.items).toMatchObject([
      { id: session, folder: cwd, turns: 1, run: null },
    ]);
    expect((await holdfast(["ls", "handoffs", "--root", root])).stdout).toBe("No handoffs.\n");
    expect((await holdfast(["ls", "effects", "--root", root])).stdout).toBe("No effects are open.\n");

    const shown = await holdfast(["show", run, "--root", root, "--json"]);
    expect(shown.json).toMatchObject({ address: `run/${run}`, state: "completed", continuedBy: null, seal: null, next: null });
    const types = shown.json.journal.flatMap((entry: { facts: string[] }) => entry.facts);
    expect(types.filter((type: string) => type === "run.dispatched")).toHaveLength(1);
    expect(types.at(-1)).toBe("run.ended");
    expect((await holdfast(["verify", "--root", root, "--json"])).json).toEqual({ ok: true, actors: 2, unfolded: 0, faults: [] });
  });

  it("says for people where the report is, on stdout alone", async () => {
    const cwd = folder(PROJECT);
    const out = join(temporaryFolder(), "deep", "report.md");
    const { files, bytes, lines } = counted(cwd);
    const ran = await holdfast(["run", "Survey it", "--out", out], { cwd });
    expect(ran.code).toBe(0);
    expect(ran.stdout).toContain(`Surveyed ${files} files, ${bytes} bytes, ${lines} lines.\nReport   ${out}\n`);
    expect(ran.stderr).toMatch(/^Run [\w-]+ works in [^\n]+\n$/);
    expect(existsSync(out)).toBe(true);
  });

  it("leaves its own state root and report out of the survey of the folder that holds them", async () => {
    const cwd = folder(PROJECT);
    const before = counted(cwd);
    for (const _ of [1, 2])
      expect((await holdfast(["run", "Survey it", "--json", "--out", "report.md"], { cwd })).json.survey).toEqual(before);
    expect(existsSync(join(cwd, ".holdfast", "holdfast.db"))).toBe(true);
  });

  it("refuses a report where a directory is, before anything is made", async () => {
    const cwd = folder(PROJECT);
    expect(await holdfast(["run", "Survey it", "--out", "src"], { cwd })).toMatchObject({ code: 2, stdout: "" });
    expect(existsSync(join(cwd, ".holdfast"))).toBe(false);
  });

  it("stops cleanly at Ctrl-C: exit 130, a cancelled run that can be continued, and a whole root", async () => {
    const cwd = folder(manyFiles(3000));
    const root = join(temporaryFolder(), "root");
    let sent = false;
    const ran = await holdfastProcess(["run", "Survey it", "--dir", cwd, "--root", root], {
      onStderr: (text, child) => {
        if (sent || !/^Run [\w-]+ works in/.test(text)) return;
        sent = true;
        child.kill("SIGINT");
      },
    });
    expect(ran.code).toBe(130);
    expect(ran.stdout).toContain("cancelled by user");
    const [run] = (await holdfast(["ls", "--root", root, "--json"])).json.items;
    expect(run).toMatchObject({ state: "cancelled", outcome: { kind: "cancelled", by: "user" } });
    expect((await holdfast(["verify", "--root", root, "--json"])).json).toMatchObject({ ok: true, faults: [] });
    const resumed = await holdfast(["resume", run.id, "--root", root, "--json"]);
    expect(resumed).toMatchObject({ code: 0, json: { state: "completed", continues: run.id, survey: counted(cwd) } });
  });
});

describe("a root that a living process owns", () => {
  it("refuses run, resume and stop with root_owned and the owner's pid, and can be read and checked", async () => {
    const cwd = folder(PROJECT);
    const root = join(temporaryFolder(), "root");
    const opened = await owner(root);
    const run = await (await opened.createSession({ backend: "survey", cwd })).send("Survey it.");
    await run.end();
    for (const args of [
      ["run", "x", "--dir", cwd],
      ["resume", run.id],
      ["stop", run.id],
    ]) {
      const refused = await holdfastProcess([...args, "--root", root, "--json"]);
      expect(refused).toMatchObject({ code: 2, json: { error: { code: "root_owned", details: { pid: process.pid } } } });
    }
    expect((await holdfastProcess(["stop", run.id, "--root", root])).stderr).toContain(`process ${process.pid}`);
    expect((await holdfastProcess(["ls", "--root", root])).stdout).toContain(run.id);
    expect((await holdfastProcess(["show", `run/${run.id}`, "--root", root])).stdout).toContain("completed: end_turn");
    expect(await holdfastProcess(["verify", "--root", root])).toMatchObject({ code: 0, stdout: "ok  2 actors, no fault\n" });
  });
});

describe("ls and show", () => {
  it("page by cursor, in the order of creation", async () => {
    const cwd = folder({ "a.txt": "a\n" });
    const root = join(temporaryFolder(), "root");
    const opened = await owner(root);
    const session = await opened.createSession({ backend: "survey", cwd });
    const ids: string[] = [];
    for (const _ of [1, 2, 3]) {
      const run = await session.send("Survey it.");
      await run.end();
      ids.push(run.id);
    }
    const first = (await holdfastProcess(["ls", "--root", root, "--limit", "2", "--json"])).json;
    const second = (await holdfastProcess(["ls", "--root", root, "--limit", "2", "--after", String(first.next), "--json"])).json;
    expect([...first.items, ...second.items].map((item: { id: string }) => item.id)).toEqual(ids);
    expect(second.next).toBe(null);
    const shown = (await holdfastProcess(["show", ids[0] as string, "--root", root, "--limit", "3", "--after", "2", "--json"])).json;
    expect(shown.journal.map((entry: { seq: number }) => entry.seq)).toEqual([3, 4, 5]);
    expect(shown.next).toBe(5);
  });

  it("say what is not there: exit 2 and a code for each kind", async () => {
    const root = join(temporaryFolder(), "root");
    await owner(root);
    for (const [id, code] of [
      ["run/x", "run_not_found"],
      ["session/x", "session_not_found"],
      ["handoff/x", "actor_not_found"],
      ["x", "actor_not_found"],
    ] as const)
      expect(await holdfastProcess(["show", id, "--root", root, "--json"])).toMatchObject({ code: 2, json: { error: { code } } });
  });
});

describe("holdfast resume and stop", () => {
  it("continues a sealed run under its seal by itself, once, and writes its receipt", async () => {
    const cwd = folder(PROJECT);
    const root = join(temporaryFolder(), "root");
    const run = await sealedRun(root, cwd);
    expect((await holdfast(["show", run, "--root", root])).stdout).toMatch(/sealed for run [\s\S]*continued by\s+nobody yet/);
    expect(await holdfast(["receipt", run, "--root", root, "--json"])).toMatchObject({
      code: 2,
      json: { error: { code: "receipt_unavailable" } },
    });

    const resumed = await holdfastProcess(["resume", run, "--root", root, "--json"]);
    expect(resumed).toMatchObject({
      code: 0,
      json: { state: "completed", continues: run, survey: counted(cwd), report: join(root, "reports", "report.md") },
    });
    const again = await holdfast(["resume", run, "--root", root, "--json"]);
    expect(again).toMatchObject({ code: 2, json: { error: { code: "continuation_already_exists" } } });
    expect(again.json.error.details.reasons).toMatchObject([{ code: "continuation_already_exists", message: expect.any(String) }]);
    expect((await holdfast(["show", run, "--root", root, "--json"])).json).toMatchObject({
      state: "sealed",
      continuedBy: resumed.json.run,
    });

    const place = temporaryFolder();
    expect((await holdfast(["receipt", run, "--root", root], { cwd: place })).code).toBe(0);
    const printed = await holdfast(["receipt", resumed.json.run, "--root", root, "--json"]);
    expect(readFileSync(join(place, `${run}.receipt.json`), "utf8")).toBe(printed.stdout);
    expect(await holdfast(["verify", "--receipt", `${run}.receipt.json`, "--json"], { cwd: place })).toMatchObject({
      code: 0,
      json: { ok: true, sealed: run, successor: resumed.json.run, faults: [] },
    });
  });

  it("parks what is done or unknown, and says why", async () => {
    const cwd = folder(PROJECT);
    const root = join(temporaryFolder(), "root");
    const { run } = (await holdfast(["run", "x", "--dir", cwd, "--root", root, "--json"])).json;
    const done = await holdfast(["resume", run, "--root", root]);
    expect(done).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("nothing_to_resume") });
    expect(done.stderr.split("completed its turn")).toHaveLength(2);
    expect(await holdfast(["resume", "x", "--root", root, "--json"])).toMatchObject({
      code: 2,
      json: { error: { code: "run_not_found" } },
    });
    expect(await holdfast(["stop", run, "--root", root, "--json"])).toMatchObject({ code: 2, json: { error: { code: "run_not_active" } } });
  });

  it("stops a sealed turn for good: its successor is cancelled, and nobody can continue the seal", async () => {
    const cwd = folder(PROJECT);
    const root = join(temporaryFolder(), "root");
    const run = await sealedRun(root, cwd);
    const stopped = await holdfastProcess(["stop", run, "--root", root, "--json"]);
    expect(stopped).toMatchObject({ code: 0, json: { state: "cancelled", continues: run } });
    expect(await holdfast(["resume", run, "--root", root, "--json"])).toMatchObject({
      code: 2,
      json: { error: { code: "continuation_already_exists" } },
    });
    expect((await holdfast(["verify", "--root", root, "--json"])).json).toMatchObject({ ok: true });
  });

  it("says which fields drifted when the successor fails for it, and exits 1", async () => {
    const cwd = folder(PROJECT);
    const root = join(temporaryFolder(), "root");
    const run = await sealedRun(root, cwd);
    const resumed = await holdfast(["resume", run, "--root", root, "--out", join(root, "elsewhere.md"), "--json"]);
    expect(resumed).toMatchObject({
      code: 1,
      json: { error: { code: "composition_drift", details: { drift: [{ field: "provider_options" }] } } },
    });
  });
});
