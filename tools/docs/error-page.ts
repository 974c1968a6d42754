/** Error page: one code of the registry, and the index of all. */

import type { CodeEntry } from "../../src/actor/error.ts";
import { code, page, table } from "./markdown.ts";

/** A layer's part of the registry. */
export interface CodeTable {
  /** Where the codes come from, in one word: `engine`, `agent`. */
  readonly layer: string;
  readonly codes: Readonly<Record<string, CodeEntry>>;
}

export function errorPage(name: string, layer: string, entry: CodeEntry): string {
  return page(
    `# ${code(name)}`,
    `Given by: ${layer}. Retryable: ${entry.retryable ? "yes, the same call may succeed later" : "no, something must change first"}.`,
    `## Cause\n\n${entry.cause}`,
    `## How to see it\n\n${howToSee(name)}`,
    `## What to do\n\n${entry.remedy}`,
    "[All codes](README.md)",
  );
}

export function errorIndex(tables: readonly CodeTable[]): string {
  const rows = tables.flatMap(({ layer, codes }) =>
    Object.entries(codes).map(([name, entry]) => [`[${name}](${name}.md)`, layer, entry.retryable ? "yes" : "no", entry.cause]),
  );
  return page(
    "# Error codes",
    "Every error, refusal and reason that Holdfast gives carries one of these codes. Codes are stable; message texts are not.",
    table(
      ["Code", "Given by", "Retryable", "Cause"],
      rows.sort(([a], [b]) => ((a as string) < (b as string) ? -1 : 1)),
    ),
  );
}

function howToSee(name: string): string {
  return [
    `- In a program: \`error.code === "${name}"\` on a \`HoldfastError\`, or \`code\` in an answer, a park or a quarantine record.`,
    `- On the command line: the code stands in the message; with \`--json\` it is a \`code\` field of the document.`,
  ].join("\n");
}
