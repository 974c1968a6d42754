import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { buildProgram } from "../../src/cli/program.ts";
import { temporaryFolder } from "../backend/survey/folder.ts";
import { bin, holdfast, holdfastProcess } from "./command.ts";

const version = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version as string;
const COMMANDS = [
  ...["demo", "run", "resume", "stop", "copy"],
  ...["ls", "show"],
  ...["verify", "receipt", "upgrade-check", "machine"],
  ...["answer", "retry", "resolve", "release"],
  ...["retain", "backup", "adopt"],
];
const oldNode = "/usr/bin/node";
const isOld = (node: string) => {
  if (!existsSync(node)) return false;
  const [major = 0, minor = 0] = execFileSync(node, ["-p", "process.versions.node"], { encoding: "utf8" }).split(".").map(Number);
  return major < 22 || (major === 22 && minor < 19);
};

describe("holdfast", () => {
  it("has the commands of this slice, each with --root, --json, a description and examples", () => {
    const { commands } = buildProgram();
    expect(commands.map((command) => command.name()).filter((name) => name !== "help")).toEqual(COMMANDS);
    const leaves = commands.flatMap((one) => (one.commands.length > 0 ? one.commands : [one]));
    for (const command of leaves.filter((one) => one.name() !== "help")) {
      const names = command.options.map((option) => option.long);
      expect(names).toContain("--root");
      expect(names).toContain("--json");
      expect(command.description()).not.toBe("");
    }
  });

  it("prints its help on stdout and exits 0", async () => {
    const ended = await holdfastProcess(["--help"]);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    for (const name of COMMANDS) expect(ended.stdout).toContain(`\n  ${name}`);
    expect(Math.max(...ended.stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it("prints the version of package.json", async () => {
    expect(await holdfastProcess(["--version"])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: "" });
  });

  it("prints one document for --help and --version with --json", async () => {
    expect((await holdfast(["--version", "--json"])).json).toEqual({ version });
    expect((await holdfast(["ls", "--help", "--json"])).json).toEqual({ help: expect.stringContaining("Usage: holdfast ls") });
  });

  it.each([
    { args: [], says: "Usage: holdfast COMMAND" },
    { args: ["lss"], says: "unknown command 'lss'" },
    { args: ["run"], says: "missing required argument 'PROMPT'" },
    { args: ["run", "a", "b"], says: "too many arguments" },
    { args: ["run", " "], says: "PROMPT: expected" },
    { args: ["run", "x", "--backend", "gpt"], says: "backend_unknown" },
    { args: ["run", "x", "--dir", "no such folder"], says: "does not exist" },
    { args: ["ls", "everything"], says: "Allowed choices are sessions, runs" },
    { args: ["ls", "--limit", "0"], says: "from 1 to 500" },
    { args: ["show", "x", "--after", "-1"], says: "whole number" },
    { args: ["verify", "--receipt", "no-such-file"], says: "cannot be read" },
    { args: ["machine"], says: "check FILE" },
    { args: ["machine", "check"], says: "missing required argument 'FILE'" },
    { args: ["machine", "check", "no-such-file.ts"], says: "is not a regular file" },
    { args: ["verify", "--what"], says: "unknown option '--what'" },
  ])("$args is wrong usage: exit 2, a complaint on stderr, nothing on stdout", async ({ args, says }) => {
    const cwd = temporaryFolder();
    const ended = await holdfast(args, { cwd });
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toContain(says);
    expect(ended.stderr).not.toContain("\n    at ");
  });

  it.each([
    { args: ["--json"], code: "argument_invalid" },
    { args: ["run", "--json"], code: "argument_invalid" },
    { args: ["run", "x", "--backend", "gpt", "--json"], code: "backend_unknown" },
    { args: ["ls", "--json"], code: "root_not_found" },
    { args: ["show", "x", "--json"], code: "root_not_found" },
    { args: ["verify", "--json"], code: "root_not_found" },
    { args: ["receipt", "x", "--json"], code: "root_not_found" },
    { args: ["resume", "x", "--json"], code: "root_not_found" },
    { args: ["stop", "x", "--json"], code: "root_not_found" },
    { args: ["retry", "x", "--json"], code: "root_not_found" },
    { args: ["resolve", "x", "--output", "1", "--json"], code: "root_not_found" },
    { args: ["release", "x", "--json"], code: "root_not_found" },
    { args: ["retain", "--final", "1d", "--json"], code: "root_not_found" },
    { args: ["backup", "copy.db", "--json"], code: "root_not_found" },
    { args: ["adopt", "--moved", "--json"], code: "root_not_found" },
    { args: ["upgrade-check", "--json"], code: "root_not_found" },
    { args: ["demo", "no such folder", "--json"], code: "argument_invalid" },
    { args: ["demo", ".", "--root", "inside", "--json"], code: "argument_invalid" },
  ])("$args gives one document with the code $code, and exit 2", async ({ args, code }) => {
    const cwd = temporaryFolder();
    const ended = await holdfast(args, { cwd });
    expect(ended).toMatchObject({ code: 2, stderr: "" });
    expect(ended.json).toEqual({ error: expect.objectContaining({ code, message: expect.any(String) }) });
    expect(existsSync(join(cwd, ".holdfast"))).toBe(false);
  });

  it("has no colour where stdout is no terminal, also with FORCE_COLOR", async () => {
    const ended = await holdfastProcess(["ls"], { cwd: temporaryFolder(), env: { FORCE_COLOR: "1" } });
    expect(ended.stdout + ended.stderr).not.toContain("\u001b");
  });

  it.runIf(isOld(oldNode))("refuses an older Node in one line that names the version it needs", () => {
    // A checkout's file has the ending of TypeScript, which an old Node does not even try; the build's does not.
    const copy = join(temporaryFolder(), "bin.mjs");
    copyFileSync(bin, copy);
    const ended = spawnSync(oldNode, [copy, "demo"], { encoding: "utf8" });
    expect(ended).toMatchObject({ status: 2, stdout: "" });
    expect(ended.stderr).toMatch(/^holdfast needs Node 22\.19 or newer; this is Node [^\n]+\n$/);
  });
});
