/**
 * Include: keeps the code in Markdown equal to the file that runs.
 *
 * `<!-- file: docs/examples/actors.ts -->` on a line of its own, followed by a fenced block: the block holds that file, from
 * the line after the first line that is exactly `// ---` where there is one.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { read } from "./tree.ts";

const BLOCK = /^(<!-- file: (\S+) -->)(?:\n+```[^\n]*\n.*?^```$)?/gms;

/** The text with its blocks brought up to date. Throws where a named file does not exist. */
export function withIncludes(root: string, page: string, text: string): string {
  return text.replace(BLOCK, (_, marker: string, path: string) => {
    if (!existsSync(join(root, path))) throw new Error(`${page} includes ${path}, which does not exist`);
    return `${marker}\n\`\`\`${path.split(".").at(-1)}\n${excerpt(read(root, path))}\n\`\`\``;
  });
}

function excerpt(text: string): string {
  const mark = /^\/\/ ---\n/m.exec(text);
  return (mark ? text.slice(mark.index + mark[0].length) : text).trim();
}
