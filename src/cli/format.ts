/** Format: numbers, times and foreign text for people. */

import { escapeText } from "../backend/survey/path.ts";

export { countOf, plural } from "../agent/count.ts";

/** `2026-10-02 14:03:05`, in the reader's time zone. */
export function timeOf(ms: number): string {
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return damagedTime(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** For machines to read: ISO 8601 in UTC. */
export function isoOf(ms: number): string {
  const at = new Date(ms);
  return Number.isNaN(at.getTime()) ? damagedTime(ms) : at.toISOString();
}

/** What is no time: a damaged row must not hide the others. */
function damagedTime(ms: number): string {
  return `damaged: ${ms}`;
}

/** The end of an id: ids that were minted in one minute begin alike. */
export function shortId(id: string): string {
  return id.length > 12 ? `…${id.slice(-8)}` : id;
}

/** Foreign text on one line, in which nothing can disturb a terminal; cut to `limit` characters. */
export function oneLine(text: string, limit = 400): string {
  const safe = escapeText(text);
  return safe.length <= limit ? safe : `${safe.slice(0, limit - 1)}…`;
}

/** Columns that a text takes on a terminal: wide characters take two, combining ones none. */
export function widthOf(text: string): number {
  let width = 0;
  for (const char of text) width += /\p{Mn}|\p{Me}|\p{Cf}/u.test(char) ? 0 : WIDE.test(char) ? 2 : 1;
  return width;
}

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

/** The text cut to a width in columns. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = "";
  for (const char of text) {
    if (widthOf(kept) + widthOf(char) > columns - 1) break;
    kept += char;
  }
  return `${kept}…`;
}

/** Breaks a text into lines of at most `columns`, at blanks; a word that is longer stands alone, unbroken, so that it can be copied. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && widthOf(line) + 1 + widthOf(word) > columns) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** A path or an id as a shell takes it; what would disturb a terminal is escaped as bash and zsh read it. */
export function quoted(text: string): string {
  if (/^[\w./@%+=:,-]+$/.test(text)) return text;
  if (escapeText(text) === text) return `'${text.replaceAll("'", "'\\''")}'`;
  const unit = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const escaped = Array.from(text, (char) => (char === "\\" || char === "'" ? `\\${char}` : escapeText(char) === char ? char : unit(char)));
  return `$'${escaped.join("")}'`;
}
