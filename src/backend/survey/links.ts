/**
 * Relative links in Markdown that lead nowhere.
 *
 * A line scanner, not a Markdown parser. It knows inline links and images, also nested and with their text wrapped over lines,
 * reference definitions, targets in `<…>`, titles, escapes, fenced code and code spans within a line. Limits: links in indented
 * code, HTML comments and code spans that cross lines are taken for links; a target on another line than its `](` and lines beyond
 * 64 KiB are not looked at; of HTML's entities only `&amp;` is known.
 * Lines are latin1, one byte per character, so that a target's bytes are exact.
 */

import { lstat } from "node:fs/promises";
import { posix } from "node:path";
import { BoundedListing, type Piece } from "./lines.ts";
import { type BytePath, directoryOf, joinPath, toBuffer } from "./path.ts";

/** A fence may stand in a quote or behind a list marker. */
const FENCE = /^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)]))*[ \t]*(`{3,}(?=[^`]*$)|~{3,})[ \t]*(.*)$/;
const DEFINITION = /^[ \t>]*\[(?!\^)(?:[^[\]\\]|\\.)+\]:[ \t]*(?:<([^<>]*)>|([^ \t<][^ \t]*))[ \t]*(?:$|["'(])/;
const TARGET =
  /^[ \t]*(?:<((?:[^<>\\]|\\.)*)>|((?:[^ \t()\\]|\\.|\((?:[^ \t()\\]|\\.)*\))*))(?:[ \t]+(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\)))?[ \t]*\)/;

/** A target with its title; what is longer is not taken for a link. */
const MAX_TARGET_BYTES = 2_048;

/** Finds the targets of links, line by line. */
export class LinkScanner {
  private fence: string | undefined;
  /** Square brackets that are open in this paragraph. */
  private depth = 0;

  /** The raw targets on a line. */
  scan(line: string): string[] {
    if (this.inFence(line)) return [];
    const definition = DEFINITION.exec(line);
    if (definition) return [definition[1] ?? definition[2] ?? ""];
    if (/^[ \t\r]*$/.test(line)) this.depth = 0;
    return this.inline(withoutCode(line));
  }

  private inFence(line: string): boolean {
    const [, run = "", info = ""] = FENCE.exec(line) ?? [];
    if (this.fence === undefined) {
      if (!run) return false;
      this.fence = run;
      this.depth = 0;
    } else if (run.startsWith(this.fence) && /^[ \t\r]*$/.test(info)) this.fence = undefined;
    return true;
  }

  private inline(line: string): string[] {
    const targets: string[] = [];
    for (let at = 0; at < line.length; at++) {
      const char = line[at];
      if (char === "\\") at++;
      else if (char === "[") this.depth++;
      else if (char === "]" && this.depth > 0) {
        this.depth--;
        const match = line[at + 1] === "(" ? TARGET.exec(line.slice(at + 2, at + 2 + MAX_TARGET_BYTES)) : null;
        if (!match) continue;
        targets.push(match[1] ?? match[2] ?? "");
        at += 1 + match[0].length;
      }
    }
    return targets;
  }
}

/** The line with the contents of its code spans blanked out. */
function withoutCode(line: string): string {
  if (!line.includes("`")) return line;
  return line.replace(/\\`|(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)/g, (match: string, run?: string) => (run ? " ".repeat(match.length) : match));
}

/** The path below a root that a link means, or undefined where it means no file: a URL, an anchor, nothing. May begin with `..`. */
export function linkPath(file: BytePath, target: string): BytePath | undefined {
  if (/^[A-Za-z][A-Za-z0-9+.-]*:|^\/\//.test(target)) return undefined;
  const unescaped = target.replace(/\\([!-/:-@[-`{-~])/g, "$1").replaceAll("&amp;", "&");
  const bare = unescaped
    .replace(/[?#].*$/s, "")
    .replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  if (bare === "") return undefined;
  return bare.startsWith("/") ? posix.normalize(bare).slice(1) : posix.normalize(joinPath(directoryOf(file), bare));
}

/** Codes that say that nothing is there; any other leaves it open, and what is open is not called broken. */
const MISSING = new Set(["ENOENT", "ENOTDIR", "ENAMETOOLONG", "ELOOP", "ERR_INVALID_ARG_VALUE"]);
const MAX_REMEMBERED = 4_096;

/** Lists the broken links of one Markdown file. Take lines with `receive`, and call `check` after each chunk of them. */
export class LinkChecker {
  readonly broken = new BoundedListing();
  private readonly scanner = new LinkScanner();
  private readonly remembered = new Map<BytePath, boolean>();
  private waiting: { line: number; target: string }[] = [];
  private readonly root: BytePath;
  private readonly file: BytePath;

  /** `file` is relative to `root`. */
  constructor(root: BytePath, file: BytePath) {
    this.root = root;
    this.file = file;
  }

  receive({ line, bytes, first, last }: Piece): void {
    if (!first || !last) return;
    const text = bytes.toString("latin1").replace(/\r$/, "");
    for (const target of this.scanner.scan(text)) this.waiting.push({ line, target });
  }

  async check(signal: AbortSignal): Promise<void> {
    const waiting = this.waiting;
    this.waiting = [];
    for (const { line, target } of waiting) {
      signal.throwIfAborted();
      const path = linkPath(this.file, target);
      if (path !== undefined && !(await this.exists(path))) this.broken.add(line, toBuffer(target));
    }
  }

  private async exists(path: BytePath): Promise<boolean> {
    const known = this.remembered.get(path);
    if (known !== undefined) return known;
    const found = await lstat(toBuffer(joinPath(this.root, path))).then(
      () => true,
      (error: NodeJS.ErrnoException) => !MISSING.has(error.code ?? ""),
    );
    if (this.remembered.size < MAX_REMEMBERED) this.remembered.set(path, found);
    return found;
  }
}
