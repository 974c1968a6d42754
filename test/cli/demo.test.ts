import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { entriesOf } from "../../src/actor/page.ts";
import { openRootReader } from "../../src/store/root-store.ts";
import { counted, folder, put, temporaryFolder } from "../backend/survey/folder.ts";
import { bin, holdfast, holdfastProcess, manyFiles, PROJECT } from "./command.ts";

interface Facts {
  readonly dispatches: number;
  readonly called: string[];
  readonly settled: string[];
}

/** What the store says of a run, read by other means than the demo's own. */
function factsOf(root: string, run: string): Facts {
  const reader = openRootReader(root);
  const facts = [...entriesOf(reader, `run/${run}`)].flatMap((row) => JSON.parse(row.facts) as { type: string; callId?: string }[]);
  reader.close();
  const ids = (type: string) => facts.filter((fact) => fact.type === type).map((fact) => fact.callId as string);
  return {
    dispatches: facts.filter((fact) => fact.type === "run.dispatched").length,
    called: ids("tool.called"),
    settled: ids("tool.settled"),
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The totals that a report states. */
function reported(path: string): { files: number; bytes: number; lines: number } {
  const text = readFileSync(path, "utf8");
  const total = (name: string) => Number(new RegExp(`${name}[^\\d\\n]*([\\d,]+)`, "i").exec(text)?.[1]?.replaceAll(",", ""));
  return { files: total("files"), bytes: total("bytes"), lines: total("lines") };
}

async function plainReport(cwd: string): Promise<string> {
  const out = join(temporaryFolder(), "plain.md");
  const ran = await holdfast(["run", "x", "--dir", cwd, "--root", join(temporaryFolder(), "root"), "--out", out]);
  expect(ran.code).toBe(0);
  return readFileSync(out, "utf8");
}

const FOLDERS: Record<string, Readonly<Record<string, string>>> = {
  "a small project": PROJECT,
  "an empty folder": {},
  "a folder with one file": { "one file.txt": "1\n2" },
  "a folder with many files": manyFiles(150),
};

describe("holdfast demo", () => {
  it.each(Object.entries(FOLDERS))(
    "moves the survey of %s between processes, dispatches each run once, and proves it",
    async (_, files) => {
      const cwd = folder(files);
      const place = temporaryFolder();
      const ended = await holdfastProcess(["demo", cwd, "--json"], { env: { TMPDIR: place } });
      expect(ended).toMatchObject({ code: 0, stderr: "" });
      const { root, report, session, turn, runs, killed, refused, receipt } = ended.json;
      expect(ended.json).toEqual({
        root,
        report,
        session: expect.stringMatching(/^[\w-]{36}$/),
        turn: expect.stringMatching(/^[\w-]{36}$/),
        runs: [
          { id: runs[0].id, state: "sealed", pid: killed, revision: "1", dispatches: 1 },
          { id: runs[1].id, state: "completed", pid: runs[1].pid, revision: "2", dispatches: 1 },
        ],
        killed,
        refused: [
          { pid: refused[0].pid, code: "root_owned" },
          { pid: refused[0].pid, code: "continuation_already_exists" },
        ],
        receipt,
        verified: true,
        survey: counted(cwd),
      });
      for (const path of [root, report, receipt]) expect(dirname(dirname(path))).toBe(place);
      expect(new Set([killed, runs[1].pid, refused[0].pid]).size).toBe(3);
      for (const pid of [killed, runs[1].pid, refused[0].pid]) expect(isAlive(pid)).toBe(false);

      const facts = runs.map((run: { id: string }) => factsOf(root, run.id)) as Facts[];
      expect(facts.map(({ dispatches }) => dispatches)).toEqual([1, 1]);
      expect(facts[1]?.called.filter((call) => facts[0]?.settled.includes(call))).toEqual([]);
      expect(reported(report)).toEqual(counted(cwd));
      expect(readFileSync(report, "utf8")).toBe(await plainReport(cwd));
      expect(await holdfast(["verify", "--root", root, "--json"])).toMatchObject({ code: 0, json: { ok: true } });
      expect(await holdfast(["verify", "--receipt", receipt, "--json"])).toMatchObject({ code: 0, json: { ok: true, session, turn } });
    },
  );

  it.each(Object.entries(FOLDERS))(
    "--crash: goes on in the survey of %s without repeating a settled call, to the same report",
    async (_, files) => {
      const cwd = folder(files);
      const ended = await holdfastProcess(["demo", cwd, "--crash", "--json"], { env: { TMPDIR: temporaryFolder() } });
      expect(ended).toMatchObject({ code: 0, stderr: "" });
      const { root, report, runs, killed } = ended.json;
      expect(ended.json).toMatchObject({
        runs: [
          { state: "failed", pid: killed, revision: "1", dispatches: 1 },
          { state: "completed", revision: "2", dispatches: 1 },
        ],
        refused: [],
        receipt: null,
        verified: true,
        survey: counted(cwd),
      });
      const [first, second] = runs.map((run: { id: string }) => factsOf(root, run.id)) as [Facts, Facts];
      expect(first.settled.length).toBeGreaterThan(0);
      expect(second.called.filter((call) => first.settled.includes(call))).toEqual([]);
      expect([first.dispatches, second.dispatches]).toEqual([1, 1]);
      expect(readFileSync(report, "utf8")).toBe(await plainReport(cwd));
      const shown = (await holdfast(["show", runs[0].id, "--root", root, "--json"])).json;
      expect(shown).toMatchObject({ state: "failed", outcome: { error: { code: "interrupted" } }, continuedBy: runs[1].id });
    },
  );

  it("tells a timeline that names every process, the refusals, the report and the receipt, without colour in a pipe", async () => {
    const cwd = join(folder({}), "with spaces");
    for (const [path, content] of Object.entries(PROJECT)) put(cwd, path, content);
    const ended = await holdfastProcess(["demo", cwd], { env: { TMPDIR: temporaryFolder() } });
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout).not.toContain("\u001b");
    for (const text of ["root_owned", "continuation_already_exists", "SIGKILL", cwd, "report.md", "receipt.json (verified)", "no fault"])
      expect(ended.stdout).toContain(text);
    for (const letter of ["A", "B", "C"]) expect(ended.stdout).toMatch(new RegExp(`\\d s  ${letter}  `));
  });

  it("puts its state root outside a folder that holds the temporary one, and the report where --out says", async () => {
    const temporary = temporaryFolder();
    put(temporary, "a.txt", "a\n");
    const ended = await holdfastProcess(["demo", temporary, "--out", "report.md", "--json"], {
      env: { TMPDIR: temporary, HOME: temporaryFolder() },
      cwd: temporary,
    });
    expect(ended).toMatchObject({ code: 0, json: { report: join(temporary, "report.md"), survey: { files: 1, bytes: 2, lines: 1 } } });
    onTestFinished(() => rmSync(dirname(ended.json.root), { recursive: true }));
    expect(ended.json.root.startsWith(temporary)).toBe(false);
    expect(existsSync(join(temporary, "report.md"))).toBe(true);
  });

  it("refuses a folder that leaves no place outside it, and a root that is used", async () => {
    expect(await holdfastProcess(["demo", "/", "--json"])).toMatchObject({ code: 2, json: { error: { code: "argument_invalid" } } });
    const used = temporaryFolder();
    put(used, "a.txt", "");
    expect(await holdfastProcess(["demo", folder({}), "--root", used, "--json"])).toMatchObject({
      code: 2,
      json: { error: { code: "argument_invalid" } },
    });
  });

  it("ends its processes at Ctrl-C, leaves nothing behind, and exits 130", async () => {
    const cwd = folder(manyFiles(1500));
    const place = temporaryFolder();
    let out = "";
    const pids: number[] = [];
    const child = spawn(process.execPath, [bin, "demo", cwd], {
      env: { ...process.env, TMPDIR: place },
      stdio: ["ignore", "pipe", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      const pid = /\(process (\d+),/.exec(out)?.[1];
      if (pid === undefined || pids.length > 0) return;
      pids.push(Number(pid));
      child.kill("SIGINT");
    });
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect(code).toBe(130);
    expect(pids.map(isAlive)).toEqual([false]);
    expect(readdirSync(place)).toEqual([]);
  });
});
