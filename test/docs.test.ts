import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { changes } from "../tools/docs/generate.ts";
import { brokenLinks } from "../tools/docs/links.ts";
import { loadSource } from "../tools/docs/source.ts";
import { read } from "../tools/docs/tree.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

describe("docs", () => {
  it("generated pages and included examples are what `npm run docs` writes", async () => {
    expect(changes(root, loadSource()).map((change) => change.path)).toEqual([]);
  });

  it("every relative link leads to a file and a heading that exist", () => {
    expect(brokenLinks(root)).toEqual([]);
  });

  it("the architecture page lists every file of the engine once, and no other", () => {
    const [, list = ""] = /\n## The files of src\/actor\n([\s\S]*?)\n## /.exec(read(root, "docs/architecture.md")) ?? [];
    const listed = list
      .split("\n")
      .filter((line) => line.startsWith("| `"))
      .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map((match) => match[1]));
    expect(listed.sort()).toEqual(readdirSync(join(root, "src/actor")).sort());
  });
});
