/** Tree: which files of the repository are looked at. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const IGNORED = new Set(["node_modules", "dist", "coverage", ".git", ".holdfast"]);

/** All files below `root` as sorted relative paths with forward slashes; what git ignores by name is left out. */
export function filesBelow(root: string, folder = ""): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => !IGNORED.has(entry.name) && !entry.name.endsWith(".tgz"))
    .flatMap((entry) => {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) return filesBelow(root, path);
      return entry.isFile() ? [path] : [];
    })
    .sort();
}

export function markdownBelow(root: string): string[] {
  return filesBelow(root).filter((path) => path.endsWith(".md"));
}

export function read(root: string, path: string): string {
  return readFileSync(join(root, path), "utf8");
}
