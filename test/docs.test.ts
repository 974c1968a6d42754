import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { changes } from "../tools/docs/generate.ts";
import { brokenLinks } from "../tools/docs/links.ts";
import { loadSource } from "../tools/docs/source.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

describe("docs", () => {
  it("generated pages and included examples are what `npm run docs` writes", async () => {
    expect(changes(root, loadSource()).map((change) => change.path)).toEqual([]);
  });

  it("every relative link leads to a file and a heading that exist", () => {
    expect(brokenLinks(root)).toEqual([]);
  });
});
