import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { put, temporaryFolder } from "../backend/survey/folder.ts";
import { type Ended, holdfast, holdfastProcess } from "./command.ts";

const from = (specifier: string) => JSON.stringify(import.meta.resolve(specifier));
const session = pathToFileURL(join(import.meta.dirname, "../../machines/session.ts")).href;

/** A module with a good machine, and one with two problems; in TypeScript. */
const MODULE = `
import { setup } from ${from("xstate")};
import { z } from ${from("zod")};
const nothing: z.ZodType = z.strictObject({});
const schemas = { input: nothing, context: nothing, events: { go: nothing }, facts: {} };
const make = (id: string, state: object) =>
  setup({ schemas } as never).createMachine({ id, version: "3", context: {}, initial: "one", states: { one: state, two: {} } } as never);
console.log("loading");
export const good = make("good", { on: { go: "two" } });
export const both = [good, make("bad", { entry: () => {}, after: { 1000: "two" } })];
export default good;
export const other = { root: {} };
`;

function check(content: string, ...options: string[]): Promise<Ended> {
  const folder = temporaryFolder();
  put(folder, "machines.ts", content);
  return holdfastProcess(["machine", "check", join(folder, "machines.ts"), ...options]);
}

describe("holdfast machine check", () => {
  it("tells of every machine of a file that it is well, or each of its problems with the way out, and exits 1", async () => {
    const { code, stdout, stderr } = await check(MODULE);
    expect(code).toBe(1);
    expect(stdout).toContain("ok  good, version 3  (export good)");
    expect(stdout).toContain("2 problems  bad, version 3  (export both[1])");
    expect(stdout).toContain("bad.one.entry has an action without a name");
    expect(stdout).toContain("setup({ delays: { patience: 1000 } })");
    expect(stderr).toBe("loading\n");
  });

  it("gives one document with --json, whatever the module prints", async () => {
    const { code, json } = await check(MODULE, "--json");
    expect(code).toBe(1);
    expect(json).toEqual({
      file: expect.stringMatching(/machines\.ts$/),
      machines: [
        { export: "good", id: "good", version: "3", definition: expect.stringMatching(/^[0-9a-f]{64}$/), ok: true, problems: [] },
        {
          export: "both[1]",
          id: "bad",
          version: "3",
          definition: null,
          ok: false,
          problems: [
            { path: "bad.one.entry", problem: expect.any(String), remedy: expect.any(String) },
            { path: "bad.one.after.1000", problem: expect.any(String), remedy: expect.any(String) },
          ],
        },
      ],
    });
  });

  it("exits 0 where all are well, and takes --root like every command", async () => {
    expect(await check(`export { session } from ${JSON.stringify(session)};`, "--root", "nowhere")).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringContaining("ok  session"),
    });
  });

  it.each([
    { what: "a module without a machine", content: "export const one = 1;", code: "machine_not_found", says: "machines.ts" },
    { what: "a syntax error", content: "export const = 1;", code: "module_unloadable", says: "cannot be loaded" },
    { what: "an import that leads nowhere", content: 'import "./gone.ts";', code: "module_unloadable", says: "gone.ts" },
    { what: "a module that throws", content: 'throw new Error("not today");', code: "module_unloadable", says: "not today" },
    { what: "a module that exits", content: "process.exit(0);", code: "module_unloadable", says: "process.exit(0)" },
    {
      what: "a module that exits by another name, and catches what it is told",
      content: 'import { exit } from "node:process"; try { exit(); } catch {} export const one = 1;',
      code: "module_unloadable",
      says: "process.exit()",
    },
    {
      what: "a machine that XState refuses",
      content: `import { createMachine } from ${from("xstate")}; export const m = createMachine({ on: { go: "gone" } });`,
      code: "module_unloadable",
      says: "gone",
    },
  ])("refuses $what, with $code and exit 2", async ({ content, code, says }) => {
    const ended = await check(content, "--json");
    expect(ended).toMatchObject({ code: 2, json: { error: { code, message: expect.stringContaining(says) } } });
  });

  it("refuses what is no file", async () => {
    expect(await holdfast(["machine", "check", temporaryFolder(), "--json"])).toMatchObject({
      code: 2,
      json: { error: { code: "argument_invalid", details: { path: "FILE" } } },
    });
  });
});
