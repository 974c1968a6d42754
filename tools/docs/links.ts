/** Links: relative links in Markdown that lead nowhere. */

import { existsSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { markdownBelow, read } from "./tree.ts";

/** `page: target` for each relative link whose file or heading does not exist. */
export function brokenLinks(root: string): string[] {
  return markdownBelow(root).flatMap((page) =>
    linksIn(read(root, page))
      .filter((target) => !resolves(root, page, target))
      .map((target) => `${page}: ${target}`),
  );
}

function linksIn(text: string): string[] {
  const prose = text.replace(/^(\s*)(```|~~~).*?^\1\2$/gms, "").replace(/`[^`\n]*`/g, (span) => (/\]\(/.test(span) ? "" : span));
  const inline = [...prose.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)];
  const references = [...prose.matchAll(/^\[[^\]]+\]:\s*<?(\S+?)>?$/gm)];
  return [...inline, ...references].map((match) => match[1] as string).filter((target) => !/^[a-z][a-z0-9+.-]*:/i.test(target));
}

function resolves(root: string, page: string, target: string): boolean {
  const [path = "", heading] = decodeURI(target).split("#");
  const file = path === "" ? page : normalize(join(dirname(page), path));
  if (file.startsWith("..") || !existsSync(join(root, file))) return false;
  if (heading === undefined || !file.endsWith(".md") || statSync(join(root, file)).isDirectory()) return true;
  return headingsIn(read(root, file)).has(heading);
}

/** Anchors as GitHub makes them: lower case, punctuation dropped, spaces to dashes, repetitions numbered. */
function headingsIn(text: string): Set<string> {
  const found = new Map<string, number>();
  const anchors = new Set<string>();
  for (const match of text.replace(/^```.*?^```$/gms, "").matchAll(/^#{1,6}\s+(.*?)\s*#*$/gm)) {
    const slug = (match[1] as string)
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-");
    const times = found.get(slug) ?? 0;
    found.set(slug, times + 1);
    anchors.add(times === 0 ? slug : `${slug}-${times}`);
  }
  return anchors;
}
