/**
 * Generate: every generated page and every included block, compared with what is on disk.
 *
 * The same sources give the same bytes. A page whose source is gone is removed; a page without the generated mark is never touched.
 */

import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cliPage } from "./cli-page.ts";
import { errorIndex, errorPage } from "./error-page.ts";
import { withIncludes } from "./include.ts";
import { machineIndex, machinePage } from "./machine-page.ts";
import { GENERATED } from "./markdown.ts";
import type { Source } from "./source.ts";
import { markdownBelow, read } from "./tree.ts";

/** A file that is not as it should be; `content` is null where it should not exist. */
export interface Change {
  readonly path: string;
  readonly content: string | null;
}

/** What `npm run docs` would write or remove now. */
export function changes(root: string, source: Source): Change[] {
  const pages = pagesOf(source);
  const present = markdownBelow(root);
  const found: Change[] = [];
  for (const [path, content] of pages) if (!existsSync(join(root, path)) || read(root, path) !== content) found.push({ path, content });
  for (const path of present) {
    if (pages.has(path)) continue;
    const text = read(root, path);
    const content = text.startsWith(GENERATED) ? null : withIncludes(root, path, text);
    if (content !== text) found.push({ path, content });
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Makes the files on disk what they should be. */
export function apply(root: string, found: readonly Change[]): void {
  for (const { path, content } of found) {
    const file = join(root, path);
    if (content === null) {
      rmSync(file);
      continue;
    }
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

function pagesOf(source: Source): Map<string, string> {
  const pages = new Map<string, string>();
  const paths = source.paths();
  for (const machine of source.machines) {
    const found = paths.find((one) => one.machine === machine.id);
    if (!found) throw new Error(`test/machines/paths has nothing for the machine ${machine.id}`);
    pages.set(`docs/machines/${machine.id}.md`, machinePage(machine, `machines/${machine.id}.ts`, found));
  }
  pages.set("docs/machines/README.md", machineIndex(source.machines));
  for (const { layer, codes } of source.codes) {
    for (const [name, entry] of Object.entries(codes)) {
      const path = `docs/errors/${name}.md`;
      if (pages.has(path)) throw new Error(`the code ${name} is registered twice`);
      pages.set(path, errorPage(name, layer, entry));
    }
  }
  pages.set("docs/errors/README.md", errorIndex(source.codes));
  pages.set("docs/cli.md", cliPage(source.program));
  return pages;
}
