/** The package as it is built: which files a program loads, and that nothing is there twice. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { publicExports } from "../tools/architecture/scan.ts";
import { bundlePackage } from "../tools/build/bundle.ts";
import { ROOT } from "../tools/command.ts";

const ENTRIES = ["src/index", "src/actors", "machines/index", "src/testing/index"];
const place = mkdtempSync(join(tmpdir(), "holdfast-build-"));
const dist = join(place, "dist");

beforeAll(async () => {
  symlinkSync(join(ROOT, "node_modules"), join(place, "node_modules"));
  writeFileSync(join(place, "package.json"), readFileSync(join(ROOT, "package.json")));
  await bundlePackage(dist);
});

afterAll(() => rmSync(place, { recursive: true, force: true }));

/** What a file imports when it is loaded: files below `dist`, and packages. */
function loadedBy(name: string, seen = new Set<string>()): Set<string> {
  if (seen.has(name)) return seen;
  seen.add(name);
  if (!name.endsWith(".js")) return seen;
  const text = readFileSync(join(dist, name), "utf8");
  for (const [, specifier = ""] of text.matchAll(/^(?:import|export)\b[^"'`;]*["']([^"']+)["'];$/gm))
    loadedBy(specifier.startsWith(".") ? relative(dist, join(dist, dirname(name), specifier)) : specifier, seen);
  return seen;
}

/** What a program prints that runs beside the package. */
function printed(program: string): unknown {
  const args = ["--input-type=module", "--eval", program];
  return JSON.parse(execFileSync(process.execPath, args, { cwd: place, encoding: "utf8" }));
}

describe("the engine alone", () => {
  it("is a few files, and needs no zod and no Effect to start", () => {
    const loaded = [...loadedBy("src/actors.js")];
    expect(loaded.filter((name) => !/^node:|\.js$/.test(name)).sort()).toEqual(["better-sqlite3", "canonicalize", "xstate"]);
    expect(loaded.filter((name) => name.endsWith(".js")).length).toBeLessThanOrEqual(5);
  });

  it("loads with its first effect what handlers need, and no kit for tests", () => {
    const texts = [...loadedBy("src/actors.js")]
      .filter((name) => name.endsWith(".js"))
      .map((name) => readFileSync(join(dist, name), "utf8"));
    const later = texts.flatMap((text) => [...text.matchAll(/import\("\.\/(handling-[^"]+)"\)/g)].map(([, name]) => `chunk/${name}`));
    expect(later).toHaveLength(1);
    const loaded = [...loadedBy(later[0] ?? "")];
    expect(loaded).toContain("effect/Effect");
    expect(loaded).not.toContain("@xstate/graph");
  });

  it("brings the licence of the parts of zod that it contains", () => {
    const texts = [...loadedBy("src/actors.js")]
      .filter((name) => name.endsWith(".js"))
      .map((name) => readFileSync(join(dist, name), "utf8"));
    expect(texts.some((text) => text.includes("node_modules/zod/"))).toBe(true);
    expect(readFileSync(join(dist, "chunk", "LICENSE-zod"), "utf8")).toContain("MIT License");
  });

  it("finds what it loads later", async () => {
    const program = `
      import { openActors } from "holdfast/actors";
      import { effect } from "holdfast/machines";
      import { setup } from "xstate";
      import { z } from "zod";
      const any = z.looseObject({});
      const schemas = { input: any, context: any, events: { "go": any, "done": any }, facts: {},
        effects: { work: { params: any, done: "done", delivery: "at_least_once" } } };
      const machine = setup({ schemas, actions: { work: effect() } }).createMachine({ id: "m", version: "1", context: {}, initial: "a",
        states: { a: { on: { go: "b" } }, b: { entry: { type: "work", params: {} }, on: { done: "c" } }, c: { type: "final" } } });
      const engine = await openActors({ root: ${JSON.stringify(join(place, "root"))}, machines: [machine], effects: { work: async () => 1 } });
      const actor = await engine.create(machine, "x", { input: {} });
      await actor.send({ type: "go" });
      const { value } = await actor.waitFor((snapshot) => snapshot.status === "done");
      console.log(JSON.stringify(value));
      await engine.close();`;
    expect(printed(program)).toBe("c");
  });
});

describe("the package", () => {
  it.each(ENTRIES)("%s exports what its source does", (entry) => {
    const { pathname } = new URL(`file://${join(dist, entry)}.js`);
    const names = printed(`console.log(JSON.stringify(Object.keys(await import(${JSON.stringify(pathname)}))))`) as string[];
    const source = publicExports(ROOT, `${entry}.ts`).map(({ name }) => name);
    expect(names.filter((name) => !source.includes(name))).toEqual([]);
    expect(names.length).toBeGreaterThan(5);
  });

  it("holds each module once, so that an error of one entry is one of the other", () => {
    const program = `
      import * as actors from "holdfast/actors";
      import * as all from "holdfast";
      import * as machines from "holdfast/machines";
      console.log(JSON.stringify([actors.HoldfastError === all.HoldfastError, actors.deliver === machines.deliver]));`;
    expect(printed(program)).toEqual([true, true]);
    const comments = readdirSync(dist, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".js"))
      .flatMap((name) => readFileSync(join(dist, name), "utf8").match(/^\/\/ (?:src|machines)\/\S+\.ts$/gm) ?? []);
    expect(comments.length).toBeGreaterThan(150);
    expect(comments.filter((path, at) => comments.indexOf(path) !== at)).toEqual([]);
  });

  it("has a command whose first file an old Node can read, and which loads the engine only with a command that needs it", () => {
    expect([...loadedBy("src/cli/bin.js")]).toEqual(["src/cli/bin.js"]);
    expect(readFileSync(join(dist, "src/cli/bin.js"), "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
    const main = /import\("\.\.\/\.\.\/(chunk\/[^"]+)"\)/.exec(readFileSync(join(dist, "src/cli/bin.js"), "utf8"))?.[1] ?? "";
    expect([...loadedBy(main)].filter((name) => ["xstate", "better-sqlite3", "effect"].includes(name))).toEqual([]);
    expect([...loadedBy(main)]).toContain("commander");
  });

  it("has a command that knows its version and finds itself", () => {
    const bin = join(dist, "src/cli/bin.js");
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
    expect(execFileSync(process.execPath, [bin, "--version"], { encoding: "utf8" }).trim()).toBe(version);
  });
});
