import { spawn } from "node:child_process";
import { existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { folder, temporaryFolder } from "../backend/survey/folder.ts";
import { bin, holdfast, holdfastProcess, manyFiles, PROJECT } from "./command.ts";
import { shop } from "./shop.ts";

/** The command with a stdout that nobody reads. */
function unread(args: readonly string[]): Promise<{ code: number | null; stderr: string }> {
  const child = spawn(process.execPath, [bin, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdout.destroy();
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, stderr })));
}

/** Makes every write to stdout fail as on a full disk. */
const FULL = `data:text/javascript,${encodeURIComponent(`
  const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  process.stdout._write = (chunk, encoding, done) => done(full);
  process.stdout._writev = undefined;
`)}`;

describe("stdout", () => {
  it("that nobody reads any more is no fault: nothing is said, also not by --help", async () => {
    const root = await shop();
    expect(await unread(["ls", "actors", "--root", root])).toEqual({ code: 0, stderr: "" });
    expect(await unread(["--help"])).toEqual({ code: 0, stderr: "" });
    expect(await unread(["show", "nobody", "--root", root, "--json"])).toEqual({ code: 2, stderr: "" });
  });

  it("that cannot be written is told on stderr, in words and not as a stack, and exits 1", async () => {
    const root = await shop();
    for (const args of [["ls", "actors", "--root", root], ["ls", "actors", "--root", root, "--json"], ["--help"]]) {
      const ended = await holdfastProcess(args, { env: { NODE_OPTIONS: `--import ${FULL}` } });
      expect(ended).toMatchObject({ code: 1, stdout: "" });
      expect(ended.stderr).toMatch(/^holdfast: output_unwritable: stdout cannot be written: ENOSPC[^\n]*\n {2}[^\n]+\n$/);
    }
  });
});

describe("an option without its value", () => {
  it.each([
    ["ls", "--root", "--json"],
    ["run", "x", "--dir", "--json"],
    ["ls", "--limit", "--json"],
    ["ls", "--root=", "--json"],
  ])("is refused: %s %s %s %s", async (...args) => {
    const ended = await holdfast(args, { cwd: temporaryFolder() });
    expect(ended).toMatchObject({
      code: 2,
      json: { error: { code: "argument_invalid", message: expect.stringContaining("Expected a value") } },
    });
  });
});

describe("a signal", () => {
  it.each(["SIGTERM", "SIGINT"] as const)("%s while the command is being loaded gives one document and exit 130", async (signal) => {
    // Raised from within, at the first moment at which the command listens: before its first module is loaded.
    const early = `data:text/javascript,${encodeURIComponent(`
      const { on } = process;
      process.on = function (name, listener) {
        on.call(this, name, listener);
        if (name === "SIGHUP") { process.on = on; this.emit("${signal}", "${signal}"); }
        return this;
      };
    `)}`;
    const cwd = folder(PROJECT);
    for (const args of [
      ["demo", cwd, "--json"],
      ["run", "x", "--dir", cwd, "--root", join(cwd, "..", "root"), "--json"],
      ["ls", "--json"],
    ]) {
      const ended = await holdfastProcess(args, { cwd, env: { NODE_OPTIONS: `--import ${early}` } });
      expect(ended).toMatchObject({ code: 130, stderr: "", json: { error: { code: "command_interrupted" } } });
    }
    expect(existsSync(join(cwd, "..", "root"))).toBe(false);
  });
});

describe("a state root that is removed under a run", () => {
  it("is not made again for others to read", async () => {
    const root = join(temporaryFolder(), "root");
    let removed = false;
    await holdfastProcess(["run", "Survey it", "--dir", folder(manyFiles(500)), "--root", root], {
      onStderr: (text) => {
        if (removed || !/^Run [\w-]+ works in/.test(text)) return;
        removed = true;
        rmSync(root, { recursive: true });
      },
    });
    expect(removed).toBe(true);
    if (existsSync(root)) expect(statSync(root).mode & 0o777).toBe(0o700);
  });
});
